//! The recorded node of a scenario: changed in memory, and handed to the host that plays it as a file.

use anyhow::{Context, bail};
use devgate_fake_node::{Change, RecordedNode};
use devgate_node::DevicePath;
use devgate_types::{NodeKind, NodeNumber};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// A node and what was taken from it.
pub(super) struct Hardware {
    node: RecordedNode,
    /// By the name under which it was unplugged: what puts it back.
    unplugged: BTreeMap<String, Vec<Change>>,
    begun: Instant,
}

impl Hardware {
    /// From a recording.
    pub(super) fn open(recording: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            node: RecordedNode::open(recording)?,
            unplugged: BTreeMap::new(),
            begun: Instant::now(),
        })
    }

    /// All of it, for the host to read.
    pub(super) fn text(&self) -> anyhow::Result<String> {
        Ok(self.node.text()?)
    }

    /// One change.
    pub(super) fn apply(&self, change: Change) -> anyhow::Result<()> {
        Ok(self.node.apply(change)?)
    }

    /// The location of a device that is named by subsystem and name, or by its path in `/sys`.
    pub(super) fn location(&self, name: &str) -> anyhow::Result<String> {
        let path = name.strip_prefix("/sys").unwrap_or(name);
        if let Some(location) = path.strip_prefix("/devices/") {
            return Ok(location.to_owned());
        }
        let Some((subsystem, device)) = name.split_once('/') else {
            bail!("device {name}: must be SUBSYSTEM/NAME, such as pci/0000:00:02.0, or /devices/…");
        };
        let found = self
            .node
            .device(subsystem, device)
            .map(|device| DevicePath::location(&device).to_owned());
        found.map_err(|error| anyhow::anyhow!("device {name}: {error}"))
    }

    /// Takes a device away, with all that is beneath it.
    pub(super) fn unplug(&mut self, name: &str) -> anyhow::Result<()> {
        let undo = self.node.unplug(&self.location(name)?)?;
        self.unplugged.insert(name.to_owned(), undo);
        Ok(())
    }

    /// Puts back what was taken away under this name.
    pub(super) fn plug_again(&mut self, name: &str) -> anyhow::Result<()> {
        let Some(undo) = self.unplugged.remove(name) else {
            bail!("device {name}: was not unplugged under this name");
        };
        undo.into_iter().try_for_each(|change| self.apply(change))
    }

    /// The driver or the kernel says something, at this moment of the scenario.
    pub(super) fn say(&self, text: &str) -> anyhow::Result<()> {
        let said = self.node.log_lines()?;
        // A recording may come from a node that has run for longer.
        let last = said.last().map(|line| line.micros);
        let since = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let micros = last.map_or(since, |last| since.max(last.saturating_add(1)));
        self.apply(Change::Say {
            micros,
            text: text.to_owned(),
        })
    }

    /// A node that belongs to no device; its number is written `c 195:0`.
    pub(super) fn add_node(&self, path: &str, number: &str) -> anyhow::Result<()> {
        let parsed = number.split_once(' ').and_then(|(kind, number)| {
            let (major, minor) = number.split_once(':')?;
            let kind = match kind {
                "c" => NodeKind::Character,
                "b" => NodeKind::Block,
                _ => return None,
            };
            Some(NodeNumber {
                kind,
                major: major.parse().ok()?,
                minor: minor.parse().ok()?,
            })
        });
        let number = parsed.with_context(|| {
            format!("node {path}: number must be c or b, a space, and major:minor, such as \"c 195:0\"")
        })?;
        self.apply(Change::AddNode {
            path: path.to_owned(),
            number,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_comes_after_what_a_recording_says() {
        let dir = tempfile::tempdir().unwrap();
        let recording = dir.path().join("node.umockdev");
        let late = u64::MAX - 1_000;
        for line in [format!("K: {late} before\n"), format!("E: DEVGATE=K: {late} before\n")] {
            std::fs::write(&recording, format!("P: /devices/x\nE: SUBSYSTEM=misc\n{line}")).unwrap();
            let hardware = Hardware::open(&recording).unwrap();
            hardware.say("first").unwrap();
            hardware.say("second").unwrap();
            let said = hardware.node.log_lines().unwrap();
            let said: Vec<_> = said
                .iter()
                .map(|line| (line.micros - late, line.text.as_str()))
                .collect();
            assert_eq!(said, [(0, "before"), (1, "first"), (2, "second")]);
        }
        std::fs::write(&recording, "P: /devices/x\nE: SUBSYSTEM=misc\n").unwrap();
        let hardware = Hardware::open(&recording).unwrap();
        hardware.say("only").unwrap();
        assert!(
            hardware.node.log_lines().unwrap()[0].micros < 60_000_000,
            "since the start"
        );
    }
}
