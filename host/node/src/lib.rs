//! What the host reads of a computer: the kernel's device tree and the nodes under `/dev`, live or recorded.
//!
//! Everything goes through [`Node`], rooted at a directory (`/` in production) or at a recording in umockdev's
//! description format. It is asked about devices, never about paths of the host's own making:
//!
//! ```text
//!   Node: devices, attributes, links, nodes        one set of rules
//!     └── Tree: read, list, link, stat, write      no link is ever followed by the kernel
//!          ├── live      openat2 beneath the root, or the same step by step
//!          └── recorded  a description in memory, which scripts may change
//! ```
//!
//! It knows no policy, no component and no kubelet: it tells what is there, others decide what may be seen.
#![forbid(unsafe_code)]

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
mod path;
mod piece;
mod recorded;
mod resolve;
mod tree;
mod uevent;
mod vfio;
mod watch;

pub use device::{DevicePath, Subsystem};
pub use error::{NodeChanged, NodeError, ReadError};
pub use events::{DeviceAction, DeviceEvent, NodeEvent};
pub use kernel_log::KernelLine;
pub use mounts::{MountKind, MountProblem};
pub use node::Node;
pub use nodes::DeviceNode;
pub use recorded::{Change, Instead, Recorder, Recording, Text, Unwritten, Written};
pub use vfio::GroupNode;
pub use watch::{LogSource, Sink, Told, Watch};
