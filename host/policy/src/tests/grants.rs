//! What a policy grants besides devices: files, mounts, values, dangers, resources by pattern.

use super::{EVERYTHING, SAMPLE, plugin, read, with};
use crate::{Danger, FileDenied, PluginPolicy, Record, Template, ValueRule, dangerous_node};
use devgate_types::{NodeKind, NodeNumber, ResourceName};
use proptest::prelude::*;

fn resource(name: &str) -> ResourceName {
    ResourceName::try_new(name).unwrap()
}

fn everything() -> PluginPolicy {
    read(EVERYTHING).unwrap().plugins.shift_remove("all").unwrap()
}

#[test]
fn resources_may_be_patterns_behind_the_domain() {
    let all = everything();
    for (name, rank) in [
        ("v.com/x", Some(0)),
        ("v.com/af-1", Some(1)),
        ("v.com/af", None),
        ("w.com/af-1", None),
        ("x.v.com/af-1", None),
    ] {
        assert_eq!(all.resource_rank(&resource(name)), rank, "{name}");
        assert_eq!(all.grants_resource(&resource(name)), rank.is_some(), "{name}");
    }
    let shown: Vec<String> = all.resources.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["v.com/x", "v.com/af-*"]);
}

#[test]
fn a_patterns_resources_have_rules_of_their_own() {
    let all = everything();
    let rules = all.containers.rules(&resource("v.com/af-1"));
    let keys: Vec<&str> = rules.env.keys().map(String::as_str).collect();
    assert_eq!(keys, ["V_COM_AF_1_IDS", "V_COM_AF_1_MODE", "V_COM_AF_1_HINT"]);
    let keys: Vec<&str> = rules.annotations.keys().map(String::as_str).collect();
    assert_eq!(keys, ["v.com/V_COM_AF_1"]);
    assert!(rules.annotations.get("v.com/V_COM_X").is_none() && rules.env.get("V_COM_X_IDS").is_none());
    let written: Vec<String> =
        all.containers.env.iter().map(|entry| format!("{}: {} ({})", entry.key, entry.rule, entry.origin)).collect();
    assert_eq!(
        written,
        [
            "{RESOURCE}_IDS: \"{ids}\" (policy.yaml:23)",
            "{RESOURCE}_MODE: \"fast\" or \"\" (policy.yaml:23)",
            "{RESOURCE}_HINT: any (policy.yaml:23)",
        ]
    );
}

#[test]
fn only_a_template_is_set_by_the_host() {
    let rules = everything().containers.rules(&resource("v.com/x")).into_owned();
    let records = [Record { id: "a", properties: &[] }];
    let set = |key: &str| rules.env.get(key).unwrap().template().map(|t| t.expand(&records));
    assert_eq!(set("V_COM_X_IDS"), Some(Ok("a".to_owned())));
    assert_eq!((set("V_COM_X_MODE"), set("V_COM_X_HINT")), (None, None));
    let uuid = rules.cdi.get("v.com/x").and_then(ValueRule::template).map(Template::as_str);
    assert_eq!(uuid, Some("{property.uuid}"));
    assert!(rules.cdi.get("v.com/y").is_none());
}

#[test]
fn the_samples_cdi_devices_are_one_for_each_unit() {
    let policy = read(SAMPLE).unwrap();
    let rules = policy.plugins["acme"].containers.rules(&resource("example.com/gpu"));
    let (kind, rule) = rules.cdi.iter().next().unwrap();
    let name = rule.template().unwrap().expand(&[Record { id: "GPU-1", properties: &[] }]);
    assert_eq!((kind.as_str(), name), ("example.com/gpu", Ok("GPU-1".to_owned())));
}

#[test]
fn mounts_are_granted_by_name() {
    let all = everything();
    let socket = all.containers.mounts.get("socket").unwrap();
    assert_eq!((socket.source.as_str(), socket.target.as_str()), ("/run/vendor", "/run/vendor"));
    assert!(socket.writable && socket.unchecked && socket.origin.line == 28);
    let lib = all.containers.mounts.get("lib").unwrap();
    assert!(!lib.writable && !lib.unchecked);
    assert!(all.containers.mounts.get("other").is_none());
    assert_eq!(all.containers.mounts.len(), 2);
}

#[test]
fn a_danger_is_accepted_by_its_key_alone() {
    let all = everything();
    let number = |major, minor| NodeNumber { kind: NodeKind::Character, major, minor };
    let bus = dangerous_node(None, None, number(89, 0)).unwrap();
    assert_eq!(bus.key, "i2c");
    assert!(all.accepts(&bus));
    assert!(!all.accepts(&dangerous_node(None, None, number(1, 1)).unwrap()));
    assert!(!all.accepts(&Danger::SOCKETS) && !plugin("").accepts(&bus));
}

#[test]
fn nodes_have_a_path_of_their_own_where_the_policy_says_so() {
    let all = everything();
    let grant = all.hardware[1].node_offer("tty", "ttyUSB0").unwrap();
    assert_eq!(grant.container_path("/dev/ttyUSB0"), "/dev/serial/ttyUSB0");
    assert_eq!(all.host_nodes.grant("/dev/x3").unwrap().container_path("/dev/x3"), "/dev/v/x3");
    let plain = plugin("host-nodes: {shared: /dev/x}");
    assert_eq!(plain.host_nodes.grant("/dev/x").unwrap().container_path("/dev/x"), "/dev/x");
}

