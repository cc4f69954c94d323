//! `devgate cleanup`: removes what devgate has left on a node.

mod in_use;

use crate::cli::{CleanupArgs, Output};
use crate::exit::Coded;
use crate::output::columns;
use crate::{exit, output};
use devgate_core::leftovers::{Broom, Fate, Leftover, StateDir};
use devgate_core::{Hold, NotAlone};
use devgate_device_plugin::front_end;
use devgate_types::escape;
use serde::Serialize;
use std::io::ErrorKind;
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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (refused, found) = match runtime.block_on(clean(args)) {
        Ok(found) => (None, found),
        Err(error) => match error.downcast::<Coded>()? {
            refused if refused.code == exit::FOUND => (Some(refused.message), Vec::new()),
            other => return Err(other.into()),
        },
    };
    let cleaned = Cleaned {
        dry_run: args.dry_run,
        refused,
        found,
    };
    match args.output {
        Output::Json => output::print_json(&cleaned)?,
        Output::Text if cleaned.refused.is_some() => {}
        Output::Text if cleaned.found.is_empty() => output::print("nothing of devgate's is here\n")?,
        Output::Text => output::print(&columns(0, &cleaned.found.iter().map(row).collect::<Vec<_>>()))?,
    }
    if let Some(why) = cleaned.refused {
        return Err(refuse(format!("cleanup: {why}; nothing was removed")));
    }
    let failed = cleaned.found.iter().any(|found| found.fate == Fate::Failed);
    Ok(if failed { exit::NODE } else { exit::OK })
}

/// A line of what is shown to people.
fn row(found: &Leftover) -> [String; 3] {
    let fate = match found.fate {
        Fate::Removed => "removed",
        Fate::WouldRemove => "would remove",
        Fate::Left => "left",
        Fate::Failed => "not removed",
    };
    let path = escape(&found.path.display().to_string(), 512);
    let why = found.why.as_ref().map(|why| format!(": {}", escape(why, 512)));
    [
        fate.to_owned(),
        found.what.to_owned(),
        path + why.as_deref().unwrap_or_default(),
    ]
}

/// It is meant to be there: a host runs, pods have what it gave them, or a directory is somebody else's.
fn refuse(why: String) -> anyhow::Error {
    exit::with_code(exit::FOUND, why)
}

/// The node cannot be looked at.
fn unseen(why: String) -> anyhow::Error {
    exit::with_code(exit::NODE, why)
}

async fn clean(args: &CleanupArgs) -> anyhow::Result<Vec<Leftover>> {
    let dir = args.state_dir.display();
    // All that could refuse it comes before anything is removed.
    let has_socket = is_left_behind(&args.status_socket).await?;
    let sockets = front_end::left_behind(&args.kubelet_dir).await.map_err(|error| {
        let dir = args.kubelet_dir.display();
        unseen(format!(
            "directory {dir}: cannot be read: {error}; be root, or name another one with --kubelet-dir"
        ))
    })?;
    if let Some(alive) = sockets.alive.first() {
        // Its status socket may be in a container of its own.
        let alive = alive.display();
        return Err(refuse(format!(
            "socket {alive}: a devgate serves the kubelet there; end it first"
        )));
    }
    let look =
        || StateDir::look(&args.state_dir).map_err(|why| refuse(format!("state directory {dir}: {why} (--state-dir)")));
    let state = if args.state { look()? } else { None };
    // What is to be removed keeps hosts out until it is; a directory that is not even looked at is not written to.
    let _hold = Hold::of_cleanup(&args.state_dir, state.is_some() && !args.dry_run).map_err(|why| match why {
        NotAlone::Used => refuse(format!("state directory {dir}: {why}")),
        NotAlone::NoFile(_) => unseen(format!("state directory {dir}: {why}; remove that (--state-dir)")),
        NotAlone::Unknown(_) => unseen(format!(
            "state directory {dir}: {why}; be root, or name another one with --state-dir"
        )),
    })?;
    if let Some(state) = &state
        && !args.even_if_in_use
    {
        in_use::look(args, state).await?;
    }
    let mut broom = Broom::new(args.dry_run);
    for socket in &sockets.dead {
        broom.remove("socket", socket);
    }
    broom.labels(&args.nfd_dir);
    broom.device_info(&args.device_info_dir, &args.state_dir);
    if has_socket {
        broom.remove("status-socket", &args.status_socket);
    }
    if let Some(state) = state {
        broom.state(&state);
    }
    Ok(broom.found())
}

/// Whether a host that has ended left its status socket there.
async fn is_left_behind(path: &Path) -> anyhow::Result<bool> {
    let shown = path.display();
    match std::fs::symlink_metadata(path) {
        Ok(look) if look.file_type().is_socket() => {}
        // What is no socket is no host's, and stays.
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => {
            return Err(unseen(format!(
                "status socket {shown}: {error}; be root, or name another one with --status-socket"
            )));
        }
    }
    match UnixStream::connect(path).await {
        Err(error) if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => Ok(true),
        Ok(_) => Err(refuse(format!(
            "status socket {shown}: a devgate runs here; end it first"
        ))),
        // Such as one that is too busy to answer.
        Err(error) => Err(refuse(format!(
            "status socket {shown}: it cannot be seen whether a devgate runs here: {error}"
        ))),
    }
}
