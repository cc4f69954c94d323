//! Files as they were last seen.

use super::is_made;
use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The most files that are watched.
const MAX_FILES: usize = 20_000;

/// Each file with when it was written, and its size; what is not there is not in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sources(BTreeMap<PathBuf, (Option<SystemTime>, u64)>);

impl Sources {
    /// Of files and of folders with all beneath them. Of `source` only what a person writes: no hidden file, no folder that a
    /// build makes, no component.
    ///
    /// # Errors
    /// Where there are too many.
    pub(super) fn of(paths: &[PathBuf], source: bool) -> anyhow::Result<Self> {
        let mut sources = Self(BTreeMap::new());
        for path in paths {
            sources.add(path, source)?;
        }
        Ok(sources)
    }

    fn add(&mut self, path: &Path, source: bool) -> anyhow::Result<()> {
        // What goes while it is looked at is not there.
        let Ok(about) = path.metadata() else { return Ok(()) };
        if !about.is_dir() {
            let is_component = path.extension().is_some_and(|end| end == "wasm");
            if about.is_file() && !(source && is_component) {
                self.0.insert(path.to_owned(), (about.modified().ok(), about.len()));
                ensure!(
                    self.0.len() <= MAX_FILES,
                    "{}: more than {MAX_FILES} files are to be watched (--watch)",
                    path.display()
                );
            }
            return Ok(());
        }
        for entry in path.read_dir().with_context(|| path.display().to_string())? {
            let entry = entry?;
            let is_link = entry.file_type()?.is_symlink();
            if !(source && (is_made(Path::new(&entry.file_name())) || is_link)) {
                self.add(&entry.path(), source)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_seen_and_what_a_build_makes_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["src", "target", ".git"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        std::fs::write(at("src/lib.rs"), "a").unwrap();
        let see = || Sources::of(&[dir.path().to_owned()], true).unwrap();
        let first = see();
        for name in ["target/x", ".git/x", "vendor.wasm", ".hidden"] {
            std::fs::write(at(name), "x").unwrap();
        }
        std::os::unix::fs::symlink(dir.path(), at("src/loop")).unwrap();
        assert_eq!(see(), first);
        std::fs::write(at("src/lib.rs"), "ab").unwrap();
        assert_ne!(see(), first);
        assert_ne!(Sources::of(&[at("vendor.wasm")], false).unwrap(), Sources::of(&[at("gone.wasm")], false).unwrap());
    }
}