#[test]
fn what_comes_later_is_read_all_the_same() {
    let all = everything();
    assert_eq!(all.kernel_log[0].as_str(), "^vendor ([0-9]+): failed");
    let control = &all.control[0];
    assert_eq!((control.attribute.as_str(), control.values.as_slice()), ("reset", &["1".to_owned()][..]));
    assert!(control.prepare && control.release && all.state);
    let once = plugin("control: [{attribute: reset, values: a, moment: release}]");
    assert!(!once.control[0].prepare && once.control[0].release);
}

#[test]
fn files_are_read_and_listed_as_the_patterns_say() {
    let files = read(SAMPLE).unwrap().plugins["acme"].files.clone();
    for path in ["/proc/driver/acme/version", "/proc/driver/acme/gpus/0000:3b:00.0/information"] {
        assert_eq!(files.check(path), Ok(()), "{path}");
    }
    for path in [
        "/proc/driver/acme/params",
        "/proc/driver/acme/gpus/0000:3b:00.0/power",
        "/proc/driver/acme/gpus/a/b/information",
        "proc/driver/acme/version",
        "/proc/driver//acme/version",
        "/proc/driver/acme/../acme/version",
        "",
        "/",
    ] {
        assert_eq!(files.check(path), Err(FileDenied::NotListed), "{path}");
    }
    assert!(matches!(files.check("/proc/1/environ"), Err(FileDenied::Never(_))));
    assert_eq!(files.lists("/proc/driver/acme/gpus"), Ok(()));
    for dir in [
        "/proc/driver/acme",
        "/proc/driver",
        "/proc",
        "/",
        "/proc/driver/acme/gpus/0000:3b:00.0",
        "/proc/driver/acme/version",
    ] {
        assert_eq!(files.lists(dir), Err(FileDenied::NotListed), "{dir}");
    }
    assert!(files.lists_entry("/proc/driver/acme/gpus", "0000:3b:00.0"));
    for name in ["", ".", "..", "a/b", "a\n", "client_secret"] {
        assert!(!files.lists_entry("/proc/driver/acme/gpus", name), "{name:?}");
    }
    assert_eq!(files.patterns().count(), 2);
}

#[test]
fn a_listing_tells_only_names_that_the_pattern_has() {
    let files = plugin("files: [\"/proc/driver/a*/x\", \"/opt/v/**/version\", \"/proc/[a-z]*/y\"]").files;
    assert!(files.lists_entry("/proc/driver", "abc") && !files.lists_entry("/proc/driver", "bcd"));
    assert_eq!(files.lists("/opt/v"), Ok(()));
    assert_eq!(files.lists("/opt/v/deep/er"), Ok(()));
    assert_eq!(files.lists("/opt"), Err(FileDenied::NotListed));
    assert!(files.lists_entry("/opt/v/deep", "any"));
    // What is never read is not told of either.
    assert!(
        files.lists_entry("/proc", "driver") && !files.lists_entry("/proc", "self") && !files.lists_entry("/proc", "1")
    );
    assert!(plugin("").files.is_empty());
    assert_eq!(plugin("").files.check("/opt/x"), Err(FileDenied::NotListed));
}

proptest! {
    /// Whatever is listed: nothing is read that is never read, and nothing but plain absolute paths.
    #[test]
    fn no_pattern_reads_what_is_never_read(
        pattern in "/(proc|sys|etc|opt|dev)(/(\\*|[a-z]{1,3}\\*|self|1|shadow|\\*\\*)){1,2}",
        path in "/?(proc|sys|etc|opt|dev)(/(self|1|42|shadow|environ|config|notes|abc|\\.\\.|)){1,3}",
    ) {
        let Ok(policy) = read(&with(&format!("files: [\"{pattern}\"]"))) else { return Ok(()) };
        let files = &policy.plugins["p"].files;
        if files.check(&path).is_ok() {
            prop_assert!(path.starts_with('/') && !path.contains("//") && !path.contains(".."), "{}", path);
            for never in ["/dev/", "/proc/self", "/proc/1", "/proc/42", "/etc/shadow"] {
                prop_assert!(!path.starts_with(never), "{}", path);
            }
            prop_assert!(!(path.starts_with("/proc/") && path.ends_with("/environ")), "{}", path);
            prop_assert!(!(path.starts_with("/sys/") && (path.contains("/config") || path.contains("/notes"))), "{}", path);
        }
    }

    /// A file that is listed can be found by listing its directories, wherever the pattern has a wildcard.
    #[test]
    fn what_may_be_read_can_be_found(parts in proptest::collection::vec("[ab*?]{1,2}", 1..4), names in proptest::collection::vec("[ab]{1,2}", 1..4)) {
        let pattern = format!("/opt/{}", parts.join("/"));
        let Ok(policy) = read(&with(&format!("files: [\"{pattern}\"]"))) else { return Ok(()) };
        let files = &policy.plugins["p"].files;
        let path = format!("/opt/{}", names.join("/"));
        if files.check(&path).is_ok() {
            let mut dir = "/opt".to_owned();
            for (part, name) in parts.iter().zip(&names) {
                let wild = part.contains(['*', '?']);
                prop_assert_eq!(files.lists(&dir).is_ok() && files.lists_entry(&dir, name), wild || files.lists_entry(&dir, name));
                if wild {
                    prop_assert!(files.lists(&dir).is_ok() && files.lists_entry(&dir, name));
                }
                dir = format!("{dir}/{name}");
            }
        }
    }
}
