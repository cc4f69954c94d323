//! The digest of every file, as `sha256sum --check` reads it.

use crate::components::digest;
use crate::workspace::files_in;
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::path::Path;

/// The list's name.
pub(super) const NAME: &str = "SHA256SUMS";

/// Writes the list of what is in a folder, and in those in it.
pub(super) fn write(folder: &Path) -> Result<()> {
    let mut text = String::new();
    for name in files(folder)? {
        let file = folder.join(&name);
        let bytes = std::fs::read(&file).with_context(|| format!("read {}", file.display()))?;
        let _infallible = writeln!(text, "{}  {name}", digest(&bytes));
    }
    std::fs::write(folder.join(NAME), text).with_context(|| format!("write {NAME}"))
}

/// The files in a folder and in those in it, but the list itself, by name.
pub(super) fn files(folder: &Path) -> Result<Vec<String>> {
    let files = files_in(folder)?.into_iter().map(|file| file.to_string_lossy().into_owned());
    let mut names: Vec<_> = files.filter(|name| name != NAME).collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use std::process::Command;

    #[test]
    fn the_list_is_what_sha256sum_checks() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("components")).unwrap();
        std::fs::write(folder.path().join("b"), "b").unwrap();
        std::fs::write(folder.path().join("components/a.wasm"), "a").unwrap();
        write(folder.path()).unwrap();
        // Its own digest cannot be in it, when it is written again either.
        write(folder.path()).unwrap();
        let check = || {
            let mut command = Command::new("sha256sum");
            command.current_dir(folder.path()).args(["--check", "--strict", NAME]);
            process::read(&mut command)
        };
        assert_eq!(check().unwrap(), "b: OK\ncomponents/a.wasm: OK");
        std::fs::write(folder.path().join("b"), "c").unwrap();
        assert!(check().is_err());
    }
}
