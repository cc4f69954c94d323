//! What happens on a node, as far as it is told without being asked.
//!
//! An event says where to look, never what is there: its receiver asks the node. So an event that was forged, that
//! came late or twice costs one look, and one that was lost is made up for by the poll.

use crate::{DevicePath, KernelLine, LogSource};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeEvent {
    /// The kernel said something about a device.
    Device(DeviceEvent),
    /// A driver or module came or went: what that is to which device, its own events say, where there are any.
    Driver(String),
    /// Something at this absolute path was made, changed or removed.
    Path(String),
    /// Where the lines after this come from, or why there are none any more. Another source numbers them otherwise.
    Log(LogSource),
    /// A line of the kernel's log, in order; first those that were there already.
    Line(KernelLine),
    /// Lines of the kernel's log were overwritten before they were read, or could not be read.
    Gap,
    /// Other events were lost: anything may have changed.
    Lost,
}

/// What the kernel said about a device: a *uevent*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceEvent {
    /// What happened.
    pub action: DeviceAction,
    /// To which device.
    pub device: DevicePath,
    /// The bus or class that it is part of.
    pub subsystem: String,
    /// The path of its node under `/dev`, absolute, where it has one.
    pub node: Option<String>,
    /// What its driver says of a change, by name: none where a program has the kernel say that there was one.
    pub words: Vec<(String, String)>,
}

/// What can happen to a device. A device that moves (`move`) is removed and added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceAction {
    /// It is there.
    Add,
    /// It is not there any more.
    Remove,
    /// Its driver has something to say: a disk has another size, a GPU is wedged.
    Change,
    /// A driver took it.
    Bind,
    /// Its driver let it go.
    Unbind,
    /// It may be used again.
    Online,
    /// It may not be used.
    Offline,
}
