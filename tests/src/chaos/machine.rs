//! The recorded node: devices that leave and come back, and whose names a reboot gives to others.

use super::step::Act;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// How many devices there are of each kind. The last kind is shared by replicas.
pub(super) const KINDS: [u32; 3] = [3, 4, 2];
/// The kind whose devices are given to several containers.
pub(super) const SHARED: u32 = 2;
/// How long ago a device may have gone that a pod was given.
const LATELY: Duration = Duration::from_secs(5);
/// How many may share one.
pub(super) const REPLICAS: u32 = 3;

/// A device as a thing, whatever its name is today: kind, and place on the bus.
pub(super) type Hardware = (u32, u32);

/// The node as it is now.
#[derive(Debug, Default, Clone)]
pub(super) struct Machine {
    renumbered: bool,
    /// Which are away, and since when.
    gone: BTreeMap<(u32, u32), Instant>,
}

/// The resource of a kind.
pub(super) fn resource(kind: u32) -> String {
    format!("devgate.dev/chaos{kind}")
}

/// All resources.
pub(super) fn resources() -> impl Iterator<Item = (u32, String)> {
    (0..).take(KINDS.len()).map(|kind| (kind, resource(kind)))
}

/// A policy that offers all of it.
pub(super) fn policy() -> String {
    let mut text = String::from("apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n");
    for (kind, resource) in resources() {
        let _ = write!(
            text,
            "  chaos{kind}:\n    component: {{file: generic.wasm}}\n    resources: [{resource}]\n    hardware:\n      \
             - {{subsystem: chaos{kind}, use: offer, nodes: [{{access: rw}}]}}\n    config:\n      devices:\n        \
             - {{resource: {resource}, subsystem: chaos{kind}}}\n"
        );
        if kind == SHARED {
            let _ = writeln!(text, "    replicas: {REPLICAS}");
        }
    }
    text
}

impl Machine {
    /// What a step does to it; whether it did anything.
    pub(super) fn change(&mut self, act: &Act) -> bool {
        match act {
            Act::Gone(kind, device) => {
                let count = usize::try_from(*kind).ok().and_then(|kind| KINDS.get(kind)).copied().unwrap_or(0);
                *device < count && !self.gone.contains_key(&(*kind, *device)) && {
                    self.gone.insert((*kind, *device), Instant::now());
                    true
                }
            }
            Act::Back => !std::mem::take(&mut self.gone).is_empty(),
            Act::Reboot(renumbered) => {
                self.renumbered = *renumbered;
                self.gone.clear();
                true
            }
            _ => false,
        }
    }

    /// The number in the name of the device at this place of the bus.
    fn number(&self, kind: u32, place: u32) -> u32 {
        // The first two of each kind, so that some devices keep their names.
        match place {
            0 | 1 if self.renumbered && kind != SHARED => 1 - place,
            place => place,
        }
    }

    /// Names of the devices that are there, and what they are.
    pub(super) fn devices(&self, kind: u32) -> BTreeMap<String, Hardware> {
        let count = usize::try_from(kind).ok().and_then(|kind| KINDS.get(kind)).copied().unwrap_or(0);
        let places = (0..count).map(|place| (self.number(kind, place), (kind, place)));
        let there = places.filter(|(number, _)| !self.gone.contains_key(&(kind, *number)));
        there.map(|(number, hardware)| (format!("chaos{kind}-{number}"), hardware)).collect()
    }

    /// What a node's path leads to now.
    pub(super) fn at(&self, path: &str) -> Option<Hardware> {
        let name = path.strip_prefix("/dev/")?;
        let (kind, _) = name.strip_prefix("chaos")?.split_once('-')?;
        self.devices(kind.parse().ok()?).get(name).copied()
    }

    /// The same, also for what went within the last seconds: a pod may have been admitted just before.
    pub(super) fn just_at(&self, path: &str) -> Option<Hardware> {
        let mut lately = self.clone();
        lately.gone.retain(|_, since| since.elapsed() >= LATELY);
        lately.at(path)
    }

    /// Writes the recording, as a whole.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, file: &Path) -> std::io::Result<()> {
        let new = file.with_extension("new");
        std::fs::write(&new, self.recording())?;
        std::fs::rename(new, file)
    }

    fn recording(&self) -> String {
        let mut text = String::new();
        for (kind, _) in resources() {
            for (name, (_, place)) in self.devices(kind) {
                let pci = format!("/devices/pci{kind:04x}:00/{kind:04x}:00:{place:02x}.0");
                let (major, minor) = (240 + kind, name.rsplit('-').next().unwrap_or("0"));
                let _ = write!(
                    text,
                    "P: {pci}\nE: SUBSYSTEM=pci\nE: DRIVER=chaos\nA: vendor=0x1d9b\\n\nA: device=0x{kind:04x}\\n\n\
                     A: class=0x120000\\n\nA: numa_node={}\\n\n\n\
                     P: {pci}/chaos{kind}/{name}\nN: {name}\nE: SUBSYSTEM=chaos{kind}\nE: DEVNAME=/dev/{name}\n\
                     E: MAJOR={major}\nE: MINOR={minor}\nA: dev={major}:{minor}\\n\n\n",
                    place % 2
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reboot_gives_names_to_others_and_back() {
        let mut machine = Machine::default();
        assert_eq!(machine.at("/dev/chaos1-0"), Some((1, 0)));
        assert!(machine.change(&Act::Gone(1, 3)) && !machine.change(&Act::Gone(1, 3)));
        assert!(!machine.change(&Act::Gone(1, 4)));
        assert_eq!(machine.devices(1).len(), 3);
        assert_eq!((machine.at("/dev/chaos1-3"), machine.just_at("/dev/chaos1-3")), (None, Some((1, 3))));
        machine.change(&Act::Reboot(true));
        assert_eq!((machine.at("/dev/chaos1-0"), machine.at("/dev/chaos1-2")), (Some((1, 1)), Some((1, 2))));
        assert_eq!((machine.devices(1).len(), machine.at("/dev/chaos2-0")), (4, Some((2, 0))));
        assert_eq!(machine.at("/dev/null"), None);
        let node = devgate_fake_node::RecordedNode::parse("node", &machine.recording()).unwrap();
        assert!(node.is_recorded());
    }
}
