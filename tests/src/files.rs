//! Directories: nodes of any size, for the program that nodes run: it reads them as it does a kernel's; and their end.

use crate::Kind;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Whether they can be made here: only root makes device nodes.
pub(crate) fn can_be_made() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes `sys` and `dev` of these devices in a directory: class devices with a node each, of numbers that no driver has.
///
/// # Errors
/// When something cannot be made, as where this is not root.
pub(crate) fn make(root: &Path, kinds: &[Kind]) -> io::Result<()> {
    let (sys, dev) = (root.join("sys"), root.join("dev"));
    fs::create_dir_all(&dev)?;
    for Kind { class, count } in kinds {
        let (of, major) = (format!("bench{class}"), 240 + class);
        let all = sys.join("class").join(&of);
        fs::create_dir_all(&all)?;
        for minor in 0..*count {
            let name = format!("{of}-{minor}");
            let device = sys.join("devices/virtual").join(&of).join(&name);
            fs::create_dir_all(&device)?;
            fs::write(device.join("uevent"), format!("MAJOR={major}\nMINOR={minor}\nDEVNAME={name}\n"))?;
            fs::write(device.join("dev"), format!("{major}:{minor}\n"))?;
            symlink(Path::new("../../../../class").join(&of), device.join("subsystem"))?;
            symlink(Path::new("../../devices/virtual").join(&of).join(&name), all.join(&name))?;
            let mode = Mode::from_raw_mode(0o600);
            mknodat(CWD, dev.join(&name), FileType::CharacterDevice, mode, makedev(major, minor))?;
        }
    }
    Ok(())
}

/// Removes a directory in which a host may make another socket meanwhile.
///
/// # Errors
/// When it cannot be removed, or always has something in it again.
pub fn remove_busy(dir: &Path) -> io::Result<()> {
    for _ in 0..100 {
        match fs::remove_dir_all(dir) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            other => return other,
        }
    }
    fs::remove_dir_all(dir)
}
