//! C, by clang and wasi-libc.

use super::Exports;
use crate::workspace::guests;
use crate::{process, setup};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const CLANG: &str = "clang-19";
const LIBRARY: &str = "/usr/include/wasm32-wasi";
/// Compiler, linker, C library, and what compilers call by themselves.
const PACKAGES: [&str; 4] = ["clang-19", "lld-19", "wasi-libc", "libclang-rt-19-dev-wasm32"];

pub(super) fn build(folder: &Path, exports: Exports, file: &Path) -> Result<()> {
    ready()?;
    let sdk = guests().join("c");
    let mut command = Command::new(CLANG);
    command.args(["--target=wasm32-wasi", "--sysroot=/", "-isystem", LIBRARY, "-mexec-model=reactor"]);
    command.args(["-Oz", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]).arg(&sdk);
    // The linker of Rust's own components makes a component of this one, too.
    command.arg(format!("-fuse-ld={}", setup::component_linker()?.display()));
    command.args(["-Wl,--strip-debug", "-Wl,-z,stack-size=65536"]);
    command.args(sources(folder)?).args(sources(&sdk)?);
    if exports == Exports::All {
        command.args(sources(&folder.join("optional"))?).args(sources(&sdk.join("exports"))?);
    }
    command.arg("-o").arg(file);
    process::run(&mut command)
}

/// The C files in a folder.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "c") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Installs what is missing, where that is possible.
fn ready() -> Result<()> {
    let there = || process::answers(Command::new(CLANG).arg("--version")) && Path::new(LIBRARY).is_dir();
    if there() {
        return Ok(());
    }
    println!("Installing {} …", PACKAGES.join(", "));
    setup::by_apt(&PACKAGES)?;
    if !there() {
        bail!("{CLANG} or {LIBRARY} is not there, although they were installed");
    }
    Ok(())
}
