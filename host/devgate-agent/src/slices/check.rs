//! What the API server would refuse of a device. One device that is wrong would cost all that are in its slice.

use super::MAX_COUNTERS;
use super::name::{is_identifier, is_label, is_subdomain, is_word};
use devgate_agent_protocol::{Counters, Device, Taint, Takes, Value};
use std::collections::BTreeMap;
use std::collections::HashSet;
use std::fmt;

/// Attributes and capacities of a device together.
const FACTS: usize = 32;
const TAINTS: usize = 16;
/// Bytes of an attribute's text or version.
const TEXT: usize = 64;
/// Characters of a driver's name, and of the domain before an attribute's.
const DOMAIN: usize = 63;

/// Devices that are left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rejected {
    first: Option<String>,
    more: usize,
}

impl Rejected {
    fn add(&mut self, why: String) {
        match self.first {
            None => self.first = Some(why),
            Some(_) => self.more += 1,
        }
    }

    /// One line for people, if there are any.
    pub(crate) fn line(&self) -> Option<String> {
        self.first.as_ref().map(|_| self.to_string())
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}; it is left out", self.first.as_deref().unwrap_or_default())?;
        match self.more {
            0 => Ok(()),
            more => write!(to, ", and so are {more} more devices"),
        }
    }
}

/// Whether it may be a driver's name.
pub(crate) fn is_driver(name: &str) -> bool {
    is_subdomain(name, DOMAIN)
}

/// Those that the API server takes, in their order, and what is wrong with the others. Sets of counters that it would not take go.
pub(crate) fn check(devices: Vec<Device>, counters: &mut Counters) -> (Vec<Device>, Rejected) {
    counters.retain(|name, counters| {
        is_label(name) && (1..=MAX_COUNTERS).contains(&counters.len()) && are_amounts(counters)
    });
    let (mut names, mut rejected) = (HashSet::new(), Rejected::default());
    let mut good = Vec::with_capacity(devices.len());
    for device in devices {
        let wrong = wrong(&device).or_else(|| wrong_takes(device.takes.as_ref()?, counters)).or_else(|| {
            let is_new = names.insert(device.name.clone());
            (!is_new).then(|| "another device has this name".to_owned())
        });
        match wrong {
            None => good.push(device),
            Some(why) => rejected.add(format!("device {}: {why}", devgate_types::escape(&device.name, 64))),
        }
    }
    (good, rejected)
}

fn wrong(device: &Device) -> Option<String> {
    if !is_label(&device.name) {
        return Some("its name is no DNS label".to_owned());
    }
    let facts = device.attributes.len() + device.capacity.len() + usize::from(device.shares.is_some());
    if facts > FACTS {
        return Some(format!("has {facts} attributes and capacities, and may have {FACTS}"));
    }
    if device.taints.len() > TAINTS {
        return Some(format!("has {} taints, and may have {TAINTS}", device.taints.len()));
    }
    let shown = |name: &str| devgate_types::escape(name, 128);
    let named = device.attributes.keys().chain(device.capacity.keys()).find(|name| !is_fact(name));
    if let Some(name) = named {
        return Some(format!("{} is no name of an attribute or a capacity", shown(name)));
    }
    let value = device.attributes.iter().find_map(|(name, value)| Some((name, wrong_value(value)?)));
    if let Some((name, why)) = value {
        return Some(format!("attribute {}: {why}", shown(name)));
    }
    // The API server would make it the greatest that it knows.
    if let Some((name, _)) = device.capacity.iter().find(|(_, amount)| i64::try_from(**amount).is_err()) {
        return Some(format!("capacity {}: is more than {}", shown(name), i64::MAX));
    }
    let taint = device.taints.iter().find(|taint| !is_taint(taint))?;
    Some(format!("taint {}: its key or value is none of a label", shown(&taint.key)))
}

fn are_amounts(of: &BTreeMap<String, u64>) -> bool {
    of.iter().all(|(name, amount)| is_label(name) && i64::try_from(*amount).is_ok())
}

fn wrong_takes(takes: &Takes, counters: &Counters) -> Option<String> {
    let set = devgate_types::escape(&takes.set, 64);
    let Some(there) = counters.get(&takes.set) else {
        return Some(format!("takes from the counters {set}, which there are not"));
    };
    let is_there = |(name, amount): (&String, &u64)| there.get(name).is_some_and(|most| amount <= most);
    let is_good = !takes.amounts.is_empty() && takes.amounts.iter().all(is_there);
    (!is_good).then(|| format!("takes more from the counters {set} than there is"))
}

fn is_fact(name: &str) -> bool {
    match name.split_once('/') {
        None => is_identifier(name),
        Some((domain, name)) => is_subdomain(domain, DOMAIN) && is_identifier(name),
    }
}

fn wrong_value(value: &Value) -> Option<&'static str> {
    match value {
        Value::Int(_) | Value::Bool(_) => None,
        Value::String(text) => (text.len() > TEXT).then_some("is longer than 64 bytes"),
        Value::Version(text) if text.len() > TEXT => Some("is longer than 64 bytes"),
        Value::Version(text) => (!is_version(text)).then_some("is no version of semver 2.0, such as 1.2.3"),
    }
}

