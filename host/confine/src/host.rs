//! What the host itself gives up: it starts the children, speaks to the kubelet and writes files, and needs nothing else of the node.

use crate::landlock::{KNOWN, enforce};
use crate::{Error, Landlock};
use ::landlock::{AccessFs, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope, path_beneath_rules};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};
use std::path::PathBuf;

/// What the host still changes and starts, once it is fenced. Paths that are not there are left out.
#[derive(Debug, Clone, Default)]
pub struct HostFiles {
    /// Directories in which it makes, writes and removes files.
    pub directories: Vec<PathBuf>,
    /// Directories in which it makes sockets and removes them, and writes no file. One that is made anew beside the first has them too, but
    /// what is made there is not removed.
    pub sockets: Vec<PathBuf>,
    /// Files, and directories of files, that it writes to and neither makes nor removes.
    pub files: Vec<PathBuf>,
    /// Programs, and directories of programs, that it starts.
    pub programs: Vec<PathBuf>,
}

/// Has no process of the same user look into this one. Call it first: what another has opened by then stays open. Fails where a filter
/// around this process forbids it.
pub fn hide() -> Result<(), Error> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Error::forbidden("prctl(PR_SET_DUMPABLE)"))
}

/// Gives up all capabilities but that to read the kernel's log, where it was there, and ever gaining one again.
///
/// The kernel does that for the calling thread and those that it starts later: call it before there are others. Fails where a filter around
/// this process forbids it.
pub fn drop_capabilities() -> Result<(), Error> {
    set_no_new_privs(true).map_err(Error::forbidden("prctl(PR_SET_NO_NEW_PRIVS)"))?;
    let had = capabilities(None).map_err(Error::forbidden("capget"))?;
    let kept = had.permitted & CapabilitySet::SYSLOG;
    // Where this process may not, no_new_privs keeps it from gaining what is in these sets.
    let _ = clear_ambient_capability_set();
    for other in CapabilitySet::all() - kept {
        let _ = remove_capability_from_bounding_set(other);
    }
    let left = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    // A unit that gives none forbids the call as well.
    if had == left {
        return Ok(());
    }
    set_capabilities(None, left).map_err(Error::forbidden("capset"))
}

/// Has the kernel refuse this process, and those that it starts, to change or execute what `files` does not list, and to signal others.
///
/// What may be read stays: a policy that is put in force later may grant other files. The kernel does that for the calling thread and those
/// that it starts later: call it before there are others. Fails where the kernel may have Landlock and was not let use it.
pub fn fence_host(files: &HostFiles) -> Result<Landlock, Error> {
    let change = AccessFs::from_write(KNOWN);
    let make = change & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let write = make & (AccessFs::WriteFile | AccessFs::Truncate);
    enforce(|ruleset| {
        let ruleset = ruleset
            .handle_access(change | AccessFs::Execute)
            .and_then(|ruleset| ruleset.scope(Scope::Signal))
            .and_then(Ruleset::create)?;
        let beside = files.sockets.iter().filter_map(|directory| directory.parent());
        let beside: Vec<_> = beside.filter(|above| above.parent().is_some()).map(Into::into).collect();
        let rules = |paths: &[PathBuf], access: BitFlags<AccessFs>| path_beneath_rules(paths.to_vec(), access);
        ruleset
            .add_rules(rules(&files.directories, make))?
            .add_rules(rules(&files.sockets, AccessFs::MakeSock | AccessFs::RemoveFile))?
            .add_rules(rules(&beside, AccessFs::MakeSock.into()))?
            .add_rules(rules(&files.files, write))?
            .add_rules(rules(&files.programs, AccessFs::Execute.into()))
    })
}
