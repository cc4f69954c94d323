//! `devgate cleanup`: removes what devgate has left on a node.

use crate::cli::{CleanupArgs, Output};
use crate::exit::Coded;
use crate::output::columns;
use crate::status::ask::block_on;
use crate::{exit, in_use, output};
use devgate_core::cleanup::{Cleaner, Leftover, Outcome, StateDir};
use devgate_core::{NotLocked, Recorded, StateDirLock};
use devgate_device_plugin::front_end;
use devgate_types::escape;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use tokio::net::UnixStream;

/// What was found, and what became of it.
#[derive(Serialize)]
struct Cleaned {
    dry_run: bool,
    /// Why nothing was removed.
    refused: Option<String>,
    found: Vec<Leftover>,
}

/// Runs the command.
pub(crate) fn cleanup(args: &CleanupArgs) -> anyhow::Result<u8> {
    let (refused, found) = match block_on(clean(args))? {
        Ok(found) => (None, found),
        Err(error) => match error.downcast::<Coded>()? {
            refused if refused.code == exit::FOUND => (Some(refused.message), Vec::new()),
            other => return Err(other.into()),
        },
    };
    let dry_run = args.dry_run;
    let cleaned = Cleaned { dry_run, refused, found };
    match args.output {
        Output::Json => output::print_json(&cleaned)?,
        Output::Text if cleaned.refused.is_some() => {}
        Output::Text if cleaned.found.is_empty() => output::print("nothing of devgate's is here\n")?,
        Output::Text => output::print(&columns(0, &cleaned.found.iter().map(row).collect::<Vec<_>>()))?,
    }
    if let Some(why) = cleaned.refused {
        return Err(refuse(format!("cleanup: {why}; nothing was removed")));
    }
    let failed = cleaned.found.iter().any(|found| found.outcome == Outcome::Failed);
    Ok(if failed { exit::NODE } else { exit::OK })
}

/// A line of what is shown to people.
pub(crate) fn row(found: &Leftover) -> [String; 3] {
    let outcome = match found.outcome {
        Outcome::Removed => "removed",
        Outcome::WouldRemove => "would remove",
        Outcome::Left => "left",
        Outcome::Failed => "not removed",
    };
    let path = escape(&found.path.display().to_string(), 512);
    let why = found.why.as_ref().map(|why| format!(": {}", escape(why, 512)));
    [outcome.into(), found.what.into(), path + &why.unwrap_or_default()]
}

/// It is meant to be there: a host runs, pods have what it gave them, or a directory is another's.
fn refuse(why: String) -> anyhow::Error {
    exit::with_code(exit::FOUND, why)
}

/// Something of the node cannot be looked at.
fn unseen(what: &str, path: &Path, why: impl Display, option: &str) -> anyhow::Error {
    let path = path.display();
    exit::with_code(exit::NODE, format!("{what} {path}: {why}; be root, or name another one with --{option}"))
}

