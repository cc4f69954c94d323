//! The policy, written by an admin.

use crate::hold;
use devgate_policy::{
    DeviceFacts, LabelUnit, Placed, PluginPolicy, Policy, PolicyErrors, PolicyFile, Record, UnitFacts, ValueRule, parse,
};
use devgate_types::ResourceName;
use std::collections::BTreeSet;

/// Measured: regular expressions cost most, each at most its own limit.
const COST: hold::Cost = hold::Cost { per_byte: 1 << 16, besides: 32 << 20 };

/// A policy is refused with all that is wrong, or can be asked everything.
pub fn policy(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    COST.holds(text.len(), || {
        let files = [PolicyFile { name: "a.yaml", text }];
        match parse(&files) {
            Err(errors) => refused(&errors),
            Ok(policy) => {
                assert_eq!(parse(&files).as_ref(), Ok(&policy), "the same text means the same");
                ask(&policy);
            }
        }
    });
}

fn refused(errors: &PolicyErrors) {
    assert!(!errors.errors.is_empty());
    for error in errors.errors.iter().take(PolicyErrors::SHOWN) {
        hold::message(&error.to_string());
    }
    hold::lines(&errors.to_string(), PolicyErrors::SHOWN + 1, 1 << 20);
}

struct Device;

impl DeviceFacts for Device {
    fn subsystem(&self) -> &str {
        "pci"
    }
    fn name(&self) -> &str {
        "0000:3b:00.0"
    }
    fn driver(&self) -> Option<String> {
        Some("vfio-pci".to_owned())
    }
    fn attribute(&self, path: &str) -> Option<String> {
        match path {
            "vendor" => Some("0x10de".to_owned()),
            "device" => Some("0x2330".to_owned()),
            "class" => Some("0x030200".to_owned()),
            path => Some(path.to_owned()),
        }
    }
}

fn ask(policy: &Policy) {
    for plugin in policy.plugins.values() {
        assert!(plugin.is_like(plugin));
        of_node(plugin);
        let names = ["vendor.com/gpu", "example.com/serial", "devgate.dev/fuse"];
        for resource in names.map(|name| ResourceName::try_new(name).unwrap()) {
            of_unit(plugin, &resource);
        }
    }
}

fn of_node(plugin: &PluginPolicy) {
    for selector in &plugin.hardware {
        assert_eq!(selector.matches(&Device), selector.unmet(&Device).is_none());
        let _ = (selector.is_everything(), selector.node_offer("drm", "renderD128"));
    }
    for path in ["/dev/fuse", "/dev/../etc/passwd", "/proc/driver/nvidia/version", "/sys/x", "", "a\0\n", "/etc/shadow"]
    {
        if let Some(grant) = plugin.host_nodes.grant(path) {
            let _ = grant.container_path(path);
        }
        let may_read = plugin.files.check(path).is_ok();
        assert!(!may_read || !path.contains(".."), "{path} is granted");
        let _ = (plugin.files.lists(path), plugin.files.lists_entry(path, "x"));
    }
    let line = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus. \u{1b}[2J é";
    for pattern in &plugin.kernel_log {
        assert_eq!(pattern.captures(line).is_some(), pattern.matched(line).is_some());
    }
    if let Some(partitions) = &plugin.partitions {
        let _ = (partitions.is_own("/dev/nvidia0"), partitions.is_common("/dev/nvidiactl"));
    }
}

fn of_unit(plugin: &PluginPolicy, resource: &ResourceName) {
    let _ = plugin.resource_rank(resource);
    let properties = [("model".to_owned(), "A\u{1b}[1m".to_owned()), ("memory".to_owned(), "81559MiB".to_owned())];
    let facts = UnitFacts { id: "all", resource, devices: &["pci0000:00/0000:3b:00.0"], properties: &properties };
    if let Placed::Offered(name) = plugin.place(&facts) {
        assert!(plugin.grants_resource(&name), "{name} is offered and not granted");
    }
    let records = [Record { id: "all", properties: &properties }];
    let rules = plugin.containers.rules(resource);
    for rule in rules.env.values().chain(rules.annotations.values()).chain(rules.cdi.values()) {
        for value in ["all", "a,b", "x\0", "", &"9".repeat(5_000)] {
            if let Err(expected) = rule.check(value, &records) {
                hold::message(&expected.to_string());
            }
        }
        if let ValueRule::Template(template) = rule
            && let Ok(made) = template.expand(&records)
        {
            assert_eq!(rule.check(&made, &records), Ok(()), "what the template makes is what it takes");
        }
    }
    let unit = LabelUnit { facts, offered: resource, healthy: true, numa_nodes: &BTreeSet::from([0, 7]) };
    let derived = plugin.labels.of(&[unit.clone(), unit], plugin.replicas);
    for (name, value) in &derived.labels {
        assert!(plugin.labels.grants(name, value), "{name}={value} is made and not granted");
    }
    for missing in &derived.missing {
        hold::message(&missing.name);
        hold::message(&missing.why);
    }
}
