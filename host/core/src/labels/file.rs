//! The file that Node Feature Discovery reads, and how it is known to be devgate's own.

use crate::state::{self, Style};
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Where Node Feature Discovery's worker reads feature files, unless it is told otherwise.
pub const DEFAULT_DIR: &str = "/etc/kubernetes/node-feature-discovery/features.d";
/// The name of devgate's file there.
pub const FILE: &str = "devgate.features";
/// What hosts of version 0.1.0 wrote it as before it was put in place. Node Feature Discovery reads no dot-files.
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

/// Puts a file in place as a whole, for everybody to read: its reader need not be root.
pub(crate) fn put(file: &Path, bytes: &[u8]) -> io::Result<()> {
    state::put(file, bytes, Style::SHOWN)
}
