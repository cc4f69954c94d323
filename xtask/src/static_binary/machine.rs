//! Machines that there are programs for.

use crate::workspace::host;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A kind of machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Machine {
    /// Intel's and AMD's
    #[value(name = "x86_64-unknown-linux-musl", alias = "amd64")]
    Amd64,
    /// Arm's
    #[value(name = "aarch64-unknown-linux-musl", alias = "arm64")]
    Arm64,
}

impl Machine {
    /// This one.
    pub(crate) fn here() -> Result<Self> {
        let host = host()?;
        Self::of(&host).with_context(|| format!("{host}: devgate is built for x86_64 and aarch64"))
    }

    /// The one that is asked for, or else this one.
    pub(crate) fn or_here(asked: Option<Self>) -> Result<Self> {
        asked.map_or_else(Self::here, Ok)
    }

    fn of(triple: &str) -> Option<Self> {
        [Self::Amd64, Self::Arm64].into_iter().find(|machine| triple.split('-').next() == Some(machine.names().0))
    }

    /// What a program is for, from the start of its file. Fails when it is no program, or one for other machines.
    pub(crate) fn of_program(file: &Path) -> Result<Self> {
        let mut head = [0; 20];
        let read = File::open(file).and_then(|mut file| file.read_exact(&mut head));
        read.with_context(|| format!("read {}", file.display()))?;
        // ELF's `e_machine`: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
        match head {
            [0x7f, b'E', b'L', b'F', .., 62, 0] => Ok(Self::Amd64),
            [0x7f, b'E', b'L', b'F', .., 183, 0] => Ok(Self::Arm64),
            _ => bail!("{}: not a program for x86_64 or aarch64", file.display()),
        }
    }

    /// As Rust, and as images and Debian call it.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Amd64 => ("x86_64", "amd64"),
            Self::Arm64 => ("aarch64", "arm64"),
        }
    }

    /// As images and Debian call it.
    pub(crate) const fn oci(self) -> &'static str {
        self.names().1
    }

    /// Rust's target with musl.
    pub(crate) const fn musl(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-musl",
            Self::Arm64 => "aarch64-unknown-linux-musl",
        }
    }

    /// Rust's target with glibc.
    pub(super) const fn glibc(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-gnu",
            Self::Arm64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// The compiler of C, and linker, for it, and Debian's package of it; none where the usual one is for it.
    pub(super) fn cross_cc(self) -> Result<Option<(&'static str, &'static str)>> {
        let cc = match self {
            Self::Amd64 => ("x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu"),
            Self::Arm64 => ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
        };
        Ok((Self::here()? != self).then_some(cc))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_known_by_their_first_word() {
        assert_eq!(Machine::of("x86_64-unknown-linux-gnu"), Some(Machine::Amd64));
        assert_eq!(Machine::of("aarch64-unknown-linux-musl"), Some(Machine::Arm64));
        assert_eq!(Machine::of("riscv64gc-unknown-linux-gnu"), None);
        for machine in [Machine::Amd64, Machine::Arm64] {
            assert_eq!(Machine::of(machine.musl()), Some(machine));
            assert_eq!(Machine::of(machine.glibc()), Some(machine));
        }
    }

    #[test]
    fn a_program_says_what_it_is_for() {
        let me = std::env::current_exe().unwrap();
        assert_eq!(Machine::of_program(&me).unwrap(), Machine::here().unwrap());
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("program");
        let mut head = *b"\x7fELF................\xb7\0more";
        head.copy_within(20..22, 18);
        std::fs::write(&file, head).unwrap();
        assert_eq!(Machine::of_program(&file).unwrap(), Machine::Arm64);
        std::fs::write(&file, "#!/bin/sh\necho I am a script\n").unwrap();
        assert!(Machine::of_program(&file).is_err());
        std::fs::write(&file, "short").unwrap();
        assert!(Machine::of_program(&file).is_err());
    }
}
