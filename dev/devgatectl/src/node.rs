//! The nodes of devgate's commands: live ones, and recorded ones, which devgate does not open.

use devgate::exit;
use devgate_fake_node::{Opened, RecordedNode, RecordingError};
use devgate_node::Node;
use std::path::Path;

/// Opens a node of either kind.
pub(crate) fn either(root: &Path) -> anyhow::Result<Opened> {
    devgate_fake_node::open(root).map_err(|error| refused(&error))
}

/// Opens a node that is looked at once.
pub(crate) fn open(root: &Path) -> anyhow::Result<Node> {
    Ok(either(root)?.into_node())
}

/// Opens a node that is served: a recording is read again whenever it was written.
pub(crate) fn open_and_follow(root: &Path) -> anyhow::Result<Node> {
    if !root.is_file() {
        return open(root);
    }
    let shown = root.display().to_string();
    let tell = move |read: Result<(), RecordingError>| match read {
        Ok(()) => tracing::info!("recorded node {shown}: read again"),
        Err(error) => tracing::error!("recorded node {shown}: not read again: {error}"),
    };
    let node = devgate_fake_node::follow(root, tell).map_err(|error| refused(&error))?;
    Ok(RecordedNode::into(node))
}

fn refused(error: &RecordingError) -> anyhow::Error {
    exit::with_code(exit::NODE, error.to_string())
}
