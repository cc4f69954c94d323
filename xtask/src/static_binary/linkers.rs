//! The ways to a program that needs no library of the system.

use super::Machine;
use crate::{process, setup};
use anyhow::{Context, Result, bail};
use std::fmt;
use std::path::Path;
use std::process::Command;

/// A way that works on this machine.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// With musl, which is made for it.
    Musl,
    /// With glibc's static library, which still looks for its shared ones where a host's name is to be resolved.
    Glibc,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Musl => "with musl",
            Self::Glibc => "with glibc as musl is not to be had: good for tests, not the program that is released",
        })
    }
}

impl Way {
    /// Rust's target.
    pub(super) const fn triple(&self, machine: Machine) -> &'static str {
        match self {
            Self::Musl => machine.musl(),
            Self::Glibc => machine.glibc(),
        }
    }
}

/// The first way that works, installed if none is there yet. Fails when no way works; the message says what to do.
pub(super) fn ensure(machine: Machine) -> Result<Way> {
    let musl = match standard_library(machine.musl()) {
        Ok(()) => {
            compiler_of_c(machine)?;
            return Ok(Way::Musl);
        }
        Err(error) => error,
    };
    println!("{}: {musl:#}", machine.musl());
    if machine == Machine::here()? && has_static_glibc() {
        return Ok(Way::Glibc);
    }
    bail!(
        "nothing here builds a static program: {musl:#}, and there is no static glibc for {}\nInstall Rust by rustup \
         (https://rustup.rs) and run `rustup target add {}`, or install libc6-dev, which has libc.a",
        machine.oci(),
        machine.musl()
    )
}

/// The standard library for musl, by rustup if it is not there.
fn standard_library(target: &str) -> Result<()> {
    let sysroot = setup::sysroot()?;
    if setup::has_std(&sysroot, target) {
        return Ok(());
    }
    println!("Installing the standard library for {target} …");
    setup::by_rustup(target)?;
    if !setup::has_std(&sysroot, target) {
        bail!("rustup counts {target} as installed, but its files are missing; reinstall the toolchain");
    }
    Ok(())
}

/// A compiler of C, which some crates need, and linker.
fn compiler_of_c(machine: Machine) -> Result<()> {
    let (program, package) = machine.cross_cc()?.unwrap_or(("musl-gcc", "musl-tools"));
    let there = || process::answers(Command::new(program).arg("--version"));
    if there() {
        return Ok(());
    }
    println!("Installing {package} …");
    setup::by_apt(&[package])
        .with_context(|| format!("there is no {program} here, which compiles C for {}", machine.musl()))?;
    if !there() {
        bail!("there is no {program} here, although {package} was installed");
    }
    Ok(())
}

/// Whether the system's compiler finds glibc as a static library.
fn has_static_glibc() -> bool {
    // It answers with the name alone where it finds none.
    process::read(Command::new("cc").arg("-print-file-name=libc.a")).is_ok_and(|file| Path::new(&file).is_absolute())
}
