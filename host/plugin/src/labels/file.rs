//! The file that Node Feature Discovery reads, and how it is known to be devgate's own.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Where Node Feature Discovery's worker reads feature files, unless it is told otherwise.
pub const DEFAULT_DIR: &str = "/etc/kubernetes/node-feature-discovery/features.d";
/// The name of devgate's file there.
pub const FILE: &str = "devgate.features";
/// What it is written as before it is put in place. Node Feature Discovery reads no dot-files.
pub(crate) const TEMPORARY: &str = ".devgate.features.new";
/// What the host locks that writes the file.
pub(crate) const LOCK: &str = ".devgate.features.lock";
/// The first line of the file, and what makes it devgate's own.
pub(crate) const HEADER: &str = "# Written by devgate, and replaced when its labels change: the policy has them.\n";

/// Whether what is at `path` is a file that devgate wrote; nothing where nothing is there. No link is followed.
pub(crate) fn is_ours(path: &Path) -> io::Result<Option<bool>> {
    let look = match fs::symlink_metadata(path) {
        Ok(look) => look,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !look.is_file() {
        return Ok(Some(false));
    }
    let mut options = OpenOptions::new();
    // Should it become a link or a pipe in between.
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let opened = options.read(true).custom_flags(flags.cast_signed()).open(path)?;
    let mut start = Vec::new();
    opened.take(HEADER.len() as u64).read_to_end(&mut start)?;
    Ok(Some(start == HEADER.as_bytes()))
}

/// Puts a file in place as a whole, for everybody to read.
pub(crate) fn put(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = file.with_file_name(TEMPORARY);
    // What an earlier host left there, or somebody's link.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut opened = options.write(true).create_new(true).mode(0o644).open(&new)?;
    // Whatever the umask is: its reader need not be root.
    opened.set_permissions(Permissions::from_mode(0o644))?;
    opened.write_all(bytes)?;
    opened.sync_all()?;
    fs::rename(&new, file)
}