async fn clean(args: &CleanupArgs) -> anyhow::Result<Vec<Leftover>> {
    let dir = args.state_dir.display();
    // All that could refuse it comes before anything is removed.
    let has_socket = is_left_behind(&args.status_socket).await?;
    let kubelet_dir = &args.kubelet.kubelet_dir;
    let unread = |dir, error: io::Error, option| unseen("directory", dir, format!("cannot be read: {error}"), option);
    let sockets = front_end::left_behind(kubelet_dir).await;
    let mut sockets = sockets.map_err(|error| unread(kubelet_dir, error, "kubelet-dir"))?;
    let registry = &args.plugins_registry_dir;
    // Where that is not known, none is known: those that are no driver's for sure stay.
    let drivers = Recorded::read(&args.state_dir).map(|recorded| recorded.claims().map(|claim| claim.driver).collect());
    let of_drivers = devgate_dra::left_behind(registry, &drivers.unwrap_or_default()).await;
    let of_drivers = of_drivers.map_err(|error| unread(registry, error, "plugins-registry-dir"))?;
    sockets.dead.extend(of_drivers.dead);
    sockets.alive.extend(of_drivers.alive);
    if let Some(alive) = sockets.alive.first() {
        // Its status socket may be in a container of its own.
        let alive = alive.display();
        return Err(refuse(format!("socket {alive}: a devgate serves the kubelet there; end it first")));
    }
    let look = || StateDir::look(&args.state_dir).map_err(|why| exit::of_state_dir(exit::FOUND, &args.state_dir, why));
    let state = if args.state { look()? } else { None };
    // What is to be removed keeps hosts out until it is; a directory that is not even looked at is not written to.
    let _hold =
        StateDirLock::of_cleanup(&args.state_dir, state.is_some() && !args.dry_run).map_err(|why| match why {
            NotLocked::Used => refuse(format!("state directory {dir}: {why}")),
            NotLocked::NoFile(_) => exit::of_state_dir(exit::NODE, &args.state_dir, format!("{why}; remove that")),
            NotLocked::Unknown(_) => unseen("state directory", &args.state_dir, why, "state-dir"),
        })?;
    // It would begin with what is left here, a moment after the host that it waited for has ended.
    if StateDirLock::is_awaited(&args.state_dir) {
        return Err(refuse(format!(
            "state directory {dir}: a devgate waits for it, and serves as soon as it is free; end it first"
        )));
    }
    if let Some(state) = &state
        && !args.even_if_in_use
    {
        not_in_use(args, state).await?;
    }
    let mut cleaner = Cleaner::new(args.dry_run);
    for socket in &sockets.dead {
        cleaner.remove("socket", socket);
    }
    cleaner.labels(&args.nfd_dir);
    cleaner.device_info(&args.device_info_dir, &args.state_dir);
    let named = devgate_cdi::left_behind(&args.cdi_dir, &args.state_dir);
    let named = named.map_err(|why| exit::of_state_dir(exit::NODE, &args.state_dir, why))?;
    for file in named.into_iter().filter(|file| file.path.exists()) {
        if file.is_pods && state.is_none() {
            cleaner.leave("cdi", &file.path, "a pod may have it; --state takes it away when none has");
        } else {
            cleaner.remove("cdi", &file.path);
        }
    }
    if has_socket {
        cleaner.remove("status-socket", &args.status_socket);
    }
    if let Some(state) = state {
        cleaner.state(&state);
    }
    Ok(cleaner.found())
}

/// Fails where a pod has what the state says was given.
async fn not_in_use(args: &CleanupArgs, state: &StateDir) -> anyhow::Result<()> {
    // Unknown: it may be any.
    let recorded = state.recorded();
    let given = recorded.as_ref().map(Recorded::resources);
    if given.as_ref().is_some_and(BTreeSet::is_empty) {
        return Ok(());
    }
    let is_ours = |resource: &str, _: &str| given.as_ref().is_none_or(|given| given.contains(resource));
    let claims = recorded.as_ref().map(|recorded| recorded.claims().collect());
    let used = in_use::find(&args.kubelet.pod_resources(), is_ours, claims).await;
    let Some(used) = used.map_err(|why| refuse(why.to_string()))? else {
        return Ok(());
    };
    let what = if given.is_some() {
        "; end the pods that have devices of devgate first, or say --even-if-in-use: a devgate that comes back may then give to \
         others what those pods have"
    } else {
        ", and what is kept of what devgate handed out cannot be understood, so that it may be devgate's; start devgate once, which asks \
         the kubelet and writes down what is its own, or, if no pod has a device of devgate, say --even-if-in-use"
    };
    Err(refuse(format!("{used}{what}")))
}

/// Whether a host that has ended left its status socket there.
async fn is_left_behind(path: &Path) -> anyhow::Result<bool> {
    let shown = path.display();
    match std::fs::symlink_metadata(path) {
        Ok(look) if look.file_type().is_socket() => {}
        // What is no socket is no host's, and stays.
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(unseen("status socket", path, error, "status-socket")),
    }
    match UnixStream::connect(path).await {
        Err(error) if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => Ok(true),
        Ok(_) => Err("a devgate runs here; end it first".to_owned()),
        // Such as one that is too busy to answer.
        Err(error) => Err(format!("it cannot be seen whether a devgate runs here: {error}")),
    }
    .map_err(|why| refuse(format!("status socket {shown}: {why}")))
}
