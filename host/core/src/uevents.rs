//! What drivers have announced of devices since the host started: the words of the kernel's messages, for components that hold them.
//!
//! Kept for all plugins at once, so that a reload forgets nothing. A component is told only of a device that it holds.

use devgate_node::{DeviceAction, DeviceEvent, DevicePath, NodeEvent};
use devgate_types::component::Uevent;
use devgate_types::{Failure, FailureKind, Mutex, Property};
use std::collections::{BTreeMap, VecDeque};

/// The most events of a device, as the contract says.
const MAX_EVENTS: usize = 16;
/// The most words of an event and the longest name, as the contract says, and the bytes that the kernel has for all
/// (`UEVENT_BUFFER_SIZE`).
const MAX_WORDS: usize = 64;
const MAX_NAME: usize = 128;
const MAX_BYTES: usize = 2_048;
/// The most devices: that of which nothing was heard for longest is forgotten for another one.
const MAX_DEVICES: usize = 1_024;

/// What was heard.
#[derive(Default)]
pub(crate) struct Uevents(Mutex<Heard>);

#[derive(Default)]
struct Heard {
    devices: BTreeMap<DevicePath, VecDeque<Uevent>>,
    /// Why nothing is heard, if so.
    off: Option<String>,
}

impl Uevents {
    /// The events of a device, oldest first. Fails where none is ever heard.
    pub(crate) fn of(&self, device: &DevicePath) -> Result<Vec<Uevent>, Failure> {
        let heard = self.0.lock();
        match (&heard.off, heard.devices.get(device)) {
            (Some(why), _) => {
                let message = format!("uevents: this host is not told of them: {why}");
                Err(Failure::new(FailureKind::Unsupported, message))
            }
            (None, events) => Ok(events.into_iter().flatten().cloned().collect()),
        }
    }

    /// Says why nothing is heard, if so.
    pub(crate) fn listens(&self, off: Option<&str>) {
        self.0.lock().off = off.map(str::to_owned);
    }

    /// Forgets what an event puts an end to: what was announced of a device that goes or comes, and, where events were lost, all.
    pub(crate) fn forget(&self, event: &NodeEvent) {
        let mut heard = self.0.lock();
        match event {
            NodeEvent::Device(event) if matches!(event.action, DeviceAction::Add | DeviceAction::Remove) => {
                let gone = &event.device;
                heard.devices.retain(|device, _| device != gone && !device.is_beneath(gone));
            }
            NodeEvent::Lost => heard.devices.clear(),
            _ => {}
        }
    }

    /// Keeps what a driver says of a change.
    pub(crate) fn keep(&self, event: &DeviceEvent, millis: u64) {
        let words = bounded(&event.words);
        if event.action != DeviceAction::Change || words.is_empty() {
            return;
        }
        let mut heard = self.0.lock();
        if heard.devices.len() >= MAX_DEVICES && !heard.devices.contains_key(&event.device) {
            let last = |events: &VecDeque<Uevent>| events.back().map(|event| event.millis);
            let quietest = heard.devices.iter().min_by_key(|(_, events)| last(events));
            let quietest = quietest.map(|(device, _)| device.clone());
            quietest.and_then(|device| heard.devices.remove(&device));
        }
        let events = heard.devices.entry(event.device.clone()).or_default();
        // A driver that says the same again and again leaves what it has said besides.
        events.retain(|known| known.words != words);
        events.push_back(Uevent { millis, words });
        if events.len() > MAX_EVENTS {
            events.pop_front();
        }
    }
}

