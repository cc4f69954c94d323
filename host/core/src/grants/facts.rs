//! What selectors ask of a device.

use devgate_node::{DevicePath, Node, ReadError, Subsystem};
use devgate_policy::DeviceFacts;
use std::cell::OnceCell;

/// A device as selectors look at it: each fact is read when it is asked for, and its subsystem once.
pub(super) struct Facts<'a> {
    pub(super) node: &'a Node,
    pub(super) device: &'a DevicePath,
    pub(super) subsystem: OnceCell<Result<Option<Subsystem>, ReadError>>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(node: &'a Node, device: &'a DevicePath) -> Self {
        Self { node, device, subsystem: OnceCell::new() }
    }

    /// What the node answers to the question for its subsystem.
    pub(super) fn asked(&self) -> &Result<Option<Subsystem>, ReadError> {
        self.subsystem.get_or_init(|| self.node.subsystem(self.device))
    }

    pub(super) fn is_bus(&self) -> bool {
        matches!(self.asked(), Ok(Some(subsystem)) if subsystem.is_bus)
    }
}

impl DeviceFacts for Facts<'_> {
    fn subsystem(&self) -> &str {
        match self.asked() {
            Ok(Some(subsystem)) => &subsystem.name,
            Ok(None) | Err(_) => "",
        }
    }

    fn name(&self) -> &str {
        self.device.name()
    }

    fn driver(&self) -> Option<String> {
        self.node.driver(self.device)
    }

    fn attribute(&self, path: &str) -> Option<String> {
        devgate_policy::attribute_rule(path).ok()?;
        let bytes = self.node.attribute(self.device, path, 4096).ok()?;
        Some(String::from_utf8(bytes).ok()?.trim_end().to_owned())
    }
}
