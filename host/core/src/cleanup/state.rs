//! The state directory, when devgate leaves for good.

use super::{Cleaner, Outcome};
use crate::allocations::Recorded;
use crate::state::{self, is_temporary};
use crate::state_dir_lock::{self, HOST_SOCKET};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What the host keeps in the directory itself. Each may also be there as it is being written or tried, and as it was put aside.
const RECORDS: [&str; 4] = ["handed-out.json", "unhealthy.json", "device-info.json", "cdi.json"];
/// What comes after their names then; `.new` is version 0.1's.
const FORMS: [&str; 4] = ["", ".new", ".probe", ".unreadable"];
/// As a host of version 0.1 that did not understand it put it aside.
const ASIDE: &str = "handed-out.json.unreadable";
/// The journal of what was handed out.
const JOURNAL: &str = "allocations";
/// What components remember, and notes of callers that something is over.
const REST: [&str; 2] = ["state", "ended-requests"];
/// Components from a registry, and machine code, both by their digests.
const CACHES: [&str; 2] = ["components", "compiled"];
/// What an admin keeps there, as the documents say: components, and the audit log with what logrotate made of it. A file system of its
/// own has a folder that no program made.
const COMPONENTS: &str = "components.d";
const AUDIT_LOG: &str = "audit.log";
const OF_FILE_SYSTEM: &str = "lost+found";

/// A directory that devgate kept its state in.
#[derive(Debug)]
pub struct StateDir {
    /// Opened once, so that what is removed is in it whatever its path is by then.
    dir: state::Dir,
    /// What is in it, but for the lock.
    names: BTreeSet<String>,
}

impl StateDir {
    /// Looks at a directory; `None` if it is not there.
    ///
    /// # Errors
    /// Why it does not look like one of devgate's, or cannot be looked at.
    pub fn look(path: &Path) -> io::Result<Option<Self>> {
        let unlike = |why: &str| Err(io::Error::other(why));
        if fs::symlink_metadata(path).is_ok_and(|look| look.is_symlink()) {
            // By the time that something is removed it could lead anywhere.
            return unlike("it is a link; name the directory that it leads to");
        }
        // Who else may write there could put a link where a directory was just looked at.
        let Some(dir) = state::Dir::look(path)? else { return Ok(None) };
        let names = names(dir.fd())?;
        let mut names: BTreeSet<_> = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        if let Some(other) = names.iter().find(|name| !is_ours(name) && !is_admins(name)) {
            let other = devgate_types::escape(other, 80);
            return unlike(&format!(
                "{other} in it is not devgate's; see that the directory is the right one, and take that away first"
            ));
        }
        let is_sign = |name: &String| name == JOURNAL || name == state_dir_lock::FILE || is_record(name);
        if !names.is_empty() && !names.iter().any(is_sign) {
            return unlike(
                "it does not look like devgate's: it has no allocations, no host.lock and no record of devgate's",
            );
        }
        names.remove(state_dir_lock::FILE);
        Ok(Some(Self { dir, names }))
    }

    /// What was handed out; `None` if what is kept cannot be understood, and it may be anything. Nothing is written.
    #[must_use]
    pub fn recorded(&self) -> Option<Recorded> {
        let recorded = Recorded::read(self.dir.path()).ok()?;
        // What was put aside is what a host did not understand: it may be of pods that still run. One that has learned what pods have
        // writes anew, and what was put aside says no more then.
        let is_aside = || fs::symlink_metadata(self.dir.path().join(ASIDE)).is_ok();
        let is_known = recorded.incomplete.is_none() && !(recorded.is_absent && is_aside());
        is_known.then_some(recorded)
    }
}

impl Cleaner {
    /// Removes what devgate keeps in its state directory, and the directory where nothing of an admin's is in it.
    pub fn state(&mut self, state: &StateDir) {
        let stays = [Outcome::Failed, Outcome::Left];
        let before = self.count(&stays);
        for name in &state.names {
            let path = state.dir.path().join(name);
            if is_admins(name) {
                self.leave("state", &path, "it is the admin's");
            } else {
                let what = if CACHES.contains(&name.as_str()) { "cache" } else { "state" };
                self.end(what, &path, remove(state.dir.fd(), name.as_ref(), self.dry));
            }
        }
        // Last: it keeps hosts out.
        let lock = state_dir_lock::FILE;
        self.end("state", &state.dir.path().join(lock), remove(state.dir.fd(), lock.as_ref(), self.dry));
        if self.count(&stays) == before {
            self.remove_dir("state", state.dir.path());
        }
    }
}

const AS_DIR: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn names(dir: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Removes a name with all that is beneath it; no link is followed.
fn remove(dir: &OwnedFd, name: &OsStr, dry: bool) -> io::Result<()> {
    if dry {
        statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        return Ok(());
    }
    match unlinkat(dir, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => {}
        removed => return Ok(removed?),
    }
    let inner = openat(dir, name, AS_DIR, Mode::empty())?;
    for name in names(&inner)? {
        remove(&inner, &name, dry)?;
    }
    Ok(unlinkat(dir, name, AtFlags::REMOVEDIR)?)
}

/// Whether a host gives this name to something in the directory.
fn is_ours(name: &str) -> bool {
    name == JOURNAL
        || [state_dir_lock::FILE, state_dir_lock::STANDBY].contains(&name)
        || REST.contains(&name)
        || CACHES.contains(&name)
        || is_temporary(name)
        || is_socket(name)
        || is_record(name)
}

/// A socket has its process' number behind its name until it is in its place.
fn is_socket(name: &str) -> bool {
    let number =
        |rest: &str| rest.strip_prefix('.').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    name.strip_prefix(HOST_SOCKET).is_some_and(|rest| rest.is_empty() || number(rest))
}

fn is_record(name: &str) -> bool {
    RECORDS.iter().filter_map(|record| name.strip_prefix(record)).any(|rest| FORMS.contains(&rest))
}

fn is_admins(name: &str) -> bool {
    [COMPONENTS, OF_FILE_SYSTEM].contains(&name)
        || name.strip_prefix(AUDIT_LOG).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}
