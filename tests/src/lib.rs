//! What the end-to-end tests and the benchmark share: the real `devgate` program as a process, a kubelet stand-in, and
//! recorded nodes of any size.
#![forbid(unsafe_code)]

pub mod attackers;
pub mod chaos;
mod devices;
mod files;
mod host;
pub mod machine;
mod memory_group;
mod place;
mod port;
pub mod process;
mod recording;
mod tree;

pub use devices::{Devices, Disk};
pub use files::remove_busy;
pub use host::{Host, Line, Setup};
pub use memory_group::MemoryGroup;
pub use place::{components, devgate, devgatectl, program};
pub use port::Port;
pub use recording::{Kind, generic_policy, recording};
