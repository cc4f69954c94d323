//! Interfaces that the policy does not grant and the component says that it can do without.

use crate::fake::{Fake, Log, enumerate, inspect, patient};
use crate::guest::{Guest, text, with_inner};
use devgate_sandbox::{LoadRequest, Loaded, load};
use devgate_types::load::{LoadError, Need};
use devgate_types::{CallError, Failure, FailureKind, Grant, Limit, Limits};

/// Each function, what it takes, and how it is called. What it answers is at 512.
const FUNCTIONS: [(&str, &str, &str, &str); 11] = [
    ("hardware", "devices", "i32 i32 i32", "TEXT"),
    ("hardware", "device-by-name", "i32 i32 i32 i32 i32", "TEXT TEXT"),
    ("host-paths", "node-at", "i32 i32 i32", "TEXT"),
    ("host-paths", "mount", "i32 i32 i32", "TEXT"),
    ("files", "text", "i32 i32 i32", "TEXT"),
    ("files", "read", "i32 i32 i64 i32 i32", "TEXT (i64.const 0) (i32.const 9)"),
    ("files", "entries", "i32 i32 i32", "TEXT"),
    ("kernel-log", "since", "i32 i32 i32 i32", "TEXT (i32.const 9)"),
    ("control", "write", "i32 i32 i32 i32 i32 i32", "(local.get $device) TEXT TEXT"),
    ("state", "load", "i32", ""),
    // As much as may be stored.
    ("state", "store", "i32 i32 i32", "(i32.const 0) (i32.const 65536)"),
];

/// A handle to a device, in the local `$device`.
const DEVICE: &str = "(local $device i32)
    (call $pci (i32.const 1032) (i32.const 3) (i32.const 640))
    (local.set $device (i32.load (i32.load (i32.const 644))))";

