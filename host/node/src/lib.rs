//! What the host reads of a computer: the kernel's device tree and the nodes under `/dev`.
//!
//! Everything goes through [`Node`], rooted at a directory (`/` in production). It is asked about devices, never about
//! paths of the host's own making:
//!
//! ```text
//!   Node: devices, attributes, links, nodes           one set of rules
//!     ├── Tree: read, list, link, stat, write         no link is ever followed by the kernel
//!     └── EventSource: what happens, what is logged   a reason to look, never what is there
//!          └── live  openat2 beneath the root, or the same step by step
//! ```
//!
//! Another source of both, such as a recording, becomes a node by [`Node::of`].
//!
//! It knows no policy, no component and no kubelet: it tells what is there, others decide what may be seen.
#![deny(unsafe_code)]

mod block;
mod boot;
mod control;
mod device;
mod error;
mod events;
mod files;
mod kernel_log;
mod live;
mod mounts;
mod node;
mod nodes;
pub mod path;
mod piece;
mod resolve;
pub mod tree;
mod uevent;
mod vfio;
mod watch;

pub use block::Users;
pub use device::{DevicePath, Subsystem};
pub use error::{NodeChanged, NodeError, ReadError, errno_name};
pub use events::{DeviceAction, DeviceEvent, NodeEvent};
pub use kernel_log::KernelLine;
pub use mounts::{MountKind, MountProblem};
pub use node::Node;
pub use nodes::{DeviceNode, parse_number};
pub use tree::Tree;
pub use vfio::GroupNode;
pub use watch::{EventSource, LogSource, Sink, Told, Unread, Watch};
