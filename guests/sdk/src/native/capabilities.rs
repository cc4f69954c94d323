//! The functions that ask the host, by the contract's interfaces. See `wit/` for what each means.

/// Capability `hardware`: the kernel's devices that the policy grants.
pub mod hardware {
    pub use super::super::{Device, Error};
    use crate::native::host::ask;

    /// All granted devices of one subsystem, sorted by location.
    ///
    /// # Errors
    /// Where `subsystem` is not a plain name.
    pub fn devices(subsystem: &str) -> Result<Vec<Device>, Error> {
        let devices = ask("hardware::devices", |host| host.devices(subsystem))?;
        Ok(devices.into_iter().map(Device::of_number).collect())
    }

    /// One granted device by its kernel name.
    ///
    /// # Errors
    /// `not-found` for one that is not there or not granted.
    pub fn device_by_name(subsystem: &str, name: &str) -> Result<Device, Error> {
        ask("hardware::device_by_name", |host| host.device_by_name(subsystem, name)).map(Device::of_number)
    }
}

/// Capability `control`: writing attributes in `prepare` and `release`.
pub mod control {
    pub use super::super::{Device, Error};
    use crate::native::host::ask;

    /// Writes one attribute of a device that the call's units are made of.
    ///
    /// # Errors
    /// As the contract says.
    pub fn write(target: &Device, path: &str, value: &str) -> Result<(), Error> {
        ask("control::write", |host| host.control_write(target.number_of(), path, value))
    }
}

/// Capability `host-paths`: nodes and mount sources that belong to no kernel device.
pub mod host_paths {
    pub use super::super::{Error, MountSource, Node};
    use crate::native::host::ask;

    /// A node under `/dev` that the policy lists.
    ///
    /// # Errors
    /// As the contract says.
    pub fn node_at(path: &str) -> Result<Node, Error> {
        ask("host_paths::node_at", |host| host.node_at(path)).map(Node::of_number)
    }

    /// A mount by the policy's name for it.
    ///
    /// # Errors
    /// As the contract says.
    pub fn mount(name: &str) -> Result<MountSource, Error> {
        ask("host_paths::mount", |host| host.mount(name)).map(MountSource::of_number)
    }
}

/// Capability `files`: files outside the device tree that the policy lists.
pub mod files {
    pub use super::super::Error;
    use crate::native::host::ask;

    /// A whole text file, without its trailing white space.
    ///
    /// # Errors
    /// As the contract says; the same for the others.
    pub fn text(path: &str) -> Result<String, Error> {
        ask("files::text", |host| host.file_text(path))
    }

    /// A part of a file.
    ///
    /// # Errors
    /// See [`text`].
    pub fn read(path: &str, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
        ask("files::read", |host| host.file_read(path, offset, length))
    }

    /// The names in a directory, sorted.
    ///
    /// # Errors
    /// See [`text`].
    pub fn entries(path: &str) -> Result<Vec<String>, Error> {
        ask("files::entries", |host| host.file_entries(path))
    }
}

/// Capability `kernel-log`: what the granted patterns capture from lines of the kernel.
pub mod kernel_log {
    pub use super::super::Error;
    use crate::native::host::ask;

    /// What one pattern captured from one line.
    #[derive(Debug, Clone)]
    pub struct Event {
        /// Index of the pattern in the policy.
        pub pattern: u32,
        /// Its captures, in order.
        pub captures: Vec<String>,
        /// Microseconds since boot.
        pub time: u64,
    }

    /// Events, and where to go on.
    #[derive(Debug, Clone)]
    pub struct Batch {
        /// Oldest first.
        pub events: Vec<Event>,
        /// For the next call.
        pub cursor: String,
        /// Whether lines were lost between the two cursors.
        pub gap: bool,
    }

    /// What was captured after `cursor`, at most `most`.
    ///
    /// # Errors
    /// As the contract says.
    pub fn since(cursor: &str, most: u32) -> Result<Batch, Error> {
        ask("kernel_log::since", |host| host.log_since(cursor, most))
    }
}

/// Capability `state`: one small blob that survives restarts.
pub mod state {
    pub use super::super::Error;
    use crate::native::host::ask;

    /// What was last stored, or empty.
    ///
    /// # Errors
    /// As the contract says.
    pub fn load() -> Result<Vec<u8>, Error> {
        ask("state::load", |host| host.state_load())
    }

    /// Replaces the blob as a whole.
    ///
    /// # Errors
    /// As the contract says.
    pub fn store(blob: &[u8]) -> Result<(), Error> {
        ask("state::store", |host| host.state_store(blob))
    }
}

/// What drivers have announced of devices; capability `hardware`.
pub mod uevents {
    pub use super::super::{Device, Error, Property};
    use crate::native::host::ask;

    /// What one `change` uevent says.
    #[derive(Debug, Clone)]
    pub struct Event {
        /// Milliseconds since boot.
        pub time: u64,
        /// Its words.
        pub words: Vec<Property>,
    }

    /// What was announced of a device, newest last.
    ///
    /// # Errors
    /// As the contract says.
    pub fn recent(target: &Device) -> Result<Vec<Event>, Error> {
        ask("uevents::recent", |host| host.uevents_recent(target.number_of()))
    }
}

/// The node's time.
pub mod clock {
    use crate::native::host::ask;

    /// Milliseconds since the node was started: a thousandth of a kernel-log event's `time`.
    #[must_use]
    pub fn now() -> u64 {
        ask("clock::now", |host| host.clock_now())
    }
}

/// What the admin wrote under `config:` for this plugin.
pub mod config {
    use crate::native::host::ask;

    /// As JSON; `null` where there is nothing.
    #[must_use]
    pub fn json() -> String {
        ask("config::json", |host| host.config())
    }
}

/// The plugin's lines in the host's log.
pub mod log {
    use crate::native::host::ask;

    /// How much a line matters.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Level {
        /// For the vendor.
        Debug,
        /// For whoever wants to know.
        Info,
        /// Something is odd.
        Warn,
        /// Something does not work.
        Error,
    }

    /// One line.
    pub fn write(level: Level, message: &str) {
        ask("log", |host| host.log(level, message));
    }
}
