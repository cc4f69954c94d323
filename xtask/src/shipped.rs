//! What is given to people to read and to copy: in the release's archive and in the Debian package, laid out as in the repository, so
//! that the links between pages lead somewhere in all three.

#[cfg(test)]
mod tests;

use crate::workspace::{self, files_in, guests, is_hidden, root};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Files, and folders with all that is in them. Source code is not among them, but for the example.
const PARTS: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "deploy/allowed.yaml",
    "deploy/helm",
    "deploy/monitoring/alerts.yaml",
    "deploy/monitoring/dashboard.json",
    "deploy/policies",
    "deploy/systemd",
    "docs",
    "examples",
    "guests/PARITY.md",
    "guests/PORTING.md",
    "guests/README.md",
    "wit",
];

/// Of each component, each language and its SDK: the page, a policy to start from, and what plays it on a recorded
/// node.
const OF_A_GUEST: [&str; 4] = ["README.md", "policy.yaml", "nodes", "scenarios"];
/// Recorded nodes of hundreds of kilobytes, and what is played on them alone.
const LARGE: [&str; 2] = ["guests/amd-gpu/nodes", "guests/amd-gpu/scenarios"];

/// All of its files, sorted, each by its path from the repository's root. Fails when one is missing.
pub(crate) fn files() -> Result<Vec<PathBuf>> {
    let mut parts: Vec<PathBuf> = PARTS.iter().map(PathBuf::from).collect();
    for guest in std::fs::read_dir(guests())? {
        let guest = Path::new("guests").join(guest?.file_name());
        let is_there =
            |part: &PathBuf| root().join(part).exists() && LARGE.iter().all(|large| part != Path::new(large));
        parts.extend(OF_A_GUEST.map(|part| guest.join(part)).into_iter().filter(is_there));
    }
    let mut found = Vec::new();
    for part in parts {
        found.extend(gather(&part)?);
    }
    found.sort();
    Ok(found)
}

/// Copies all of it into a folder. Fails when a file cannot be read or written.
pub(crate) fn copy(folder: &Path) -> Result<()> {
    files()?.iter().try_for_each(|path| workspace::copy(&root().join(path), &folder.join(path)))
}

/// A file, or those of a folder without what editors and tools hide.
fn gather(part: &Path) -> Result<Vec<PathBuf>> {
    let found = files_in(&root().join(part))?.into_iter().filter(|file| !is_hidden(file));
    // A file is what is in it.
    Ok(found.map(|file| if file.as_os_str().is_empty() { part.to_owned() } else { part.join(file) }).collect())
}