/// Of semver 2.0: three numbers, and words behind `-` and `+`.
fn is_version(text: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let is_digits = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
    let is_number = |word: &str| is_digits(word) && (word == "0" || !word.starts_with('0'));
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, before) = text.split_once('-').map_or((text, None), |(core, before)| (core, Some(before)));
    let numbers: Vec<_> = core.split('.').collect();
    numbers.len() == 3
        // What reads it in a scheduler has 64 bits.
        && numbers.iter().all(|number| is_number(number) && number.parse::<u64>().is_ok())
        && build.is_none_or(|build| build.split('.').all(is_word))
        && before
            .is_none_or(|before| before.split('.').all(|word| is_word(word) && (!is_digits(word) || is_number(word))))
}

fn is_taint(taint: &Taint) -> bool {
    let key = match taint.key.split_once('/') {
        None => is_word(&taint.key),
        Some((domain, word)) => is_subdomain(domain, 253) && is_word(word),
    };
    key && taint.value.as_deref().is_none_or(|value| value.is_empty() || is_word(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_agent_protocol::Effect;

    fn device(name: &str) -> Device {
        Device { name: name.to_owned(), ..Device::default() }
    }

    fn why(change: impl FnOnce(&mut Device)) -> String {
        let mut device = device("gpu-0");
        change(&mut device);
        check(vec![device], &mut Counters::new()).1.line().unwrap_or_default()
    }

    #[test]
    fn a_device_that_breaks_a_rule_is_left_out_and_said() {
        let (good, rejected) = check(["a", "B", "a", "b-", ""].map(device).into(), &mut Counters::new());
        assert_eq!(good, [device("a")]);
        assert_eq!(
            rejected.line().unwrap(),
            "device B: its name is no DNS label; it is left out, and so are 3 more devices"
        );
        assert_eq!(check(vec![device("a"), device("b")], &mut Counters::new()).1.line(), None);
    }

    #[test]
    fn counters_are_there_and_enough() {
        let set =
            |amounts: &[(&str, u64)]| amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect();
        let many: BTreeMap<_, _> = (0..33).map(|n| (format!("c{n}"), 1)).collect();
        let mut counters = Counters::from([
            ("a".to_owned(), set(&[("x", 2)])),
            ("B".to_owned(), set(&[("x", 2)])),
            ("many".to_owned(), many),
        ]);
        let mut line = |of: &str, amounts: &[(&str, u64)]| {
            let takes = Some(Takes { set: of.to_owned(), amounts: set(amounts) });
            check(vec![Device { takes, ..device("gpu-0") }], &mut counters).1.line().unwrap_or_default()
        };
        assert_eq!(line("a", &[("x", 2)]), "");
        for (of, amounts) in [("a", [("x", 3)]), ("a", [("y", 1)])] {
            assert!(line(of, &amounts).contains("takes more from the counters a than there is"));
        }
        assert!(line("a", &[]).contains("takes more from the counters a than there is"));
        for of in ["B", "many", "b"] {
            assert!(line(of, &[("x", 1)]).contains("which there are not"), "{of}");
        }
        assert_eq!(counters.into_keys().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn each_rule_is_named() {
        let attribute = |name: &str, value: Value| why(|device| _ = device.attributes.insert(name.to_owned(), value));
        assert!(attribute("a-b", Value::Int(1)).contains("a-b is no name"));
        assert!(attribute(&"a".repeat(33), Value::Int(1)).contains("is no name"));
        assert!(attribute("vendor.com/a/b", Value::Int(1)).contains("is no name"));
        assert!(attribute("Vendor.com/a", Value::Int(1)).contains("is no name"));
        assert!(attribute("v", Value::String("x".repeat(65))).contains("attribute v: is longer"));
        assert!(attribute("v", Value::Version("1.2".to_owned())).contains("attribute v: is no version"));
        assert_eq!(attribute("vendor.com/a_1", Value::String("x".repeat(64))), "");
        let many = |most: u64| why(|device| device.capacity = (0..most).map(|n| (format!("c{n}"), n)).collect());
        assert!(
            why(|device| device.capacity = [("m".to_owned(), 1 << 63)].into()).contains("capacity m: is more than")
        );
        assert!(many(33).contains("has 33 attributes and capacities, and may have 32"));
        assert_eq!(many(32), "");
        let taint = |key: &str, value: Option<&str>, times: usize| {
            let taint = Taint { key: key.to_owned(), value: value.map(str::to_owned), effect: Effect::NoSchedule };
            why(|device| device.taints = vec![taint; times])
        };
        assert!(taint("a b", None, 1).contains("taint a b: its key or value"));
        assert!(taint("devgate.dev/x", Some("no space"), 1).contains("its key or value"));
        assert!(taint("devgate.dev/x", None, 17).contains("has 17 taints"));
        assert_eq!(taint("devgate.dev/unhealthy", Some("xid_79"), 16), "");
    }

    #[test]
    fn versions_are_those_of_semver() {
        for good in ["0.0.0", "1.2.3", "550.54.15", "1.0.0-alpha.1", "1.0.0-0a.x-y+001.b", "1.0.0+x"] {
            assert!(is_version(good), "{good}");
        }
        for bad in ["", "1", "1.2", "01.2.3", "1.2.3.4", "v1.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1..3", "1.2.3-a..b"]
        {
            assert!(!is_version(bad), "{bad}");
        }
    }

    #[test]
    fn drivers_are_dns_names() {
        assert!(is_driver("gpu.example.com") && is_driver("a"));
        for bad in ["", "Gpu.example.com", "gpu..com", ".gpu", "gpu_x", "gpu/x", &"a".repeat(64)] {
            assert!(!is_driver(bad), "{bad}");
        }
    }
}
