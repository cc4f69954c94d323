//! What building components needs, and the ways to get it.

mod wasm_std;

use anyhow::{Result, bail};
use std::process::ExitCode;
pub(crate) use wasm_std::{Toolchain, by_apt, by_rustup, component_linker, has_std, sysroot};

pub(crate) fn run() -> Result<ExitCode> {
    println!("A component needs a standard library for {} and wasm-component-ld.", crate::workspace::WASM);
    let toolchain = ensure(Reach::System)?;
    println!("Ready: {toolchain}. Next: cargo xtask components");
    Ok(ExitCode::SUCCESS)
}

/// Tries to install what is missing.
type Install = fn() -> Result<()>;

/// How far installing may go.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Reach {
    /// The user's own toolchain.
    Toolchain,
    /// The system's packages too: only where it is asked for.
    System,
}

/// A toolchain that builds components: the first way that works, installed if none is there yet. Fails when no way
/// works; the message says what to do about each.
pub(crate) fn ensure(reach: Reach) -> Result<Toolchain> {
    if let Some(toolchain) = wasm_std::found()? {
        return Ok(toolchain);
    }
    let mut all: Vec<(&str, Install)> = vec![("rustup", || by_rustup(crate::workspace::WASM))];
    if reach == Reach::System {
        all.push(("Debian's packages", wasm_std::by_debian));
    }
    let mut problems = Vec::new();
    for (name, install) in all {
        println!("{name}: trying …");
        match install().and_then(|()| wasm_std::found()) {
            Ok(Some(toolchain)) => return Ok(toolchain),
            Ok(None) => problems
                .push(format!("{name}: counts it as installed, but its files are missing; reinstall the toolchain")),
            Err(error) => problems.push(format!("{name}: {error:#}")),
        }
        if let Some(problem) = problems.last() {
            println!("{problem}");
        }
    }
    bail!(
        "nothing here builds components:\n  {}\nInstall Rust by rustup (https://rustup.rs) and run `rustup target add {}`, \
         or run `cargo xtask setup` as root on Debian, which may install packages",
        problems.join("\n  "),
        crate::workspace::WASM
    )
}
