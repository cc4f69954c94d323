//! Folders of the machine that builds: a program that named them would be another one wherever it is built.
//!
//! Compilers write where a source file lies into what a panic says. They are told other names, and the program is read
//! afterwards: what was not renamed is an error, so that it is not found by comparing digests.

use crate::workspace::{metadata_for, root, target};
use crate::{process, setup};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders and what they are called instead.
#[derive(Debug, Default)]
pub(crate) struct BuildPaths(Vec<(PathBuf, String)>);

impl BuildPaths {
    /// Those that compilers see here when they build this workspace for this target.
    pub(crate) fn here(workspace: &Path, triple: &str) -> Result<Self> {
        let mut places = Self::default();
        places.add(&root(), "/devgate");
        places.add(&target()?, "/target");
        let packages = metadata_for(workspace, triple)?.packages;
        for package in packages.iter().filter(|package| package.source.is_some()) {
            // Registry or a folder of copies: each package has a folder in it.
            let shelf = package.manifest_path.parent().and_then(|folder| folder.parent());
            places.add(shelf.context("a package has a folder")?.as_std_path(), "/crates");
        }
        // As in the standard library's own compiled code.
        let version = process::read(Command::new("rustc").arg("-vV"))?;
        let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
        let library = format!("/rustc/{}", commit.context("rustc -vV names no commit")?);
        places.add(&setup::sysroot()?.join("lib/rustlib/src/rust"), &library);
        Ok(places)
    }

    /// Calls a folder something else; said again, it is forgotten.
    pub(crate) fn add(&mut self, folder: &Path, name: &str) {
        if !self.0.iter().any(|(known, _)| known == folder) {
            self.0.push((folder.to_owned(), name.to_owned()));
        }
    }

    /// A folder in a folder after that one: compilers take the last one that fits.
    fn ordered(&self) -> Vec<&(PathBuf, String)> {
        let around = |folder: &Path| self.0.iter().filter(|(other, _)| folder.starts_with(other)).count();
        let mut places: Vec<_> = self.0.iter().collect();
        places.sort_by_key(|(folder, _)| around(folder));
        places
    }

    /// For the compiler of Rust.
    pub(crate) fn for_rustc(&self) -> Vec<String> {
        let flag = |(folder, name): &(PathBuf, String)| format!("--remap-path-prefix={}={name}", folder.display());
        self.ordered().into_iter().map(flag).collect()
    }

    /// For compilers of C, in one variable. Fails when a folder has a space in its name, which cannot be said there.
    pub(crate) fn for_cc(&self) -> Result<String> {
        let flag = |(folder, name): &(PathBuf, String)| {
            let said = folder.to_str().filter(|folder| !folder.contains(char::is_whitespace));
            let folder = said.with_context(|| {
                format!(
                    "{}: has white space in its name, which compilers of C cannot be told of; build in another folder",
                    folder.display()
                )
            })?;
            Ok(format!("-ffile-prefix-map={folder}={name}"))
        };
        Ok(self.ordered().into_iter().map(flag).collect::<Result<Vec<_>>>()?.join(" "))
    }

    /// Fails if a program names one of the folders.
    pub(crate) fn refuse_in(&self, program: &[u8]) -> Result<()> {
        for (folder, _) in &self.0 {
            let folder = format!("{}/", folder.display());
            let Some(at) = program.windows(folder.len()).position(|part| part == folder.as_bytes()) else {
                continue;
            };
            let rest = program.get(at..).unwrap_or_default();
            let text: Vec<u8> = rest.iter().copied().take_while(u8::is_ascii_graphic).take(200).collect();
            bail!(
                "the program names a folder of this machine, so that it would differ elsewhere: {}",
                String::from_utf8_lossy(&text)
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> BuildPaths {
        let mut places = BuildPaths::default();
        places.add(Path::new("/home/me/devgate/target"), "/target");
        places.add(Path::new("/home/me/devgate"), "/devgate");
        places.add(Path::new("/home/me/devgate"), "/again");
        places
    }

    #[test]
    fn a_folder_in_a_folder_comes_last() {
        assert_eq!(
            places().for_rustc(),
            ["--remap-path-prefix=/home/me/devgate=/devgate", "--remap-path-prefix=/home/me/devgate/target=/target"]
        );
        assert_eq!(
            places().for_cc().unwrap(),
            "-ffile-prefix-map=/home/me/devgate=/devgate -ffile-prefix-map=/home/me/devgate/target=/target"
        );
    }

    #[test]
    fn a_program_may_not_name_them() {
        assert!(places().refuse_in(b"\x7fELF panicked at /devgate/src/main.rs:1\0").is_ok());
        let error = places().refuse_in(b"\x7fELF panicked at /home/me/devgate/target/out/a.rs:1\0more").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the program names a folder of this machine, so that it would differ elsewhere: /home/me/devgate/target/out/a.rs:1"
        );
    }

    #[test]
    fn white_space_cannot_be_said_to_compilers_of_c() {
        let mut places = BuildPaths::default();
        places.add(Path::new("/home/my own"), "/devgate");
        assert!(places.for_cc().is_err());
    }
}
