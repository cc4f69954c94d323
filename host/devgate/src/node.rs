//! How a command comes by its node, and by the programs that run components.

use crate::exit;
use devgate_node::{Node, NodeError};
use devgate_runner::{CodeCache, Program, ProgramError, Programs, Runners};
use devgate_types::escape;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Opens the node that `--node-root` names. The error has its exit code.
pub type OpenNode = fn(&Path) -> anyhow::Result<Node>;

/// What is wrong with a plugin's `config` by the schema that its component carries. A node's program has none that looks: what reads
/// a stranger's schema is `devgatectl`, and on a node the component looks at its configuration itself.
pub type LookAtConfig = fn(component: &[u8], config: &serde_json::Value) -> Vec<ConfigProblem>;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigProblem {
    /// With the schema itself, so that nothing can be said of the `config`.
    #[error("config is not looked at: the schema of it that the component carries {0}")]
    Schema(String),
    /// With the `config`.
    #[error("config{}{at}: {why}", if at.is_empty() { "" } else { " at " })]
    Config {
        /// Where, as a JSON pointer; empty for the whole.
        at: String,
        /// For people.
        why: String,
    },
}

/// What an earlier version does not know of a file of the policy: by line, for people. Fails for a version that is not known here.
pub type LookForVersion = fn(version: &str, text: &str) -> anyhow::Result<Vec<(u32, String)>>;

/// What the commands of one program work with.
#[derive(Clone, Copy)]
pub struct Sources {
    /// The node.
    pub node: OpenNode,
    /// The programs that compile and run components.
    pub programs: fn() -> Result<Programs, ProgramError>,
    /// The program that speaks to registries.
    pub puller: fn() -> Result<Program, ProgramError>,
    /// What looks at a plugin's `config`.
    pub config: LookAtConfig,
    /// What knows the policies of earlier versions.
    pub version: LookForVersion,
}

impl Sources {
    /// What runs components, each in a process of its own; with a directory, what was compiled is kept there. Fails where a program is
    /// missing; with its exit code.
    pub fn runners(&self, kept: Option<CodeCache>) -> anyhow::Result<Runners> {
        let programs = (self.programs)().map_err(|error| exit::with_code(exit::NODE, error.to_string()))?;
        Ok(Runners::new(programs, kept)?)
    }
}

/// What a recording's name ends with.
pub const RECORDINGS: [&str; 2] = [".umockdev", ".umockdev.gz"];

/// The recordings that `--nodes` means: each file itself, or those in a folder in the order of their names. Fails where there is none; with
/// its exit code.
pub fn recordings(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        let wrong = |why: &dyn Display| exit::with_code(exit::NODE, format!("nodes {}: {why}", path.display()));
        if !path.metadata().map_err(|error| wrong(&error))?.is_dir() {
            all.push(path.clone());
            continue;
        }
        let is_one = |file: &PathBuf| RECORDINGS.iter().any(|ending| name(file).ends_with(ending)) && file.is_file();
        let entries = path.read_dir().map_err(|error| wrong(&error))?;
        let mut files = Vec::new();
        for entry in entries {
            files.extend(Some(entry.map_err(|error| wrong(&error))?.path()).filter(is_one));
        }
        if files.is_empty() {
            let why = format!("no file in it ends with {}; `devgatectl record` makes one", RECORDINGS.join(" or "));
            return Err(wrong(&why));
        }
        files.sort();
        all.extend(files);
    }
    Ok(all)
}

/// What a recording's node is called: its file's name without the ending.
pub fn recorded_name(file: &Path) -> String {
    let name = name(file);
    let ending = RECORDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    escape(ending.unwrap_or(&name), 200)
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A live node alone: what `devgate` opens. Recorded ones are devgatectl's, and the error for a file says so. Fails where it is no
/// directory, or cannot be opened.
pub fn open_live(root: &Path) -> anyhow::Result<Node> {
    Node::open(root).map_err(|error| match error {
        NodeError::IsFile { .. } => exit::with_code(
            exit::USAGE,
            format!("{error}; for a recorded node, run `devgatectl` with the same command and options (--node-root)"),
        ),
        _ => exit::with_code(exit::NODE, error.to_string()),
    })
}
