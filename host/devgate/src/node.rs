//! How a command comes by its node.

use crate::exit;
use devgate_node::{Node, NodeError};
use std::path::Path;

/// Opens the node that `--node-root` names. The error has its exit code.
pub type OpenNode = fn(&Path) -> anyhow::Result<Node>;

/// A live node alone: what `devgate` opens. Recorded ones are devgatectl's, and the error for a file says so.
///
/// # Errors
/// Where it is no directory, or cannot be opened.
pub fn open_live(root: &Path) -> anyhow::Result<Node> {
    Node::open(root).map_err(|error| match error {
        NodeError::IsFile { .. } => exit::with_code(
            exit::USAGE,
            format!("{error}; for a recorded node, run `devgatectl` with the same command and options (--node-root)"),
        ),
        _ => exit::with_code(exit::NODE, error.to_string()),
    })
}
