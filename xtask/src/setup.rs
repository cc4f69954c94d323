//! What building components needs, and the ways to get it.

mod ways;

use anyhow::{Result, bail};
use std::process::ExitCode;
pub(crate) use ways::Toolchain;

pub(crate) fn run() -> Result<ExitCode> {
    println!(
        "A component needs a standard library for {} and wasm-component-ld.",
        crate::workspace::WASM
    );
    let toolchain = ensure()?;
    println!("Ready: {toolchain}. Next: cargo xtask components");
    Ok(ExitCode::SUCCESS)
}

/// A toolchain that builds components: the first way that works, installed if none is there yet.
///
/// # Errors
/// When no way works; the message says what to do about each.
pub(crate) fn ensure() -> Result<Toolchain> {
    if let Some(toolchain) = ways::found()? {
        return Ok(toolchain);
    }
    let mut problems = Vec::new();
    for (name, install) in [
        ("rustup", ways::by_rustup as fn() -> Result<()>),
        ("Debian's packages", ways::by_debian),
    ] {
        println!("{name}: trying …");
        match install().and_then(|()| ways::found()) {
            Ok(Some(toolchain)) => return Ok(toolchain),
            Ok(None) => problems.push(format!("{name}: installed, and still not complete")),
            Err(error) => problems.push(format!("{name}: {error:#}")),
        }
        if let Some(problem) = problems.last() {
            println!("{problem}");
        }
    }
    bail!(
        "nothing here builds components:\n  {}\nInstall Rust by rustup (https://rustup.rs) and run `rustup target add {}`, \
         or run `cargo xtask setup` as root on Debian",
        problems.join("\n  "),
        crate::workspace::WASM
    )
}
