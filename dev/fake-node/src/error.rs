//! Why there is no recorded node, or not the one that was asked for.

use devgate_node::NodeError;
use devgate_types::escape;

/// Why a recorded node could not be opened, changed or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The root cannot be opened, or is not what it should be.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The root is no regular file: a live node, at best.
    #[error("node root {} is no recording", escape(path, 256))]
    NotARecording {
        /// As given.
        path: String,
    },
    /// A recording is larger than is read.
    #[error("recording {name} is larger than {most} bytes")]
    TooLarge {
        /// The recording's name, escaped.
        name: String,
        /// The limit in bytes.
        most: usize,
    },
    /// A line of a recording cannot be understood.
    #[error("recording {name}, line {line}: {problem}")]
    Malformed {
        /// The recording's name, escaped.
        name: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong, and what it should be.
        problem: String,
    },
    /// A change to a recorded node names something that cannot be changed so.
    #[error("change to {}: {problem}", escape(what, 256))]
    Change {
        /// The location or path that the change names.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
}
