//! What the component asks of the machine, as traits: the host's answers in a component, made-up ones in tests.

use devgate_sdk::{Device, Error, Node, hardware, host_paths};

/// Where devices and nodes come from.
pub(crate) trait Machine {
    /// One kernel device.
    type Device: KernelDevice<Node = Self::Node>;
    /// One node under `/dev`.
    type Node: DeviceNode;

    /// All granted devices of a subsystem.
    fn devices(&self, subsystem: &str) -> Result<Vec<Self::Device>, Error>;
    /// The node at a path that the policy lists.
    fn node_at(&self, path: &str) -> Result<Self::Node, Error>;
}

/// What is looked at of a device; the methods mean what those of the contract's `device` mean.
pub(crate) trait KernelDevice {
    type Node;

    fn name(&self) -> String;
    fn subsystem(&self) -> String;
    fn driver(&self) -> Option<String>;
    fn location(&self) -> String;
    fn attribute(&self, path: &str) -> Result<String, Error>;
    fn nodes(&self) -> Result<Vec<Self::Node>, Error>;
}

/// What is looked at of a node.
pub(crate) trait DeviceNode {
    fn path(&self) -> String;
    fn number(&self) -> (u32, u32);
}

/// The machine that the component runs on, as far as the policy grants it.
pub(crate) struct Host;

impl Machine for Host {
    type Device = Device;
    type Node = Node;

    fn devices(&self, subsystem: &str) -> Result<Vec<Device>, Error> {
        hardware::devices(subsystem)
    }

    fn node_at(&self, path: &str) -> Result<Node, Error> {
        host_paths::node_at(path)
    }
}

impl KernelDevice for Device {
    type Node = Node;

    fn name(&self) -> String {
        Device::name(self)
    }

    fn subsystem(&self) -> String {
        Device::subsystem(self)
    }

    fn driver(&self) -> Option<String> {
        Device::driver(self)
    }

    fn location(&self) -> String {
        Device::location(self)
    }

    fn attribute(&self, path: &str) -> Result<String, Error> {
        Device::attribute(self, path)
    }

    fn nodes(&self) -> Result<Vec<Node>, Error> {
        Device::nodes(self)
    }
}

impl DeviceNode for Node {
    fn path(&self) -> String {
        Node::path(self)
    }

    fn number(&self) -> (u32, u32) {
        Node::number(self)
    }
}

/// A machine made up for tests.
#[cfg(test)]
pub(crate) mod fake {
    use super::*;
    use devgate_sdk::ErrorKind;
    use std::collections::BTreeMap;

    #[derive(Debug, Clone, Default)]
    pub(crate) struct Fake {
        pub(crate) devices: Vec<FakeDevice>,
        pub(crate) paths: Vec<FakeNode>,
        /// Whether listing devices fails.
        pub(crate) failing: bool,
        /// Whether the policy grants no nodes by path.
        pub(crate) no_paths: bool,
    }

    #[derive(Debug, Clone, Default)]
    pub(crate) struct FakeDevice {
        pub(crate) subsystem: &'static str,
        pub(crate) name: &'static str,
        pub(crate) driver: Option<&'static str>,
        pub(crate) attributes: BTreeMap<&'static str, Result<&'static str, ErrorKind>>,
        pub(crate) nodes: Vec<FakeNode>,
    }

    #[derive(Debug, Clone, PartialEq)]
    pub(crate) struct FakeNode(pub(crate) &'static str, pub(crate) u32);

    impl FakeDevice {
        pub(crate) fn new(subsystem: &'static str, name: &'static str, nodes: &[(&'static str, u32)]) -> Self {
            let nodes = nodes.iter().map(|(path, minor)| FakeNode(path, *minor)).collect();
            Self { subsystem, name, nodes, ..Self::default() }
        }

        pub(crate) fn with(mut self, attribute: &'static str, value: Result<&'static str, ErrorKind>) -> Self {
            self.attributes.insert(attribute, value);
            self
        }

        pub(crate) fn driven_by(mut self, driver: &'static str) -> Self {
            self.driver = Some(driver);
            self
        }
    }

    impl Machine for Fake {
        type Device = FakeDevice;
        type Node = FakeNode;

        fn devices(&self, subsystem: &str) -> Result<Vec<FakeDevice>, Error> {
            if self.failing {
                return Err(Error::busy("the device tree is being read"));
            }
            Ok(self.devices.iter().filter(|device| device.subsystem == subsystem).cloned().collect())
        }

        fn node_at(&self, path: &str) -> Result<FakeNode, Error> {
            if self.no_paths {
                return Err(Error::not_granted("host-paths"));
            }
            let node = self.paths.iter().find(|node| node.0 == path).cloned();
            node.ok_or_else(|| Error::not_found(format!("{path}: nothing is there")))
        }
    }

    impl KernelDevice for FakeDevice {
        type Node = FakeNode;

        fn name(&self) -> String {
            self.name.to_owned()
        }

        fn subsystem(&self) -> String {
            self.subsystem.to_owned()
        }

        fn driver(&self) -> Option<String> {
            self.driver.map(str::to_owned)
        }

        fn location(&self) -> String {
            format!("virtual/{}/{}", self.subsystem, self.name)
        }

        fn attribute(&self, path: &str) -> Result<String, Error> {
            match self.attributes.get(path) {
                Some(Ok(value)) => Ok((*value).to_owned()),
                Some(Err(kind)) => Err(Error::new(*kind, format!("attribute {path}: cannot be read"))),
                None => Err(Error::not_found(format!("attribute {path}: no such attribute"))),
            }
        }

        fn nodes(&self) -> Result<Vec<FakeNode>, Error> {
            Ok(self.nodes.clone())
        }
    }

    impl DeviceNode for FakeNode {
        fn path(&self) -> String {
            self.0.to_owned()
        }

        fn number(&self) -> (u32, u32) {
            (10, self.1)
        }
    }
}
