//! Handles to what the policy grants. Each belongs to the call that it was made in.

use super::host::{Handle, ask};
use super::{Error, NodeKind};

/// A device in the kernel's device tree that the policy grants, or one beneath it. See `wit/types.wit` for what each method means.
#[derive(Debug)]
pub struct Device(Handle);

/// A node under `/dev` that may be given to a container.
#[derive(Debug)]
pub struct Node(Handle);

/// A file or directory of the host that may be mounted into a container.
#[derive(Debug)]
pub struct MountSource(Handle);

macro_rules! numbered {
    ($($handle:ident $what:literal),+) => {$(
        impl $handle {
            /// An own handle in the call that runs on this thread. For a [`Host`](super::Host), which knows the number.
            #[doc(hidden)]
            #[must_use]
            pub fn of_number(number: u32) -> Self {
                Self(Handle::new($what, number))
            }

            /// The host's number for it.
            #[doc(hidden)]
            #[must_use]
            pub fn number_of(&self) -> u32 {
                self.0.number($what)
            }
        }
    )+};
}

numbered!(Device "a device", Node "a node", MountSource "a mount source");

impl Device {
    /// Another handle to the same device.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let number = self.number_of();
        ask("Device::duplicate", |host| host.duplicated());
        Self::of_number(number)
    }

    /// The kernel's name.
    #[must_use]
    pub fn name(&self) -> String {
        ask("Device::name", |host| host.device_name(self.number_of()))
    }

    /// Such as `pci`; empty if it has none.
    #[must_use]
    pub fn subsystem(&self) -> String {
        ask("Device::subsystem", |host| host.device_subsystem(self.number_of()))
    }

    /// The bound driver, if any.
    #[must_use]
    pub fn driver(&self) -> Option<String> {
        ask("Device::driver", |host| host.device_driver(self.number_of()))
    }

    /// The place in the device tree: a name to compare, not a path to open.
    #[must_use]
    pub fn location(&self) -> String {
        ask("Device::location", |host| host.device_location(self.number_of()))
    }

    /// The NUMA node, if the kernel names one.
    #[must_use]
    pub fn numa_node(&self) -> Option<u32> {
        ask("Device::numa_node", |host| host.device_numa_node(self.number_of()))
    }

    /// A text attribute without its trailing white space.
    ///
    /// # Errors
    /// As the contract says; the same for all others.
    pub fn attribute(&self, path: &str) -> Result<String, Error> {
        let values = ask("Device::attribute", |host| host.attributes(self.number_of(), &[path]));
        let nothing = || Err(Error::other("host", "the host answers with nothing"));
        values.into_iter().next().unwrap_or_else(nothing)
    }

    /// Several text attributes at once, in the order asked for.
    #[must_use]
    pub fn attributes(&self, paths: &[String]) -> Vec<Result<String, Error>> {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        ask("Device::attributes", |host| host.attributes(self.number_of(), &paths))
    }

    /// A part of a binary attribute.
    ///
    /// # Errors
    /// See [`Device::attribute`].
    pub fn attribute_bytes(&self, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
        ask("Device::attribute_bytes", |host| host.attribute_bytes(self.number_of(), path, offset, length))
    }

    /// The names in a directory of the device.
    ///
    /// # Errors
    /// See [`Device::attribute`].
    pub fn entries(&self, path: &str) -> Result<Vec<String>, Error> {
        ask("Device::entries", |host| host.entries(self.number_of(), path))
    }

    /// The base name of what a link points to.
    ///
    /// # Errors
    /// See [`Device::attribute`].
    pub fn link(&self, path: &str) -> Result<String, Error> {
        ask("Device::link", |host| host.link(self.number_of(), path))
    }

    /// The device that a link points to, if the policy grants that device too.
    ///
    /// # Errors
    /// See [`Device::attribute`].
    pub fn related(&self, link: &str) -> Result<Self, Error> {
        ask("Device::related", |host| host.related(self.number_of(), link)).map(Self::of_number)
    }

    /// The device above, if the policy grants it.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        ask("Device::parent", |host| host.parent(self.number_of())).map(Self::of_number)
    }

    /// The devices beneath of one subsystem.
    ///
    /// # Errors
    /// See [`Device::attribute`].
    pub fn children(&self, subsystem: &str) -> Result<Vec<Self>, Error> {
        let children = ask("Device::children", |host| host.children(self.number_of(), subsystem))?;
        Ok(children.into_iter().map(Self::of_number).collect())
    }

    /// The nodes of this device and those beneath it that the policy offers.
    ///
    /// # Errors
    /// See [`Device::attribute`].
    pub fn nodes(&self) -> Result<Vec<Node>, Error> {
        let nodes = ask("Device::nodes", |host| host.nodes(self.number_of()))?;
        Ok(nodes.into_iter().map(Node::of_number).collect())
    }
}

impl Node {
    /// Its path on the host.
    #[must_use]
    pub fn path(&self) -> String {
        ask("Node::path", |host| host.node_path(self.number_of()))
    }

    /// Character or block.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        ask("Node::kind", |host| host.node_number(self.number_of())).0
    }

    /// Major and minor number.
    #[must_use]
    pub fn number(&self) -> (u32, u32) {
        let (_, major, minor) = ask("Node::number", |host| host.node_number(self.number_of()));
        (major, minor)
    }

    /// Name and subsystem of the kernel device that it belongs to, if known.
    #[must_use]
    pub fn owner(&self) -> Option<(String, String)> {
        ask("Node::owner", |host| host.node_owner(self.number_of()))
    }
}

impl MountSource {
    /// Its path on the host.
    #[must_use]
    pub fn path(&self) -> String {
        ask("MountSource::path", |host| host.mount_path(self.number_of()))
    }

    /// Whether the policy allows it to be mounted writable.
    #[must_use]
    pub fn writable(&self) -> bool {
        ask("MountSource::writable", |host| host.mount_writable(self.number_of()))
    }
}