/// As many words as are kept, each name once.
fn bounded(words: &[(String, String)]) -> Vec<Property> {
    let (mut kept, mut bytes): (Vec<Property>, usize) = (Vec::new(), 0);
    for (name, value) in words {
        bytes = bytes.saturating_add(name.len()).saturating_add(value.len());
        if kept.len() >= MAX_WORDS || bytes > MAX_BYTES {
            break;
        }
        if !name.is_empty() && name.len() <= MAX_NAME && kept.iter().all(|word| word.name != *name) {
            kept.push(Property { name: name.clone(), value: value.clone() });
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str) -> DevicePath {
        DevicePath::at(&format!("sys/devices/{name}")).unwrap()
    }

    fn event(action: DeviceAction, name: &str, words: &[(&str, &str)]) -> DeviceEvent {
        let words = words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        DeviceEvent { action, device: device(name), subsystem: "drm".into(), node: None, words }
    }

    fn say(uevents: &Uevents, name: &str, word: &str, millis: u64) {
        uevents.keep(&event(DeviceAction::Change, name, &[("SAYS", word)]), millis);
    }

    /// The words of a device, with their times.
    fn said(uevents: &Uevents, name: &str) -> String {
        let one = |event: Uevent| format!("{} {}", event.millis, event.words[0].value);
        uevents.of(&device(name)).unwrap().into_iter().map(one).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_last_of_each_kind_are_kept_newest_last() {
        let uevents = Uevents::default();
        say(&uevents, "a", "wedged", 1);
        for n in 0..1_000 {
            say(&uevents, "a", "hotplug", 2 + n);
        }
        assert_eq!(said(&uevents, "a"), "1 wedged, 1001 hotplug");
        say(&uevents, "a", "wedged", 2_000);
        assert_eq!(said(&uevents, "a"), "1001 hotplug, 2000 wedged");
        assert_eq!(said(&uevents, "b"), "");
        for n in 0..20 {
            say(&uevents, "a", &n.to_string(), 3_000);
        }
        assert!(said(&uevents, "a").starts_with("3000 4, ") && said(&uevents, "a").ends_with(", 3000 19"));
        assert_eq!(uevents.of(&device("a")).unwrap().len(), MAX_EVENTS);
    }

    #[test]
    fn what_goes_or_comes_begins_anew_with_all_beneath() {
        for action in [DeviceAction::Remove, DeviceAction::Add] {
            let uevents = Uevents::default();
            for name in ["a", "a/b", "a-b", "c"] {
                say(&uevents, name, "x", 1);
            }
            uevents.forget(&NodeEvent::Device(event(action, "a", &[])));
            assert_eq!(["a", "a/b", "a-b", "c"].map(|name| said(&uevents, name)), ["", "", "1 x", "1 x"]);
            uevents.forget(&NodeEvent::Device(event(DeviceAction::Change, "c", &[])));
            uevents.forget(&NodeEvent::Device(event(DeviceAction::Unbind, "c", &[])));
            assert_eq!(said(&uevents, "c"), "1 x");
            uevents.forget(&NodeEvent::Lost);
            assert_eq!(said(&uevents, "c"), "");
        }
    }

    #[test]
    fn only_changes_in_words_count_and_not_endlessly_many() {
        let uevents = Uevents::default();
        uevents.keep(&event(DeviceAction::Bind, "a", &[("A", "b")]), 1);
        uevents.keep(&event(DeviceAction::Change, "a", &[]), 1);
        assert!(uevents.of(&device("a")).unwrap().is_empty());
        let (long, name) = ("x".repeat(2_000), "n".repeat(129));
        uevents.keep(&event(DeviceAction::Change, "a", &[("A", "1"), (&name, "2"), ("A", "3"), ("B", &long)]), 1);
        let words = &uevents.of(&device("a")).unwrap()[0].words;
        assert_eq!(words.iter().map(|word| word.name.as_str()).collect::<Vec<_>>(), ["A"]);
        for n in 0..2_000 {
            say(&uevents, &format!("d{n}"), "x", 10 + n);
        }
        assert_eq!(uevents.0.lock().devices.len(), MAX_DEVICES);
        assert_eq!(said(&uevents, "d975"), "", "the quietest go first");
        assert_eq!(said(&uevents, "d976"), "986 x");
    }

    #[test]
    fn a_host_that_hears_nothing_says_so() {
        let uevents = Uevents::default();
        uevents.listens(Some("no socket"));
        let failure = uevents.of(&device("a")).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unsupported);
        assert_eq!(failure.message, "uevents: this host is not told of them: no socket");
        uevents.listens(None);
        assert_eq!(uevents.of(&device("a")), Ok(vec![]));
    }
}
