//! Changes of the recorded node, as a test makes them.

use super::Rig;
use devgate_fake_node::Change;

impl Rig {
    /// Changes the node. The host sees it when it looks the next time.
    ///
    /// # Panics
    /// Where that cannot be changed.
    #[track_caller]
    pub fn change(&mut self, change: Change) {
        if let Err(error) = self.node.apply(change) {
            panic!("{error}");
        }
    }

    /// Sets an attribute of a device, which is named by subsystem and kernel name: `pci/0000:1b:00.0`.
    ///
    /// # Panics
    /// Where there is no such device.
    #[track_caller]
    pub fn set(&mut self, device: &str, attribute: &str, value: &str) {
        self.change(Change::SetAttribute {
            location: self.location(device),
            path: attribute.to_owned(),
            value: value.as_bytes().to_vec(),
        });
    }

    /// Lets the kernel answer with an error, such as `EBUSY`, when an attribute is read: until it is set or written.
    ///
    /// # Panics
    /// Where there is no such device, or no such error.
    #[track_caller]
    pub fn fail(&mut self, device: &str, attribute: &str, error: &str) {
        self.change(Change::FailAttribute {
            location: self.location(device),
            path: attribute.to_owned(),
            error: error.to_owned(),
        });
    }

    /// Removes an attribute, a link or a directory of a device.
    ///
    /// # Panics
    /// Where it is not there.
    #[track_caller]
    pub fn remove(&mut self, device: &str, attribute: &str) {
        self.change(Change::RemoveAttribute { location: self.location(device), path: attribute.to_owned() });
    }

    /// Sets a file outside the device tree.
    ///
    /// # Panics
    /// Where no file can be there.
    #[track_caller]
    pub fn file(&mut self, path: &str, text: &str) {
        self.change(Change::SetFile { path: path.to_owned(), value: text.as_bytes().to_vec() });
    }

    /// Takes a device away, with all beneath it.
    ///
    /// # Panics
    /// Where there is no such device.
    #[track_caller]
    pub fn unplug(&mut self, device: &str) {
        let location = self.location(device);
        self.change(Change::RemoveDevice(location));
    }

    /// Adds what a recording describes ([`Change::AddDevices`]).
    ///
    /// # Panics
    /// Where the text is wrong.
    #[track_caller]
    pub fn plug(&mut self, text: &str) {
        self.change(Change::AddDevices(text.to_owned()));
    }

    /// Has the kernel log a line, a second after the last one or, if that is later, now.
    ///
    /// # Panics
    /// Where the text is no line.
    #[track_caller]
    pub fn kernel(&mut self, line: &str) {
        self.said = self.said.saturating_add(1_000_000).max(self.node.now().saturating_mul(1_000));
        self.change(Change::Say { micros: self.said, text: line.to_owned() });
    }

    /// Has a device's driver announce something, in words such as `WEDGED=rebind`, one a line; or in none.
    ///
    /// # Panics
    /// Where there is no such device, or these are no words.
    #[track_caller]
    pub fn announce(&mut self, device: &str, words: &str) {
        self.change(Change::AnnounceWords { location: self.location(device), words: words.to_owned() });
    }

    /// Sets the node's clock, in milliseconds since its start. It stands until it is set again, or the kernel logs a later line.
    pub fn clock(&mut self, millis: u64) {
        self.node.stop_clock(millis);
    }

    /// The place of a device in the tree.
    #[track_caller]
    fn location(&self, device: &str) -> String {
        let Some((subsystem, name)) = device.split_once('/') else {
            panic!("{device}: a device is named by subsystem and kernel name, such as pci/0000:1b:00.0");
        };
        match self.node.device(subsystem, name) {
            Ok(found) => found.location().to_owned(),
            Err(error) => panic!("{device}: {error}"),
        }
    }
}
