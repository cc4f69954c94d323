//! Recorded nodes: a computer's devices as a text in umockdev's description format, kept in memory as a small file system that
//! scripts and tests may change. To callers of a [`Node`] they are as good as a live one.
//!
//! ```text
//!   description ── text ──► world ── Tree, EventSource ──► Node
//!   change, undo            what is there now              told: what each change would have been told by
//!   recorder                parts of any node, copied      rewrite: the same with other texts in it
//!   write                   as a text again
//! ```
//!
//! What a node runs in production has none of it.
#![forbid(unsafe_code)]

mod change;
mod clock;
mod description;
mod diff_events;
mod errno;
mod error;
mod escapes;
mod follow;
mod node;
mod recorded;
mod recorder;
mod rewrite;
mod undo;
mod world;
mod write;

pub use change::Change;
pub use errno::errno_of;
pub use error::RecordingError;
pub use follow::follow;
pub use node::{Opened, RecordedNode, open};
pub use recorder::{Recorder, Recording};
pub use rewrite::{Instead, Text};
pub use write::{Unwritten, Written};

#[cfg(doc)]
use devgate_node::Node;
