//! What a recorded node's changes would have been told by: the kernel's messages about devices, inotify, and its log.

use super::change::node_of;
use super::world::{Entries, Entry, World};
use devgate_node::DevicePath;
use devgate_node::Sink;
use devgate_node::path::{base, follow};
use devgate_node::{DeviceAction, DeviceEvent, NodeEvent};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError, Weak};

const DEVICES: &str = "sys/devices/";

/// Who is told.
#[derive(Default)]
pub(crate) struct Watchers(Mutex<Vec<Watcher>>);

struct Watcher {
    kernel_log: bool,
    sink: Weak<dyn Fn(NodeEvent) + Send + Sync>,
}

impl Watchers {
    pub(crate) fn add(&self, kernel_log: bool, sink: &Sink) {
        let mut watchers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| watcher.sink.strong_count() > 0);
        watchers.push(Watcher { kernel_log, sink: std::sync::Arc::downgrade(sink) });
    }

    pub(crate) fn tell(&self, events: &[NodeEvent]) {
        // The lock keeps the events of two changes in order.
        let watchers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for watcher in &*watchers {
            let Some(sink) = watcher.sink.upgrade() else { continue };
            let wanted =
                |event: &&NodeEvent| watcher.kernel_log || !matches!(event, NodeEvent::Line(_) | NodeEvent::Gap);
            events.iter().filter(wanted).cloned().for_each(|event| sink(event));
        }
    }
}

/// What happens between two states: first what goes (children first), then what comes (parents first), then drivers, then what
/// they announce, then files and nodes, then the log.
pub(crate) fn difference(before: &World, after: &World) -> Vec<NodeEvent> {
    let is_device =
        |world: &World, path: &str| path.starts_with(DEVICES) && event(world, path, DeviceAction::Change).is_some();
    let paths: BTreeSet<&str> = before.paths().chain(after.paths()).collect();
    let (mut gone, mut come, mut driven, mut touched) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let (old, new) = (before.entries(path), after.entries(path));
        if old == new {
            continue;
        }
        if !path.starts_with(DEVICES) {
            touched.extend(changed_in(path, old, new));
            continue;
        }
        match (is_device(before, path), is_device(after, path)) {
            (true, false) => gone.extend(event(before, path, DeviceAction::Remove)),
            (false, true) => come.extend(event(after, path, DeviceAction::Add)),
            (true, true) => {
                let driver = |entries: Option<&Entries>| entries.and_then(|entries| entries.get("driver")).cloned();
                let (old, new) = (driver(old), driver(new));
                if old != new {
                    driven.extend(old.and_then(|_| event(before, path, DeviceAction::Unbind)));
                    driven.extend(new.and_then(|_| event(after, path, DeviceAction::Bind)));
                }
            }
            (false, false) => {}
        }
    }
    gone.reverse();
    let said = after.log.strip_prefix(before.log.as_slice());
    let gap = said.is_none().then_some(NodeEvent::Gap);
    let said = said.unwrap_or(&after.log).iter().cloned().map(NodeEvent::Line);
    let announced = after.announced.strip_prefix(before.announced.as_slice()).unwrap_or_default();
    let announced = announced.iter().filter_map(|(location, words)| {
        let mut event = event(after, &format!("{DEVICES}{location}"), DeviceAction::Change)?;
        if let NodeEvent::Device(event) = &mut event {
            let words = words.lines().filter_map(|word| word.split_once('='));
            event.words = words.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        }
        Some(event)
    });
    let devices = gone.into_iter().chain(come).chain(driven).chain(announced);
    devices.chain(touched).chain(gap).chain(said).collect()
}

/// What the kernel would say about the device in a directory; nothing where it is none.
pub(super) fn event(world: &World, path: &str, action: DeviceAction) -> Option<NodeEvent> {
    let entries = world.entries(path)?;
    entries.get("uevent")?;
    let Some(Entry::Link(target)) = entries.get("subsystem") else {
        return None;
    };
    let subsystem = base(&follow(path, target)?).to_owned();
    Some(NodeEvent::Device(DeviceEvent {
        action,
        device: DevicePath::at(path)?,
        subsystem,
        node: node_of(world, path).map(|(node, _)| format!("/{node}")),
        words: Vec::new(),
    }))
}

/// What inotify would say about a directory: nothing under `/proc` and `/sys`.
fn changed_in(directory: &str, old: Option<&Entries>, new: Option<&Entries>) -> Vec<NodeEvent> {
    let beneath =
        |root: &str| directory == root || directory.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
    if beneath("proc") || beneath("sys") {
        return Vec::new();
    }
    let nothing = Entries::new();
    let (old, new) = (old.unwrap_or(&nothing), new.unwrap_or(&nothing));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    let path = |name: &String| match directory {
        "" => format!("/{name}"),
        directory => format!("/{directory}/{name}"),
    };
    changed.map(|name| NodeEvent::Path(path(name))).collect()
}

#[cfg(test)]
mod tests;
