//! What the API server would refuse of a device. One device that is wrong would cost all that are in its slice.

use super::MAX_COUNTERS;
use super::name::{is_identifier, is_label, is_subdomain, is_word};
use devgate_agent_protocol::{Counters, Device, Taint, Takes, Value};
use semver::Version;
use std::collections::{BTreeMap, HashSet};

/// Attributes and capacities of a device together.
const FACTS: usize = 32;
const TAINTS: usize = 16;
/// Bytes of an attribute's text or version.
const TEXT: usize = 64;
/// Characters of a driver's name, and of the domain before an attribute's.
const DOMAIN: usize = 63;

/// Whether it may be a driver's name.
pub(crate) fn is_driver(name: &str) -> bool {
    is_subdomain(name, DOMAIN)
}

/// Those that the API server takes, in their order, and in one line for people what is wrong with the others. Sets of counters that it
/// would not take go.
pub(crate) fn check(devices: Vec<Device>, counters: &mut Counters) -> (Vec<Device>, Option<String>) {
    counters.retain(|name, counters| {
        is_label(name) && (1..=MAX_COUNTERS).contains(&counters.len()) && are_amounts(counters)
    });
    let (mut names, mut rejected) = (HashSet::new(), Vec::new());
    let mut good = Vec::with_capacity(devices.len());
    for device in devices {
        let wrong = wrong(&device).or_else(|| wrong_takes(device.takes.as_ref()?, counters)).or_else(|| {
            let is_new = names.insert(device.name.clone());
            (!is_new).then(|| "another device has this name".to_owned())
        });
        match wrong {
            None => good.push(device),
            Some(why) => rejected.push((device.name, why)),
        }
    }
    let more = match rejected.len() {
        0 | 1 => String::new(),
        all => format!(", and so are {} more devices", all - 1),
    };
    let line = rejected.first().map(|(name, why)| {
        let name = devgate_types::escape(name, 64);
        format!("device {name}: {why}; it is left out{more}")
    });
    (good, line)
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
    Some(format!("taint {}: its key is none of a label", shown(&taint.key)))
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
        Value::Version(text) => Version::parse(text).err().map(|_| "is no version of semver 2.0, such as 1.2.3"),
    }
}

fn is_taint(taint: &Taint) -> bool {
    match taint.key.split_once('/') {
        None => is_word(&taint.key),
        Some((domain, word)) => is_subdomain(domain, 253) && is_word(word),
    }
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
        check(vec![device], &mut Counters::new()).1.unwrap_or_default()
    }

    #[test]
    fn a_device_that_breaks_a_rule_is_left_out_and_said() {
        let (good, rejected) = check(["a", "B", "a", "b-", ""].map(device).into(), &mut Counters::new());
        assert_eq!(good, [device("a")]);
        assert_eq!(rejected.unwrap(), "device B: its name is no DNS label; it is left out, and so are 3 more devices");
        assert_eq!(check(vec![device("a"), device("b")], &mut Counters::new()).1, None);
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
            check(vec![Device { takes, ..device("gpu-0") }], &mut counters).1.unwrap_or_default()
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
        let taint = |key: &str, times: usize| {
            let taint = Taint { key: key.to_owned(), effect: Effect::NoSchedule };
            why(|device| device.taints = vec![taint; times])
        };
        assert!(taint("a b", 1).contains("taint a b: its key is none"));
        assert!(taint("devgate.dev/no space", 1).contains("its key is none"));
        assert!(taint("devgate.dev/x", 17).contains("has 17 taints"));
        assert_eq!(taint("devgate.dev/xid_79", 16), "");
    }

    #[test]
    fn versions_are_those_of_semver() {
        for good in ["0.0.0", "1.2.3", "550.54.15", "1.0.0-alpha.1", "1.0.0-0a.x-y+001.b", "1.0.0+x"] {
            assert!(Version::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "1", "1.2", "01.2.3", "1.2.3.4", "v1.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1..3", "1.2.3-a..b"]
        {
            assert!(Version::parse(bad).is_err(), "{bad}");
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
