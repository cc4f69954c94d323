//! What is given to people to read and to copy: in the release's archive and in the Debian package, laid out as in the repository, so
//! that the links between pages lead somewhere in all three.

#[cfg(test)]
mod tests;

use crate::workspace::root;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Files, and folders with all that is in them. Source code is not among them, but for the example, nor are recorded nodes of hundreds of kilobytes.
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
    "guests/accel/README.md",
    "guests/accel/policy.yaml",
    "guests/amd-gpu/README.md",
    "guests/amd-gpu/policy.yaml",
    "guests/c/README.md",
    "guests/dsa/README.md",
    "guests/dsa/nodes",
    "guests/dsa/policy.yaml",
    "guests/dsa/scenarios",
    "guests/fpga/README.md",
    "guests/fpga/nodes",
    "guests/fpga/policy.yaml",
    "guests/fpga/scenarios",
    "guests/generic/README.md",
    "guests/generic/nodes",
    "guests/generic/policy.yaml",
    "guests/generic/scenarios",
    "guests/go/README.md",
    "guests/intel-gpu/README.md",
    "guests/intel-gpu/policy.yaml",
    "guests/languages/README.md",
    "guests/languages/nodes",
    "guests/languages/policy.yaml",
    "guests/languages/scenarios",
    "guests/nvidia-gpu/README.md",
    "guests/nvidia-gpu/nodes",
    "guests/nvidia-gpu/policy.yaml",
    "guests/nvidia-gpu/scenarios",
    "guests/nvme/README.md",
    "guests/nvme/nodes",
    "guests/nvme/policy.yaml",
    "guests/nvme/scenarios",
    "guests/onload/README.md",
    "guests/onload/nodes",
    "guests/onload/policy.yaml",
    "guests/onload/scenarios",
    "guests/qat/README.md",
    "guests/qat/nodes",
    "guests/qat/policy.yaml",
    "guests/qat/scenarios",
    "guests/rdma/README.md",
    "guests/rdma/nodes",
    "guests/rdma/policy.yaml",
    "guests/rdma/scenarios",
    "guests/sriov-nic/README.md",
    "guests/sriov-nic/nodes",
    "guests/sriov-nic/policy.yaml",
    "guests/sriov-nic/scenarios",
    "wit",
];

/// All of its files, sorted, each by its path from the repository's root.
///
/// # Errors
/// When one is missing.
pub(crate) fn files() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for part in PARTS {
        gather(Path::new(part), &mut found)?;
    }
    found.sort();
    Ok(found)
}

/// Copies all of it into a folder.
///
/// # Errors
/// When a file cannot be read or written.
pub(crate) fn copy(folder: &Path) -> Result<()> {
    for path in files()? {
        let to = folder.join(&path);
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
        }
        std::fs::copy(root().join(&path), &to).with_context(|| format!("copy {}", path.display()))?;
    }
    Ok(())
}

/// Without what editors and tools hide.
fn gather(path: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let at = root().join(path);
    if !at.is_dir() {
        std::fs::metadata(&at).with_context(|| format!("read {}", path.display()))?;
        found.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(&at).with_context(|| format!("read {}", path.display()))? {
        let name = entry?.file_name();
        if !name.to_string_lossy().starts_with('.') {
            gather(&path.join(name), found)?;
        }
    }
    Ok(())
}
