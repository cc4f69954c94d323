use super::decisions::Device;
use super::{EVERYTHING, SAMPLE, plugin, read};
use crate::{PolicyFile, parse, yaml};
use proptest::prelude::*;

/// What a selector may state besides subsystem and name, and a device that meets or misses each.
const CONDITIONS: [&str; 8] = [
    "vendor: \"0x10de\"",
    "device: [\"0x0001\", \"0x0002\"]",
    "class: \"0x03\"",
    "class: \"0x0302\"",
    "driver: \"ac*\"",
    "driver: vfio-pci",
    "attributes: {numa_node: \"[01]\"}",
    "attributes: {numa_node: \"*\", sriov_numvfs: \"*\"}",
];

fn device() -> impl Strategy<Value = Device> {
    let vendor = prop_oneof![Just("0x10de"), Just("0x1002"), Just("what")];
    let class = prop_oneof![Just("0x030000"), Just("0x030200"), Just("0x060400"), Just("")];
    let driver = prop_oneof![Just(None), Just(Some("acme")), Just(Some("vfio-pci"))];
    let numa = prop_oneof![Just(None), Just(Some("0")), Just(Some("-1"))];
    (vendor, class, driver, numa, 0..4_u16, any::<bool>()).prop_map(|(vendor, class, driver, numa, id, sriov)| {
        let id = format!("0x{id:04x}");
        let mut device = Device::new("pci", "0000:3b:00.0", &[("vendor", vendor), ("class", class), ("device", &id)]);
        device.driver = driver.map(str::to_owned);
        let mut set = |key: &str, value: Option<&str>| {
            value.map(|value| device.attributes.insert(key.to_owned(), value.to_owned()))
        };
        set("numa_node", numa);
        set("sriov_numvfs", sriov.then_some("8"));
        device
    })
}

/// A selector with these conditions; those of one key exclude each other, so the first of a key counts.
fn selector(chosen: &[usize], name: Option<&str>) -> crate::Selector {
    let mut keys = Vec::new();
    let mut text = "{subsystem: pci".to_owned();
    for condition in chosen.iter().map(|n| CONDITIONS[*n]) {
        let key = condition.split(':').next().unwrap();
        if !keys.contains(&key) {
            keys.push(key);
            text += &format!(", {condition}");
        }
    }
    if let Some(name) = name {
        text += &format!(", name: \"{name}\"");
    }
    plugin(&format!("hardware: [{text}}}]")).hardware.remove(0)
}

proptest! {
    #[test]
    fn another_condition_never_matches_more(
        chosen in proptest::collection::vec(0..CONDITIONS.len(), 0..5),
        more in 0..CONDITIONS.len(),
        device in device(),
    ) {
        let mut with_more = chosen.clone();
        with_more.push(more);
        if selector(&with_more, None).matches(&device) {
            prop_assert!(selector(&chosen, None).matches(&device));
        }
        // A name narrows as well, but for bridges, which match by name alone.
        for name in ["0000:3b:00.0", "0000:*", "other"] {
            if selector(&chosen, Some(name)).matches(&device) && device.attributes["class"] != "0x060400" {
                prop_assert!(selector(&chosen, None).matches(&device));
            }
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = parse(&[PolicyFile { name: "x", text: &text }]);
    }

    #[test]
    fn no_damage_to_a_policy_panics(at in 0..SAMPLE.len(), length in 0..40_usize, insert in "[ \\t\\n{}\\[\\]:,\\-&*!|>'\"%@`#?a-z0-9~\u{0}\u{feff}é]{0,8}") {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        let end = (at + length).min(bytes.len());
        bytes.splice(at..end, insert.bytes());
        let text = String::from_utf8_lossy(&bytes);
        if let Err(errors) = read(&text) {
            prop_assert!(!errors.errors.is_empty());
            for error in &errors.errors {
                prop_assert!(error.line != 0 && error.column != 0, "{}", error);
                prop_assert!(!error.to_string().contains(char::is_control), "{}", error);
            }
        }
    }

    #[test]
    fn no_yaml_value_in_any_place_panics(
        key in prop_oneof![Just("hardware"), Just("host-nodes"), Just("containers"), Just("limits"), Just("health"), Just("resources"), Just("component"), Just("config"), Just("replicas"), Just("files"), Just("kernel-log"), Just("control"), Just("dangerous"), Just("only"), Just("rename"), Just("placement"), Just("prepare")],
        inner in prop_oneof![Just("subsystem"), Just("vendor"), Just("nodes"), Just("env"), Just("exclusive"), Just("cpu"), Just("memory"), Just("file"), Just("attributes"), Just("mounts"), Just("cdi"), Just("annotations"), Just("property"), Just("to"), Just("values"), Just("container-path")],
        value in "[a-z0-9{}\\[\\]*?./\\\\-]{0,20}",
    ) {
        let quoted = serde_json::to_string(&value).unwrap();
        for text in [format!("{key}: {quoted}"), format!("{key}: {{{inner}: {quoted}}}"), format!("{key}: [{{subsystem: usb, {inner}: [{quoted}]}}]"), format!("{key}: {{{inner}: {{A: {quoted}}}}}")] {
            let _ = read(&super::with(&text));
        }
    }

    /// An editor that goes by the schema never marks what the host reads.
    #[test]
    fn what_is_a_policy_meets_the_schema(at in 0..EVERYTHING.len(), length in 0..6_usize, insert in "[a-z0-9/*\\-]{0,4}") {
        let mut bytes = EVERYTHING.as_bytes().to_vec();
        let end = (at + length).min(bytes.len());
        bytes.splice(at..end, insert.bytes());
        let text = String::from_utf8_lossy(&bytes);
        if read(&text).is_ok() {
            let problems = super::documents::problems_of(&yaml::read(&text).unwrap().to_json());
            prop_assert_eq!(problems, Vec::<String>::new(), "{}", text);
        }
    }
}
