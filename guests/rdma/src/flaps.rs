//! Links that go down again and again: what the ports count (`link_downed`) against what they counted before.
//!
//! Kept in the component's state, so that neither a restart nor the short time between two looks hides a link that comes back
//! at once. A counter that is smaller than before has begun anew: somebody has reset it, the driver was loaded again, or it has
//! run over. One that stays at its largest value (255, where the device counts in eight bits) says nothing any more.

use crate::clock::Moment;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The most ports that are remembered: far more than a node has.
const MAX_PORTS: usize = 512;

/// What is remembered of all ports.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Flaps {
    boot: String,
    /// By device and port: `mlx5_0/1`.
    ports: BTreeMap<String, Known>,
    changed: bool,
}

#[derive(Debug, Default, Clone, PartialEq)]
struct Known {
    /// The counter when it was looked at last.
    count: u64,
    /// When it had risen, in seconds since boot, one entry for each time that the link went down.
    times: Vec<u64>,
}

impl Flaps {
    /// What was stored, as far as it is of this boot: what a counter says after another one is a new beginning.
    pub(crate) fn load(blob: &[u8], now: &Moment) -> Self {
        let mut flaps = parse(blob).unwrap_or_default();
        let later = |known: &Known| known.times.iter().any(|time| *time > now.second);
        if flaps.boot != now.boot || flaps.ports.values().any(later) {
            let changed = !flaps.ports.is_empty();
            flaps = Self { changed, ..Self::default() };
        }
        flaps.boot.clone_from(&now.boot);
        flaps
    }

    /// Takes note of what a port has counted. Returns how often its link went down within the last `window` seconds, and at most
    /// `most`: more are not told apart, and not remembered.
    pub(crate) fn note(&mut self, port: &str, count: u64, now: u64, window: u64, most: u64) -> u64 {
        if !self.ports.contains_key(port) && self.ports.len() >= MAX_PORTS {
            return 0;
        }
        let (first, before) = match self.ports.get(port) {
            Some(known) => (false, known.clone()),
            None => (true, Known { count, times: Vec::new() }),
        };
        let mut times = before.times.clone();
        let risen = count.saturating_sub(before.count);
        for _ in 0..risen.min(most) {
            times.push(now);
        }
        times.retain(|time| time.saturating_add(window) > now);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let over = times.len().saturating_sub(most);
        times.drain(..over);
        let known = Known { count, times };
        let flaps = known.times.len() as u64;
        self.changed |= first || known != before;
        self.ports.insert(port.to_owned(), known);
        flaps
    }

    /// What is to be stored, if anything is new.
    pub(crate) fn changed(&self) -> Option<Vec<u8>> {
        if !self.changed {
            return None;
        }
        let port = |(name, known): (&String, &Known)| (name.clone(), json!([known.count, known.times]));
        let ports: Map<String, Value> = self.ports.iter().map(port).collect();
        Some(json!({"boot": self.boot, "ports": ports}).to_string().into_bytes())
    }
}

fn parse(blob: &[u8]) -> Option<Flaps> {
    // As text and not as bytes, for which there would be a second parser in the component.
    let value: Value = str::from_utf8(blob).ok()?.parse().ok()?;
    let mut flaps = Flaps { boot: value.get("boot")?.as_str()?.to_owned(), ..Flaps::default() };
    for (name, port) in value.get("ports")?.as_object()? {
        let times = port.get(1)?.as_array()?.iter().map(Value::as_u64);
        let known = Known { count: port.get(0)?.as_u64()?, times: times.collect::<Option<_>>()? };
        flaps.ports.insert(name.clone(), known);
    }
    Some(flaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(boot: &str, second: u64) -> Moment {
        Moment { boot: boot.to_owned(), second }
    }

    fn fresh() -> Flaps {
        Flaps::load(b"", &at("one", 100))
    }

    #[test]
    fn what_was_counted_before_the_first_look_is_the_beginning() {
        let mut flaps = fresh();
        assert_eq!(flaps.note("mlx5_0/1", 17, 100, 60, 9), 0);
        assert_eq!(flaps.note("mlx5_0/1", 17, 101, 60, 9), 0);
        assert_eq!(flaps.note("mlx5_0/1", 18, 102, 60, 9), 1);
        assert_eq!(flaps.note("mlx5_0/1", 20, 110, 60, 9), 3);
        assert_eq!(flaps.note("mlx5_1/1", 20, 110, 60, 9), 0, "another device");
        assert_eq!(flaps.note("mlx5_10/1", 21, 110, 60, 9), 0, "and one whose name begins alike");
    }

    #[test]
    fn what_is_past_the_window_does_not_count() {
        let mut flaps = fresh();
        flaps.note("a/1", 0, 100, 60, 9);
        assert_eq!(flaps.note("a/1", 2, 100, 60, 9), 2);
        assert_eq!(flaps.note("a/1", 3, 130, 60, 9), 3);
        assert_eq!(flaps.note("a/1", 3, 159, 60, 9), 3);
        assert_eq!(flaps.note("a/1", 3, 160, 60, 9), 1);
        assert_eq!(flaps.note("a/1", 3, 190, 60, 9), 0);
    }

    #[test]
    fn a_counter_that_begins_anew_is_no_flap() {
        let mut flaps = fresh();
        flaps.note("a/1", 254, 100, 60, 9);
        assert_eq!(flaps.note("a/1", 0, 101, 60, 9), 0, "reset, or run over");
        assert_eq!(flaps.note("a/1", 1, 102, 60, 9), 1);
        assert_eq!(flaps.note("a/1", 0, 103, 60, 9), 1, "what happened stays");
        assert_eq!(flaps.note("a/1", u64::MAX, 104, 60, 9), 9, "no more are told apart");
    }

    #[test]
    fn it_is_kept_over_a_restart_and_not_over_a_boot() {
        let mut flaps = fresh();
        flaps.note("a/1", 5, 100, 600, 9);
        flaps.note("a/1", 7, 120, 600, 9);
        let blob = flaps.changed().unwrap();
        let mut again = Flaps::load(&blob, &at("one", 130));
        assert_eq!(again.note("a/1", 7, 130, 600, 9), 2);
        assert_eq!(again.changed(), None, "nothing is new, so nothing is stored");
        let mut booted = Flaps::load(&blob, &at("two", 500));
        assert_eq!(booted.note("a/1", 9, 500, 600, 9), 0);
        assert!(booted.changed().is_some());
        // Without a boot's id an earlier time than before tells it.
        let mut earlier = Flaps::load(&blob, &at("one", 90));
        assert_eq!(earlier.note("a/1", 9, 90, 600, 9), 0);
    }

    #[test]
    fn what_cannot_be_understood_is_a_new_beginning() {
        for blob in [
            "{",
            "[]",
            r#"{"boot": "one"}"#,
            r#"{"boot": "one", "ports": {"a/1": [1]}}"#,
            r#"{"boot": "one", "ports": {"a/1": ["1", []]}}"#,
        ] {
            assert_eq!(Flaps::load(blob.as_bytes(), &at("one", 1)).ports, BTreeMap::new(), "{blob}");
        }
    }

    #[test]
    fn there_are_not_more_ports_than_are_remembered() {
        let mut flaps = fresh();
        for n in 0..512 {
            flaps.note(&format!("a{n}/1"), 0, 100, 60, 9);
        }
        flaps.note("b/1", 0, 100, 60, 9);
        assert_eq!(flaps.note("b/1", 9, 101, 60, 9), 0);
        assert_eq!(flaps.note("a0/1", 9, 101, 60, 9), 9);
    }
}
