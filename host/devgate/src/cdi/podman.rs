//! Which files the podman that is installed here does not read.

use devgate_cdi::check::Checked;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where 5.5.0 to 5.5.2 read, and nowhere else (containers/podman#26569).
const ALONE: &str = "/etc/cdi";

/// Adds what is wrong for it; nothing where there is none.
pub(super) fn look(dirs: &[PathBuf], checked: &mut Checked) {
    let Ok(said) = Command::new("podman").arg("--version").output() else {
        return;
    };
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let Some(version) = version(&said) else { return };
    let (major, minor, patch) = version;
    let has_files = |dir: &&PathBuf| dir.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    for dir in dirs.iter().filter(has_files) {
        let what = if version < (4, 1, 0) {
            "reads no such files: install a newer one".to_owned()
        } else if (major, minor) == (5, 5) && patch <= 2 && dir != Path::new(ALONE) {
            format!("reads {ALONE} alone: have devgate write there (--cdi-dir {ALONE}), or install a newer one")
        } else {
            continue;
        };
        let what = format!("podman {major}.{minor}.{patch} is installed here, and {what}");
        checked.find(false, dir, &what);
    }
}

/// Of `podman version 5.5.1`, and of `podman version 6.0.0-dev`.
fn version(said: &str) -> Option<(u32, u32, u32)> {
    let numbers = said.trim().strip_prefix("podman version ")?;
    let mut numbers = numbers.split(['.', '-', '+']).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn a_version_is_read_as_podman_says_it() {
        assert_eq!(version("podman version 4.3.1\n"), Some((4, 3, 1)));
        assert_eq!(version("podman version 6.0.0-dev\n"), Some((6, 0, 0)));
        assert_eq!(version("podman version 5.5\n"), None);
        assert_eq!(version("podman: command not found"), None);
    }
}
