//! Where cargo and `cargo xtask components` put things.

use anyhow::{Context, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The target directory's folder for this profile: this program lies in it or one below.
fn built() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let found = program.ancestors().skip(1).find(|dir| dir.join("deps").is_dir());
    found.map(PathBuf::from).context("this program does not lie in a target directory of cargo")
}

/// Names another program to be tried or measured, such as the static one that is shipped.
const PROGRAM: &str = "DEVGATE_PROGRAM";

/// The `devgate` program: the one that `DEVGATE_PROGRAM` names, or else the one built by `cargo build`.
///
/// # Errors
/// When it has not been built, or is not there.
pub fn devgate() -> anyhow::Result<PathBuf> {
    if let Some(program) = std::env::var_os(PROGRAM) {
        let program = std::path::absolute(&program)?;
        if !program.is_file() {
            bail!("{} is not there ({PROGRAM})", program.display());
        }
        return Ok(program);
    }
    let program = built()?.join("devgate");
    if !program.is_file() {
        bail!("{} is not there: run `cargo build --workspace` first", program.display());
    }
    Ok(program)
}

/// The `devgatectl` program, beside [`devgate`].
///
/// # Errors
/// As [`devgate`].
pub fn devgatectl() -> anyhow::Result<PathBuf> {
    let program = devgate()?.with_file_name("devgatectl");
    if !program.is_file() {
        bail!("{} is not there: run `cargo build --workspace` first", program.display());
    }
    Ok(program)
}

/// Commands that `devgate` does not have.
const WORKSHOP: [&str; 21] = [
    "add",
    "call",
    "completions",
    "conform",
    "demo",
    "dev",
    "fleet",
    "dra",
    "index",
    "inspect",
    "man",
    "new",
    "pack",
    "plan",
    "push",
    "record",
    "search",
    "show",
    "simulate",
    "trace",
    "upgrade",
];

/// The program for these arguments: `devgatectl` for what only it has and for recorded nodes, `devgate` for all else.
///
/// # Errors
/// As [`devgate`].
pub fn program<A: AsRef<OsStr>>(args: &[A]) -> anyhow::Result<PathBuf> {
    let args: Vec<_> = args.iter().map(AsRef::as_ref).collect();
    let workshop = args.first().is_some_and(|first| WORKSHOP.iter().any(|name| first == name));
    let recorded = args.iter().any(|arg| Path::new(arg).extension().is_some_and(|end| end == "umockdev"));
    if workshop || recorded { devgatectl() } else { devgate() }
}

/// The folder of the components, built by `cargo xtask components`.
///
/// # Errors
/// When they have not been built.
pub fn components() -> anyhow::Result<PathBuf> {
    let dir = built()?.parent().context("a target directory")?.join("components");
    if !dir.join("generic.wasm").is_file() {
        bail!("{} has no components: run `cargo xtask components` first", dir.display());
    }
    Ok(dir)
}
