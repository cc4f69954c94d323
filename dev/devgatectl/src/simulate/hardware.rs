//! The recorded node of a scenario: changed in memory, and handed to the host that plays it as a file.

use anyhow::bail;
use devgate_fake_node::{Change, RecordedNode};
use devgate_node::DevicePath;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// A node and what was taken from it.
pub(super) struct Hardware {
    node: RecordedNode,
    /// By the name under which it was unplugged: what puts it back.
    unplugged: BTreeMap<String, Vec<Change>>,
}

impl Hardware {
    /// From a recording.
    pub(super) fn open(recording: &Path) -> anyhow::Result<Self> {
        Ok(Self { node: RecordedNode::open(recording)?, unplugged: BTreeMap::new() })
    }

    /// All of it, for the host to read.
    pub(super) fn text(&self) -> anyhow::Result<String> {
        Ok(self.node.text()?)
    }

    /// One change, in which a device is named as [`Self::location`] takes it; a line of the log is said now.
    pub(super) fn apply(&mut self, mut change: Change) -> anyhow::Result<()> {
        match &mut change {
            Change::SetAttribute { location, .. }
            | Change::FailAttribute { location, .. }
            | Change::RemoveAttribute { location, .. }
            | Change::SetLink { location, .. }
            | Change::AnnounceWords { location, .. }
            | Change::Announce(location) => *location = self.location(location)?,
            Change::RemoveDevice(name) => {
                let undo = self.node.unplug(&self.location(name)?)?;
                self.unplugged.insert(std::mem::take(name), undo);
                return Ok(());
            }
            Change::Say { micros, .. } => {
                // Of two lines in one millisecond, the second is not the older one.
                let last = self.node.events().log_lines()?.last().map_or(0, |line| line.micros.saturating_add(1));
                *micros = self.node.now().saturating_mul(1_000).max(last);
            }
            _ => {}
        }
        Ok(self.node.apply(change)?)
    }

    /// Puts back what was unplugged under this name.
    pub(super) fn plug_again(&mut self, name: &str) -> anyhow::Result<()> {
        let Some(undo) = self.unplugged.remove(name) else {
            bail!("device {name}: was not unplugged under this name");
        };
        undo.into_iter().try_for_each(|change| Ok(self.node.apply(change)?))
    }

    /// Lets it be so much later; a host that starts now goes on from there.
    pub(super) fn pass(&mut self, time: Duration) -> anyhow::Result<()> {
        let more = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Ok(self.node.apply(Change::Clock(self.node.now().saturating_add(more)))?)
    }

    /// The location of a device that is named by subsystem and name, or by its path in `/sys`.
    fn location(&self, name: &str) -> anyhow::Result<String> {
        let path = name.strip_prefix("/sys").unwrap_or(name);
        if let Some(location) = path.strip_prefix("/devices/") {
            return Ok(location.to_owned());
        }
        let Some((subsystem, device)) = name.split_once('/') else {
            bail!("device {name}: must be SUBSYSTEM/NAME, such as pci/0000:00:02.0, or /devices/…");
        };
        let found = self.node.device(subsystem, device).map(|device| DevicePath::location(&device).to_owned());
        found.map_err(|error| anyhow::anyhow!("device {name}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(text: &str) -> Change {
        Change::Say { micros: 0, text: text.to_owned() }
    }

    #[test]
    fn what_is_said_comes_after_what_a_recording_says() {
        let dir = tempfile::tempdir().unwrap();
        let recording = dir.path().join("node.umockdev");
        let late = u64::MAX - 1_000;
        for line in [format!("K: {late} before\n"), format!("E: DEVGATE=K: {late} before\n")] {
            std::fs::write(&recording, format!("P: /devices/x\nE: SUBSYSTEM=misc\n{line}")).unwrap();
            let mut hardware = Hardware::open(&recording).unwrap();
            hardware.apply(say("first")).unwrap();
            hardware.apply(say("second")).unwrap();
            let said = hardware.node.events().log_lines().unwrap();
            assert!(said.iter().all(|line| line.micros >= late) && said.is_sorted_by_key(|line| line.micros));
            let said: Vec<_> = said.iter().map(|line| line.text.as_str()).collect();
            assert_eq!(said, ["before", "first", "second"]);
        }
        std::fs::write(&recording, "P: /devices/x\nE: SUBSYSTEM=misc\n").unwrap();
        let mut hardware = Hardware::open(&recording).unwrap();
        hardware.apply(say("only")).unwrap();
        assert!(hardware.node.events().log_lines().unwrap()[0].micros < 60_000_000, "since the start");
    }

    #[test]
    fn a_host_that_starts_anew_goes_on_where_the_node_is() {
        let dir = tempfile::tempdir().unwrap();
        let recording = dir.path().join("node.umockdev");
        std::fs::write(&recording, "P: /devices/x\nE: SUBSYSTEM=misc\nK: 7000000 before\n").unwrap();
        let mut hardware = Hardware::open(&recording).unwrap();
        hardware.pass(Duration::from_secs(660)).unwrap();
        std::fs::write(&recording, hardware.text().unwrap()).unwrap();
        let now = RecordedNode::open(&recording).unwrap().now();
        assert!((667_000..727_000).contains(&now), "{now}");
        hardware.apply(say("after")).unwrap();
        assert!(hardware.node.events().log_lines().unwrap()[1].micros >= 667_000_000);
    }
}