/// A guest that calls one function, and fails as that does.
fn asking((interface, function, takes, with): (&str, &str, &str, &str)) -> Guest {
    let needs_device = interface == "control";
    let mut imports =
        format!(r#"(import "devgate:plugin/{interface}@0.1.0" "{function}" (func $ask (param {takes})))"#);
    if needs_device {
        imports += r#"(import "devgate:plugin/hardware@0.1.0" "devices" (func $pci (param i32 i32 i32)))"#;
    }
    let with = with.replace("TEXT", "(i32.const 1032) (i32.const 3)");
    let body = format!("(call $ask {with} (i32.const 512)) (i32.const 512)");
    let body = if needs_device { format!("{DEVICE} {body}") } else { body };
    Guest::enumerating(&body).importing(&imports).with(r#"(data (i32.const 1032) "pci")"#)
}

/// The component with a section that names these.
fn without(component: &[u8], section: &str) -> Vec<u8> {
    let section = section.replace('\n', "\\n");
    let section = text(&format!(r#"(component (@custom "devgate:optional" "{section}"))"#));
    [component, section.get(8..).unwrap_or_default()].concat()
}

/// Loads with everything granted but these.
fn loaded_without(component: &[u8], interfaces: &[&str], limits: Limits) -> Result<Loaded, LoadError> {
    let grants = |interface: &str| match interfaces.contains(&interface) {
        true => Grant::NotGranted { key: "key" },
        false => Grant::Granted,
    };
    load(LoadRequest { plugin: "snoop", bytes: component, sha256: None, limits, grants: &grants })
}

/// What a call of `enumerate` failed with, and what the host was asked that it notes.
fn failed(plugin: &Loaded) -> (Failure, Log) {
    let (host, log) = Fake::logging();
    match enumerate(plugin, host) {
        Err(CallError::Failed(failure)) => (failure, log),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_function_of_what_is_not_granted_says_so_and_the_host_is_not_asked() {
    for function in FUNCTIONS {
        let interface = function.0;
        let component = asking(function).component();
        let refused = loaded_without(&component, &[interface], patient()).unwrap_err().to_string();
        assert!(refused.contains("needs \"key:\" in the policy"), "{refused}");
        let component = without(&component, interface);
        let plugin = loaded_without(&component, &[interface], patient()).unwrap_or_else(|error| panic!("{error}"));
        let (failure, log) = failed(&plugin);
        let message = format!("{interface} is not granted by the policy");
        assert_eq!(failure, Failure::new(FailureKind::Denied, message).with_code("not-granted"), "{function:?}");
        assert!(log.lock().unwrap().is_empty(), "{function:?}");
    }
}

#[test]
fn what_is_granted_is_served_whatever_the_component_can_do_without() {
    let denied = asking(("files", "text", "i32 i32 i32", "TEXT")).with(r#"(data (i32.const 1032) "/no")"#);
    let plugin = loaded_without(&without(&denied.component(), "files"), &[], patient()).unwrap();
    // The host's own word for a file that is not listed.
    assert_eq!(failed(&plugin).0.code, "");
}

#[test]
fn only_what_is_named_may_be_missing() {
    let both = asking(FUNCTIONS[8]).component();
    let refused =
        loaded_without(&without(&both, "control"), &["hardware", "control"], patient()).unwrap_err().to_string();
    assert!(refused.contains("hardware@0.1.0  needs") && !refused.contains("control@"), "{refused}");
    let plugin = loaded_without(&without(&both, "control\nhardware"), &["hardware", "control"], patient()).unwrap();
    // Without a device it goes on with what is no handle: that is its own fault.
    assert!(matches!(enumerate(&plugin, Fake::boxed()), Err(CallError::Guest(_))));
}

#[test]
fn a_component_may_ask_in_vain_only_so_often() {
    let asks = "(loop $again (call $ask (i32.const 1032) (i32.const 3) (i32.const 512)) (br $again)) (unreachable)";
    let guest = Guest { enumerate: asks.into(), ..asking(FUNCTIONS[4]) };
    let limits = Limits { host_calls: 100, ..patient() };
    let plugin = loaded_without(&without(&guest.component(), "files"), &["files"], limits.clone()).unwrap();
    let host = Box::new(Fake::within(limits));
    assert_eq!(crate::fake::limit(enumerate(&plugin, host)), Some(Limit::HostCalls(100)));
}

#[test]
fn a_section_that_is_not_as_it_must_be_makes_the_component_invalid() {
    let component = asking(FUNCTIONS[4]).component();
    let long = "files\n".repeat(200);
    for (section, says) in [
        ("files,state", "names \"files,state\", which is no interface that it imports and a policy grants"),
        ("types", "names \"types\", which is no interface"),
        ("state", "names \"state\", which is no interface"),
        ("\\ff", "is not UTF-8"),
        (&long, "has 1200 bytes; at most 1024 are read"),
    ] {
        let refused = loaded_without(&without(&component, section), &[], patient()).unwrap_err().to_string();
        assert!(refused.contains(&format!("component is not valid: section devgate:optional {says}")), "{refused}");
    }
    let twice = without(&without(&component, "files"), "files");
    let refused = loaded_without(&twice, &[], patient()).unwrap_err().to_string();
    assert!(refused.ends_with("section devgate:optional is there twice"), "{refused}");
    // That of a component within it is none of its own.
    let within = with_inner(&component, r#"(component (@custom "devgate:optional" "files"))"#);
    assert!(loaded_without(&within, &["files"], patient()).is_err());
}

#[test]
fn a_look_at_the_file_says_what_it_can_do_without() {
    let component = without(&asking(FUNCTIONS[8]).component(), "control");
    let grants = |interface: &str| match interface {
        "control" => Grant::NotGranted { key: "control" },
        "hardware" => Grant::NotGranted { key: "hardware" },
        _ => Grant::Always,
    };
    let contents = inspect(&component, &Limits::default(), &grants).contents.unwrap();
    let need =
        |name: &str| contents.imports.iter().find(|import| import.name.as_str().contains(name)).unwrap().need.clone();
    assert_eq!((need("control"), need("hardware")), (Need::Optional("control"), Need::Key("hardware")));
}
