//! The programs of a release, and which of them go together.

use super::{Machine, Profile};
use crate::dist;
use crate::workspace::copy;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// The programs of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Program {
    /// What a node runs
    Devgate,
    /// What devgate starts for each plugin
    DevgateRunner,
    /// What devgate starts for each component that it has not compiled before
    DevgateCompile,
    /// What devgate starts to speak to a registry
    DevgatePull,
    /// What speaks to the API server, in a container beside it
    DevgateAgent,
    /// What vendors, testers and admins use
    Devgatectl,
}

impl Program {
    /// As cargo, a shell and a process list name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Devgate => "devgate",
            Self::DevgateRunner => "devgate-runner",
            Self::DevgateCompile => "devgate-compile",
            Self::DevgatePull => "devgate-pull",
            Self::DevgateAgent => "devgate-agent",
            Self::Devgatectl => "devgatectl",
        }
    }

    /// The package that it is built of.
    pub(crate) const fn package(self) -> &'static str {
        match self {
            // The library that both sides speak through has its name.
            Self::DevgateRunner => "devgate-runner-program",
            _ => self.name(),
        }
    }

    /// Where it goes in a folder: a program that starts others lies beside them, under the names that it looks for. What is not for
    /// nodes says so.
    pub(crate) fn file(self, folder: &Path, machine: Machine, profile: Profile) -> Result<PathBuf> {
        let product = match self {
            Self::Devgatectl => Product::Devgatectl,
            _ => Product::Devgate,
        };
        let place = folder.join(product.file_name(machine, profile)?);
        Ok(match product {
            Product::Devgatectl => place,
            Product::Devgate => place.join(self.name()),
        })
    }
}

/// What is given to others as one: a program, and those that it needs beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Product {
    /// What a node runs: a folder of programs
    Devgate,
    /// What vendors, testers and admins use: one program
    Devgatectl,
}

impl Product {
    /// As an image and a file name it.
    pub(crate) const fn name(self) -> &'static str {
        self.main().name()
    }

    /// The one that a person starts.
    pub(super) const fn main(self) -> Program {
        match self {
            Self::Devgate => Program::Devgate,
            Self::Devgatectl => Program::Devgatectl,
        }
    }

    /// All of it, the one that a person starts first.
    pub(crate) const fn programs(self) -> &'static [Program] {
        match self {
            Self::Devgate => &[
                Program::Devgate,
                Program::DevgateRunner,
                Program::DevgateCompile,
                Program::DevgatePull,
                Program::DevgateAgent,
            ],
            Self::Devgatectl => &[Program::Devgatectl],
        }
    }

    /// What its folder or file is called.
    pub(crate) fn file_name(self, machine: Machine, profile: Profile) -> Result<String> {
        let mark = match profile {
            Profile::Release => "",
            Profile::Dev => "-dev",
        };
        let (name, version) = (self.name(), dist::version()?);
        Ok(format!("{name}-{version}-linux-{}{mark}", machine.oci()))
    }

    /// The file of its program and those beside it, each with the name that it goes by. Fails when one is missing, or
    /// is for another kind of machine.
    pub(crate) fn files(self, main: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
        let machine = Machine::of_program(main)?;
        let mut files = Vec::new();
        for program in self.programs() {
            let name = program.name();
            let file = if *program == self.main() { main.to_owned() } else { main.with_file_name(name) };
            let its = Machine::of_program(&file)
                .with_context(|| format!("{} needs {name} beside it, from the same build", main.display()))?;
            if its != machine {
                bail!("{}: is not for {}, as {} is", file.display(), machine.oci(), main.display());
            }
            files.push((name, file));
        }
        Ok(files)
    }

    /// Copies them into a folder, under the names that they go by. Fails as [`Product::files`], and when a file cannot
    /// be copied.
    pub(crate) fn copy(self, main: &Path, folder: &Path) -> Result<()> {
        for (name, file) in self.files(main)? {
            copy(&file, &folder.join(name))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMD64: &[u8] = b"\x7fELF..............\x3e\0more";
    const ARM64: &[u8] = b"\x7fELF..............\xb7\0more";

    #[test]
    fn what_devgate_starts_lies_beside_it_under_the_name_that_it_looks_for() {
        let file = |program: Program, profile| program.file(Path::new("out"), Machine::Arm64, profile).unwrap();
        let version = dist::version().unwrap();
        let folder = PathBuf::from(format!("out/devgate-{version}-linux-arm64"));
        for program in Product::Devgate.programs() {
            assert_eq!(file(*program, Profile::Release), folder.join(program.name()));
        }
        let workshop = PathBuf::from(format!("out/devgatectl-{version}-linux-arm64-dev"));
        assert_eq!(file(Program::Devgatectl, Profile::Dev), workshop);
    }

    #[test]
    fn a_program_without_those_beside_it_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("devgate");
        std::fs::write(&main, AMD64).unwrap();
        let error = Product::Devgate.files(&main).unwrap_err().to_string();
        assert!(error.ends_with("devgate needs devgate-runner beside it, from the same build"), "{error}");
        std::fs::write(dir.path().join("devgate-runner"), AMD64).unwrap();
        std::fs::write(dir.path().join("devgate-compile"), ARM64).unwrap();
        let error = Product::Devgate.files(&main).unwrap_err().to_string();
        assert!(error.contains("devgate-compile: is not for amd64"), "{error}");
        std::fs::write(dir.path().join("devgate-compile"), AMD64).unwrap();
        std::fs::write(dir.path().join("devgate-pull"), AMD64).unwrap();
        std::fs::write(dir.path().join("devgate-agent"), AMD64).unwrap();
        assert_eq!(Product::Devgate.files(&main).unwrap().len(), 5);

        let copied = tempfile::tempdir().unwrap();
        Product::Devgate.copy(&main, copied.path()).unwrap();
        assert_eq!(Product::Devgate.files(&copied.path().join("devgate")).unwrap().len(), 5);
    }
}
