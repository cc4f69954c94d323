//! What is made for others: where it lies, what it is called, and what makes it the same bytes each time.

use crate::components::digest;
use crate::process;
use crate::workspace::{metadata, root, target};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where it goes.
#[derive(Debug, Default, Clone, clap::Args)]
pub(crate) struct Out {
    /// Where to put it [default: dist in cargo's target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Out {
    /// The folder, which is there afterwards.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        let folder = match &self.out {
            Some(folder) => std::path::absolute(folder)?,
            None => target()?.join("dist"),
        };
        std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok(folder)
    }
}

/// The version of everything that is made from this tree.
pub(crate) fn version() -> Result<String> {
    let metadata = metadata(&root())?;
    let devgate = metadata.workspace_packages().into_iter().find(|p| p.name == "devgate");
    Ok(devgate.context("there is no package devgate")?.version.to_string())
}

/// The time that everything is said to be made at, in seconds since 1970: `SOURCE_DATE_EPOCH`, else that of the last commit.
pub(crate) fn epoch() -> Result<u64> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return given.parse().with_context(|| format!("SOURCE_DATE_EPOCH={given}: not a number of seconds"));
    }
    let time = process::read(Command::new("git").current_dir(root()).args(["log", "-1", "--format=%ct"]));
    let time = time.context("set SOURCE_DATE_EPOCH where the tree is no clone of git's")?;
    time.parse().with_context(|| format!("git's time of the last commit: {time}"))
}

/// The last commit, with a mark if the tree is not as it was committed; `unknown` outside a clone.
pub(crate) fn revision() -> String {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        let output = command.current_dir(root()).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "HEAD"]) else {
        return "unknown".to_owned();
    };
    match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => format!("{commit}-dirty"),
    }
}

/// Says what was made: where it is, its size and its digest.
pub(crate) fn announce(file: &Path) -> Result<()> {
    let bytes = std::fs::read(file).with_context(|| format!("read {}", file.display()))?;
    println!("{}\n  {} bytes  sha256 {}", file.display(), bytes.len(), digest(&bytes));
    Ok(())
}

/// Packs what is in a folder, the same bytes for the same contents: sorted, root's, and of one time.
pub(crate) fn tar(folder: &Path, archive: &Path, epoch: u64) -> Result<()> {
    if !process::read(Command::new("tar").arg("--version"))?.contains("GNU tar") {
        bail!("archives are written by GNU tar, which is not the tar that is here");
    }
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
        .with_context(|| format!("read {}", folder.display()))?
        .iter()
        .map(std::fs::DirEntry::file_name)
        .collect();
    names.sort();
    let mut command = Command::new("tar");
    command.args(["--create", "--format=ustar", "--sort=name", "--numeric-owner"]);
    command.args(["--owner=0", "--group=0", "--mode=u+rwX,go+rX,go-w"]);
    command.arg(format!("--mtime=@{epoch}"));
    command.arg("--file").arg(archive).arg("--directory").arg(folder);
    process::run(command.arg("--").args(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_depends_on_its_contents_alone() {
        let dir = tempfile::tempdir().unwrap();
        let packed = |name: &str, names: [&str; 2], text: &str| {
            let folder = dir.path().join(name);
            std::fs::create_dir_all(folder.join("sub")).unwrap();
            for file in names {
                std::fs::write(folder.join("sub").join(file), text).unwrap();
            }
            let archive = dir.path().join(format!("{name}.tar"));
            tar(&folder, &archive, 1_700_000_000).unwrap();
            std::fs::read(archive).unwrap()
        };
        let one = packed("one", ["a", "b"], "same");
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000);
        let file = std::fs::File::open(dir.path().join("one/sub/a")).unwrap();
        file.set_modified(old).unwrap();
        assert!(one == packed("two", ["b", "a"], "same"));
        assert!(one != packed("three", ["a", "b"], "else"));
    }

    #[test]
    fn what_is_made_has_a_version_and_a_folder() {
        assert_eq!(version().unwrap(), env!("CARGO_PKG_VERSION"));
        let dir = tempfile::tempdir().unwrap();
        let out = Out { out: Some(dir.path().join("a/b")) };
        assert_eq!(out.folder().unwrap(), dir.path().join("a/b"));
        assert!(dir.path().join("a/b").is_dir());
    }
}
