//! The ways to a standard library for WebAssembly.

use crate::process;
use crate::workspace::{WASM, host};
use anyhow::{Context, Result, bail};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian's `rustc-web` puts its compiler.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// A way to build components that works on this machine.
#[derive(Debug, PartialEq)]
pub(crate) enum Toolchain {
    /// The toolchain at hand has the target.
    Installed,
    /// Debian's compiler builds its own standard library from source, and is linked with the linker of the toolchain at
    /// hand. It counts as a nightly one for that.
    FromSource {
        /// `wasm-component-ld` of the toolchain at hand.
        linker: PathBuf,
    },
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Installed => write!(f, "the toolchain at hand has {WASM}"),
            Self::FromSource { .. } => write!(f, "{DEBIAN_RUSTC} builds its standard library for {WASM} from source"),
        }
    }
}

impl Toolchain {
    /// Lets a cargo command build components.
    pub(crate) fn apply(&self, cargo: &mut Command) -> Result<()> {
        let Self::FromSource { linker } = self else {
            return Ok(());
        };
        cargo.args(["-Zbuild-std=std,panic_abort"]);
        cargo.env("RUSTC", DEBIAN_RUSTC).env("RUSTC_BOOTSTRAP", "1");
        cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        // Where the linker finds the wasm-ld that it drives.
        let beside = linker.parent().context("the linker's folder")?.join("gcc-ld");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(beside).chain(std::env::split_paths(&path));
        cargo.env("PATH", std::env::join_paths(folders)?);
        Ok(())
    }
}

/// What is there already, if it is complete.
pub(crate) fn found() -> Result<Option<Toolchain>> {
    let (sysroot, linker) = (sysroot()?, component_linker()?);
    if has_std(&sysroot, WASM) {
        return Ok(Some(Toolchain::Installed));
    }
    let sources = || {
        let sysroot = process::read(Command::new(DEBIAN_RUSTC).args(["--print", "sysroot"])).ok()?;
        Some(Path::new(&sysroot).join("lib/rustlib/src/rust/library/std/Cargo.toml").is_file())
    };
    if Path::new(DEBIAN_RUSTC).is_file() && sources() == Some(true) {
        return Ok(Some(Toolchain::FromSource { linker }));
    }
    Ok(None)
}

/// Where the toolchain at hand is.
pub(crate) fn sysroot() -> Result<PathBuf> {
    Ok(process::read(Command::new("rustc").args(["--print", "sysroot"]))?.into())
}

/// The linker that makes a component of what it has linked.
pub(crate) fn component_linker() -> Result<PathBuf> {
    let linker = sysroot()?.join("lib/rustlib").join(host()?).join("bin/wasm-component-ld");
    if !linker.is_file() {
        bail!("{}: not there; it comes with Rust 1.82 and later, installed by rustup", linker.display());
    }
    Ok(linker)
}

/// Whether a toolchain has the standard library for a target.
pub(crate) fn has_std(sysroot: &Path, target: &str) -> bool {
    let libraries = sysroot.join("lib/rustlib").join(target).join("lib");
    let Ok(files) = std::fs::read_dir(libraries) else {
        return false;
    };
    files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libstd-"))
}

/// Adds a target to the toolchain at hand.
pub(crate) fn by_rustup(target: &str) -> Result<()> {
    if !process::answers(Command::new("rustup").arg("--version")) {
        bail!("there is no rustup here");
    }
    process::run(Command::new("rustup").args(["target", "add", target]))
}

/// Installs a compiler and the matching sources.
pub(crate) fn by_debian() -> Result<()> {
    by_apt(&["rustc-web", "rust-web-src"])
}

/// Installs packages of the system.
pub(crate) fn by_apt(packages: &[&str]) -> Result<()> {
    if !process::answers(Command::new("apt-get").arg("--version")) {
        bail!("there is no apt-get here");
    }
    if process::read(Command::new("id").arg("-u"))? != "0" {
        bail!("installing needs root: apt-get install {}", packages.join(" "));
    }
    let apt = |arguments: &[&str]| {
        process::run(Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(arguments))
    };
    apt(&["update", "-q"])?;
    let install = ["install", "-q", "-y", "--no-install-recommends"];
    apt(&[&install[..], packages].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_without_its_library_does_not_count() {
        let sysroot = tempfile::tempdir().unwrap();
        assert!(!has_std(sysroot.path(), WASM));
        let libraries = sysroot.path().join("lib/rustlib").join(WASM).join("lib");
        std::fs::create_dir_all(&libraries).unwrap();
        assert!(!has_std(sysroot.path(), WASM));
        std::fs::write(libraries.join("libstd-0123.rlib"), "").unwrap();
        assert!(has_std(sysroot.path(), WASM));
    }

    #[test]
    fn building_from_source_names_compiler_and_linker() {
        let mut cargo = Command::new("cargo");
        Toolchain::FromSource { linker: PathBuf::from("/rust/bin/wasm-component-ld") }.apply(&mut cargo).unwrap();
        let path = cargo.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value).unwrap();
        assert!(path.to_string_lossy().starts_with("/rust/bin/gcc-ld:"));
        assert_eq!(process::shown(&cargo), "cargo -Zbuild-std=std,panic_abort");
        let mut cargo = Command::new("cargo");
        Toolchain::Installed.apply(&mut cargo).unwrap();
        assert!(cargo.get_envs().next().is_none());
    }
}
