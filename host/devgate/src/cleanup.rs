//! `devgate cleanup`: removes what devgate has left on a node.

mod in_use;
mod text;

use crate::cli::{CleanupArgs, Output};
use crate::{exit, output};
use devgate_core::leftovers::{Broom, Fate, Leftover, StateDir};
use devgate_core::{Hold, NotAlone};
use devgate_device_plugin::front_end;
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

/// What stands in the way.
enum Refusal {
    /// It is meant to be there: a host runs, pods have what it gave them, or a directory is somebody else's.
    Refused(String),
    /// The node cannot be looked at.
    Node(anyhow::Error),
}

/// Runs the command.
pub(crate) fn cleanup(args: &CleanupArgs) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (refused, found) = match runtime.block_on(clean(args)) {
        Ok(found) => (None, found),
        Err(Refusal::Refused(why)) => (Some(why), Vec::new()),
        Err(Refusal::Node(error)) => return Err(error),
    };
    let cleaned = Cleaned {
        dry_run: args.dry_run,
        refused,
        found,
    };
    match args.output {
        Output::Json => output::print_json(&cleaned)?,
        Output::Text => output::print(&text::of(&cleaned))?,
    }
    if let Some(why) = cleaned.refused {
        return Err(exit::with_code(
            exit::FOUND,
            format!("cleanup: {why}; nothing was removed"),
        ));
    }
    let failed = cleaned.found.iter().any(|found| found.fate == Fate::Failed);
    Ok(if failed { exit::NODE } else { exit::OK })
}

async fn clean(args: &CleanupArgs) -> Result<Vec<Leftover>, Refusal> {
    // All that could refuse it comes before anything is removed.
    let has_socket = is_left_behind(&args.status_socket).await?;
    let sockets = front_end::left_behind(&args.kubelet_dir).await.map_err(|error| {
        let dir = args.kubelet_dir.display();
        Refusal::Node(exit::with_code(
            exit::NODE,
            format!("directory {dir}: cannot be read: {error}; be root, or name another one with --kubelet-dir"),
        ))
    })?;
    if let Some(alive) = sockets.alive.first() {
        // Its status socket may be in a container of its own.
        return Err(Refusal::Refused(format!(
            "socket {}: a devgate serves the kubelet there; end it first",
            alive.display()
        )));
    }
    let state = match args.state {
        true => StateDir::look(&args.state_dir).map_err(|why| {
            let dir = args.state_dir.display();
            Refusal::Refused(format!("state directory {dir}: {why} (--state-dir)"))
        })?,
        false => None,
    };
    // What is to be removed keeps hosts out until it is; a directory that is not even looked at is not written to.
    let _hold = Hold::of_cleanup(&args.state_dir, state.is_some() && !args.dry_run).map_err(|why| match why {
        NotAlone::Used => Refusal::Refused(format!("state directory {}: {why}", args.state_dir.display())),
        NotAlone::NoFile(_) => Refusal::Node(exit::with_code(
            exit::NODE,
            format!(
                "state directory {}: {why}; remove that (--state-dir)",
                args.state_dir.display()
            ),
        )),
        NotAlone::Unknown(_) => Refusal::Node(exit::with_code(
            exit::NODE,
            format!(
                "state directory {}: {why}; be root, or name another one with --state-dir",
                args.state_dir.display()
            ),
        )),
    })?;
    if let Some(state) = &state
        && !args.even_if_in_use
    {
        in_use::refuse(args, state).await?;
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
async fn is_left_behind(path: &Path) -> Result<bool, Refusal> {
    let shown = path.display();
    match std::fs::symlink_metadata(path) {
        Ok(look) if look.file_type().is_socket() => {}
        // What is no socket is no host's, and stays.
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => {
            let message = format!("status socket {shown}: {error}; be root, or name another one with --status-socket");
            return Err(Refusal::Node(exit::with_code(exit::NODE, message)));
        }
    }
    match UnixStream::connect(path).await {
        Err(error) if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => Ok(true),
        Ok(_) => Err(Refusal::Refused(format!(
            "status socket {shown}: a devgate runs here; end it first"
        ))),
        // Such as one that is too busy to answer.
        Err(error) => Err(Refusal::Refused(format!(
            "status socket {shown}: it cannot be seen whether a devgate runs here: {error}"
        ))),
    }
}
