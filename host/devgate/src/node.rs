//! How a command comes by its node, and by the programs that run components.

use crate::exit;
use devgate_node::{Node, NodeError};
use devgate_runner::{CodeCache, Program, ProgramError, Programs, Runners};
use std::path::Path;

/// Opens the node that `--node-root` names. The error has its exit code.
pub type OpenNode = fn(&Path) -> anyhow::Result<Node>;

/// What the commands of one program work with.
#[derive(Clone, Copy)]
pub struct Sources {
    /// The node.
    pub node: OpenNode,
    /// The programs that compile and run components.
    pub programs: fn() -> Result<Programs, ProgramError>,
    /// The program that speaks to registries.
    pub puller: fn() -> Result<Program, ProgramError>,
}

impl Sources {
    /// What runs components, each in a process of its own; with a directory, what was compiled is kept there.
    ///
    /// # Errors
    /// Where a program is missing; with its exit code.
    pub fn runners(&self, kept: Option<CodeCache>) -> anyhow::Result<Runners> {
        let programs = (self.programs)().map_err(|error| exit::with_code(exit::NODE, error.to_string()))?;
        Ok(Runners::new(programs, kept)?)
    }
}

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
