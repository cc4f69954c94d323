use super::{SAMPLE, plugin, read};
use crate::{ComponentSource, DeviceFacts, Grant, NodeGrant, PolicyFile, Record, Use, parse};
use devgate_types::{Access, ByteSize, Limits, ResourceName};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Clone, Default)]
pub(super) struct Device {
    pub(super) subsystem: String,
    pub(super) name: String,
    pub(super) driver: Option<String>,
    pub(super) attributes: BTreeMap<String, String>,
}

impl Device {
    pub(super) fn new(subsystem: &str, name: &str, attributes: &[(&str, &str)]) -> Self {
        Self {
            subsystem: subsystem.to_owned(),
            name: name.to_owned(),
            driver: None,
            attributes: attributes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        }
    }
}

impl DeviceFacts for Device {
    fn subsystem(&self) -> &str {
        &self.subsystem
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn driver(&self) -> Option<String> {
        self.driver.clone()
    }
    fn attribute(&self, path: &str) -> Option<String> {
        self.attributes.get(path).cloned()
    }
}

fn gpu() -> Device {
    let attributes = [("vendor", "0x10de"), ("device", "0x2335"), ("class", "0x030200"), ("numa_node", "0")];
    let mut device = Device::new("pci", "0000:3b:00.0", &attributes);
    device.driver = Some("acme".to_owned());
    device
}

fn matches(selector: &str, device: &Device) -> bool {
    plugin(&format!("hardware:\n  - {selector}")).hardware[0].matches(device)
}

fn resource(name: &str) -> ResourceName {
    ResourceName::try_new(name).unwrap()
}

#[test]
fn the_sample_is_read() {
    let policy = read(SAMPLE).unwrap();
    let names: Vec<&str> = policy.plugins.keys().map(|name| name.as_str()).collect();
    assert_eq!(names, ["acme", "nics", "fuse"]);
    let acme = &policy.plugins["acme"];
    assert_eq!(acme.origin.to_string(), "policy.yaml:4");
    let ComponentSource::File { path, sha256 } = &acme.component else {
        panic!("{:?}", acme.component);
    };
    assert_eq!(
        (path.as_str(), sha256.unwrap()[..3].to_vec(), sha256.unwrap()[31]),
        ("acme-gpu.wasm", vec![0x9f, 0x2c, 0x0a], 1)
    );
    assert_eq!(acme.hardware[0].usage, Use::Offer);
    assert!(acme.hardware[0].matches(&gpu()));
    assert_eq!(
        (acme.health.unhealthy_after, acme.health.stale_after),
        (Duration::from_secs(2), Duration::from_secs(60))
    );
    assert_eq!(acme.config, serde_json::json!({"fault": {"94": "ignore"}}));
    let fuse = &policy.plugins["fuse"];
    assert_eq!((fuse.replicas, fuse.shares_hardware), (64, true));
    assert_eq!(policy.plugins["nics"].config, serde_json::Value::Null);
}

#[test]
fn every_example_on_the_page_for_people_is_read() {
    let page = include_str!("../../../../docs/policy.md");
    let examples: Vec<&str> = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 13);
    for example in examples {
        let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
        let text = match example {
            whole if whole.starts_with("api") => whole.to_owned(),
            plugin if !plugin.starts_with("    ") => format!("{head}{plugin}"),
            component if component.starts_with("    component") => {
                format!("{head}  p:\n    resources: [v.com/x]\n{component}")
            }
            resources if resources.starts_with("    resources") => {
                format!("{head}  p:\n    component: {{file: p.wasm}}\n{resources}")
            }
            lines => super::with("") + lines,
        };
        read(&text).unwrap_or_else(|errors| panic!("{example}\n{errors}"));
    }
}

#[test]
fn what_is_not_said_has_its_default() {
    let plugin = plugin("");
    assert_eq!((plugin.replicas, plugin.shares_hardware), (1, false));
    assert_eq!(plugin.limits, Limits::default());
    assert_eq!(plugin.health, crate::Health::default());
    assert!(plugin.hardware.is_empty() && plugin.host_nodes.is_empty());
    assert_eq!(plugin.host_nodes.grant("/dev/null"), None);
    assert_eq!(plugin.containers.rules(&resource("v.com/x")).env.get("ANY"), None);
}

#[test]
fn several_files_are_one_policy_in_their_order() {
    let one = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  b: {component: {file: b.wasm}, resources: [v.com/b]}\n";
    let two = one.replace("b:", "a:").replace("/b]", "/a]").replace("devgate.deva:", "devgate.dev");
    let files = [PolicyFile { name: "1.yaml", text: one }, PolicyFile { name: "2.yaml", text: &two }];
    let policy = parse(&files).unwrap();
    assert_eq!(policy.plugins.keys().map(|name| name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(policy.plugins["a"].origin.to_string(), "2.yaml:4");
    assert!(read("apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins: {}\n").unwrap().plugins.is_empty());
}

#[test]
fn all_that_a_selector_states_must_hold() {
    for holds in [
        "{subsystem: pci}",
        "{subsystem: pci, vendor: \"0x10de\"}",
        "{subsystem: pci, vendor: 10DE}",
        "{subsystem: pci, vendor: [\"0x1002\", \"0x10de\"], device: \"0x2335\"}",
        "{subsystem: pci, class: \"0x03\"}",
        "{subsystem: pci, class: [\"0x0200\", \"0x030200\"]}",
        "{subsystem: pci, driver: acme}",
        "{subsystem: pci, driver: [vfio-pci, ac*]}",
        "{subsystem: pci, name: \"0000:3b:*\"}",
        "{subsystem: pci, attributes: {numa_node: \"[01]\", vendor: \"*\"}}",
        "{subsystem: pci, attributes: {numa_node: [\"1\", \"0\"]}}",
    ] {
        assert!(matches(holds, &gpu()), "{holds}");
    }
    for fails in [
        "{subsystem: usb}",
        "{subsystem: pci, vendor: \"0x1002\"}",
        "{subsystem: pci, vendor: \"0x10de\", device: \"0x2336\"}",
        "{subsystem: pci, vendor: \"0x10de\", class: \"0x0300\"}",
        "{subsystem: pci, vendor: \"0x10de\", driver: vfio-pci}",
        "{subsystem: pci, name: \"0000:3b:00.1\"}",
        "{subsystem: pci, attributes: {sriov_numvfs: \"*\"}}",
        "{subsystem: pci, attributes: {numa_node: \"1\"}}",
    ] {
        assert!(!matches(fails, &gpu()), "{fails}");
    }
    let unbound = Device { driver: None, ..gpu() };
    assert!(!matches("{subsystem: pci, driver: \"*\"}", &unbound));
    let mumbling = Device::new("pci", "0000:01:00.0", &[("vendor", "10de?"), ("class", "")]);
    assert!(!matches("{subsystem: pci, vendor: \"0x10de\"}", &mumbling));
    assert!(!matches("{subsystem: pci, class: \"0x03\"}", &mumbling));
}

#[test]
fn the_key_that_does_not_hold_is_named() {
    let unmet = |selector: &str| plugin(&format!("hardware:\n  - {selector}")).hardware[0].unmet(&gpu());
    assert_eq!(unmet("{subsystem: drm}"), Some("subsystem"));
    assert_eq!(unmet("{subsystem: pci, vendor: \"0x10de\", device: \"0x0001\"}"), Some("device"));
    assert_eq!(unmet("{subsystem: pci, driver: vfio-pci}"), Some("driver"));
    assert_eq!(unmet("{subsystem: pci, attributes: {x: \"*\"}}"), Some("attributes"));
    assert_eq!(unmet("{subsystem: pci}"), None);
}

#[test]
fn usb_devices_are_selected_by_their_own_attributes() {
    let stick = Device::new(
        "usb",
        "1-2",
        &[("idVendor", "0403"), ("idProduct", "6001"), ("serial", "A1"), ("product", "UART")],
    );
    assert!(matches("{subsystem: usb, vendor: \"0403\", product: \"0x6001\", serial: A1}", &stick));
    assert!(!matches("{subsystem: usb, vendor: \"0403\", product: \"6002\"}", &stick));
    assert!(!matches("{subsystem: usb, vendor: \"0403\", serial: [A2, A3]}", &stick));
    // An interface has no identity of its own.
    assert!(!matches("{subsystem: usb, vendor: \"0403\"}", &Device::new("usb", "1-2:1.0", &[])));
}

#[test]
fn a_bridge_is_selected_only_by_its_whole_name() {
    let bridge = Device::new("pci", "0000:3a:00.0", &[("vendor", "0x10de"), ("class", "0x060400")]);
    for fails in [
        "{subsystem: pci}",
        "{subsystem: pci, vendor: \"0x10de\"}",
        "{subsystem: pci, class: \"0x0604\"}",
        "{subsystem: pci, name: \"*\"}",
        "{subsystem: pci, name: \"0000:3a:00.[0]\"}",
    ] {
        assert!(!matches(fails, &bridge), "{fails}");
    }
    assert!(matches("{subsystem: pci, name: \"0000:3a:00.0\"}", &bridge));
    assert!(matches("{subsystem: pci, class: \"0x0604\", name: [x, \"0000:3a:00.0\"]}", &bridge));
}

#[test]
fn nodes_are_offered_only_as_the_selector_says() {
    let offer = |nodes: &str, subsystem: &str, name: &str| {
        let text = format!("hardware:\n  - {{subsystem: pci, vendor: \"0x10de\", use: offer{nodes}}}");
        plugin(&text).hardware[0].node_offer(subsystem, name).map(|grant| (grant.access.to_string(), grant.shared))
    };
    let own = |access: &str, shared| Some((access.to_owned(), shared));
    assert_eq!(offer("", "drm", "card0"), None);
    assert_eq!(offer(", nodes: [{subsystem: drm}]", "drm", "card0"), own("rw", false));
    assert_eq!(offer(", nodes: [{subsystem: drm}]", "vfio", "42"), None);
    assert_eq!(offer(", nodes: [{}]", "pci", "x"), own("rw", false));
    let two = ", nodes: [{subsystem: drm, name: \"render*\", access: r, shared: true}, {subsystem: drm, name: \"card*\", access: rwm}]";
    assert_eq!(offer(two, "drm", "renderD128"), own("r", true));
    assert_eq!(offer(two, "drm", "card0"), own("rwm", false));
    assert_eq!(offer(two, "drm", "controlD64"), None);
    let both = ", nodes: [{subsystem: drm, access: r, shared: true}, {subsystem: drm, name: card0}]";
    assert_eq!(offer(both, "drm", "card0"), own("r", false));
}

#[test]
fn host_nodes_are_granted_by_plain_paths_under_dev() {
    let nodes = read(SAMPLE).unwrap().plugins["acme"].host_nodes.clone();
    let exclusive = NodeGrant { access: Access::READ_WRITE, shared: false, container_path: None };
    assert_eq!(nodes.grant("/dev/acme0"), Some(exclusive.clone()));
    assert_eq!(nodes.grant("/dev/acmectl"), Some(NodeGrant { shared: true, ..exclusive }));
    for path in
        ["/dev/acme", "/dev/acme0/x", "/dev/../dev/acme0", "/dev//acme0", "dev/acme0", "/dev/acme-modeset", "/dev/", ""]
    {
        assert_eq!(nodes.grant(path), None, "{path}");
    }
    let unseen = plugin("host-nodes: {exclusive: \"/dev/x[0-4]\", shared: [\"/dev/x*\"], access: r}").host_nodes;
    assert_eq!(unseen.grant("/dev/x3"), Some(NodeGrant { access: Access::READ, shared: false, container_path: None }));
    assert_eq!(unseen.grant("/dev/x5"), Some(NodeGrant { access: Access::READ, shared: true, container_path: None }));
    assert_eq!(
        unseen.patterns().map(|(text, shared, _)| (text, shared)).collect::<Vec<_>>(),
        [("/dev/x[0-4]", false), ("/dev/x*", true)]
    );
}

#[test]
fn environment_is_granted_per_resource() {
    let text =
        super::with("containers: {env: {\"{RESOURCE}_IDS\": \"{resource}={ids}\", \"MODE_{RESOURCE}\": [all, \"\"]}}")
            .replace("[v.com/x]", "[v.com/x, w.com/y-z]");
    let policy = read(&text).unwrap();
    let containers = &policy.plugins["p"].containers;
    let (x, y) = (containers.rules(&resource("v.com/x")), containers.rules(&resource("w.com/y-z")));
    let record = [Record { id: "a", properties: &[] }];
    x.env.get("V_COM_X_IDS").unwrap().check("v.com/x=a", &record).unwrap();
    y.env.get("W_COM_Y_Z_IDS").unwrap().check("w.com/y-z=a", &record).unwrap();
    y.env.get("MODE_W_COM_Y_Z").unwrap().check("", &record).unwrap();
    assert_eq!(x.env.get("W_COM_Y_Z_IDS"), None);
    assert_eq!(x.env.get("{RESOURCE}_IDS"), None);
    assert_eq!(containers.rules(&resource("v.com/other")).env.get("V_COM_X_IDS"), None);
}

#[test]
fn loader_variables_need_their_value_written_out() {
    let good = plugin("containers: {env: {LD_PRELOAD: /opt/acme/usr/lib64/libacme.so, PATH: [/bin, /usr/bin]}}");
    let rules = good.containers.rules(&resource("v.com/x"));
    let rule = rules.env.get("LD_PRELOAD").unwrap();
    rule.check("/opt/acme/usr/lib64/libacme.so", &[]).unwrap();
    assert!(rule.check("/tmp/evil.so", &[]).is_err());
    let path = rules.env.get("PATH").unwrap();
    path.check("/usr/bin", &[]).unwrap();
    assert!(path.check("/tmp", &[]).is_err());
    for free in [
        "LD_PRELOAD: any",
        "LD_AUDIT: \"{property.so}\"",
        "PATH: \"/bin:{ids}\"",
        "LD_LIBRARY_PATH: any",
        "LD_DEBUG: any",
    ] {
        let errors = read(&super::with(&format!("containers: {{env: {{{free}}}}}"))).unwrap_err();
        assert!(errors.to_string().contains("decides which code a container runs"), "{free}: {errors}");
    }
}

#[test]
fn interfaces_are_granted_by_what_the_policy_lists() {
    let hardware = plugin("hardware: [{subsystem: pci}]");
    let paths = plugin("host-nodes: {shared: /dev/x}");
    for always in ["types", "config", "log"] {
        assert_eq!(hardware.grants(always), Grant::Always);
    }
    assert_eq!(hardware.grants("hardware"), Grant::Granted);
    assert_eq!(hardware.grants("host-paths"), Grant::NotGranted { key: "host-nodes" });
    assert_eq!(paths.grants("hardware"), Grant::NotGranted { key: "hardware" });
    assert_eq!(paths.grants("host-paths"), Grant::Granted);
    for key in ["files", "kernel-log", "control", "state"] {
        assert_eq!(paths.grants(key), Grant::NotGranted { key });
    }
    let granted = super::plugin(
        "kernel-log: [\"^a(b)\"]\ncontrol: [{attribute: x, values: a, moment: prepare}]\nstate: true\nfiles: [/opt/x]",
    );
    for key in ["kernel-log", "control", "state"] {
        assert_eq!(granted.grants(key), Grant::Granted);
    }
    assert_eq!(granted.grants("files"), Grant::Granted);
    for (word, package) in [("clocks", "wasi:clocks"), ("random", "wasi:random")] {
        let one = super::plugin(&format!("wasi: {word}"));
        assert_eq!(one.grants(package), Grant::Granted);
        let other = if word == "clocks" { "wasi:random" } else { "wasi:clocks" };
        assert_eq!(one.grants(other), Grant::NotGranted { key: "wasi" });
    }
    assert_eq!(paths.grants("wasi:sockets"), Grant::Unknown);
    let mounts = super::plugin("containers: {mounts: {lib: {source: /usr/lib64/x.so, target: /usr/lib64/x.so}}}");
    assert_eq!(mounts.grants("host-paths"), Grant::Granted);
    assert_eq!(paths.grants("sockets"), Grant::Unknown);
}

#[test]
fn limits_are_read_within_their_ranges() {
    let limits = plugin(
        "limits: {memory: 64MiB, cpu: 1s, deadline: 5s, instances: 60, table-elements: 20000, log: 0B, host-calls: 7}",
    )
    .limits;
    assert_eq!(
        (limits.memory, limits.cpu, limits.deadline),
        (ByteSize::mib(64), Duration::from_secs(1), Duration::from_secs(5))
    );
    assert_eq!((limits.instances, limits.table_elements, limits.log, limits.host_calls), (60, 20_000, ByteSize(0), 7));
    assert_eq!(limits.functions, Limits::default().functions);
    for (key, least, below, most, above) in [
        ("memory", "64KiB", "63KiB", "1GiB", "1025MiB"),
        ("transfer", "4KiB", "4095B", "64MiB", "65MiB"),
        ("read", "4KiB", "3KiB", "1GiB", "2GiB"),
        ("log", "0B", "-1B", "1MiB", "1025KiB"),
        ("component-size", "1KiB", "0B", "64MiB", "65MiB"),
        ("function-size", "1KiB", "1B", "16MiB", "17MiB"),
        ("cpu", "1ms", "0s", "500ms", "61s"),
        ("deadline", "100ms", "0ms", "60s", "61s"),
        ("instances", "1", "0", "1000", "1001"),
        ("memories", "1", "0", "64", "65"),
        ("tables", "1", "0", "1000", "1001"),
        ("table-elements", "1", "0", "10000000", "10000001"),
        ("handles", "16", "15", "1000000", "1000001"),
        ("host-calls", "1", "0", "10000000", "10000001"),
        ("functions", "1", "0", "1000000", "1000001"),
    ] {
        let ok = |value: &str| read(&super::with(&format!("limits: {{{key}: {value}}}"))).is_ok();
        assert!(ok(least) && ok(most), "{key} {least} {most}");
        assert!(!ok(below) && !ok(above), "{key} {below} {above}");
    }
}

#[test]
fn health_and_replicas_are_read_within_their_ranges() {
    let health = plugin("health: {stale-after: 2m, check-every: 100ms, enumerate-every: 1h}").health;
    assert_eq!((health.stale_after, health.check_every), (Duration::from_secs(120), Duration::from_millis(100)));
    let ok = |lines: &str| read(&super::with(lines)).is_ok();
    for (good, bad) in [
        ("health: {check-every: 1h}", "health: {check-every: 99ms}"),
        ("health: {unhealthy-after: 1h}", "health: {unhealthy-after: 2h}"),
        ("health: {healthy-after: 24h}", "health: {healthy-after: 25h}"),
        ("health: {stale-after: 0s}", "health: {stale-after: 0}"),
        ("replicas: 4096", "replicas: 4097"),
        ("replicas: 1", "replicas: 0"),
        ("replicas: 2", "replicas: -2"),
    ] {
        assert!(ok(good) && !ok(bad), "{good} {bad}");
    }
}

#[test]
fn config_may_be_anything_up_to_its_size() {
    assert_eq!(plugin("config: [1, a, ~]").config, serde_json::json!([1, "a", null]));
    let config = |n: usize| super::with(&format!("config: {}", "x".repeat(n)));
    assert!(read(&config(64 * 1024 - 2)).is_ok() && read(&config(64 * 1024 - 1)).is_err());
}

#[test]
fn a_plugin_has_1_to_16_resources() {
    let text = |n: usize| {
        let names: Vec<String> = (0..n).map(|n| format!("v.com/r{n}")).collect();
        super::with("").replace("[v.com/x]", &format!("[{}]", names.join(", ")))
    };
    assert_eq!(read(&text(16)).unwrap().plugins["p"].resources.len(), 16);
    assert!(read(&text(17)).is_err() && read(&text(0)).is_err());
}

#[test]
fn a_component_in_a_registry_is_named_by_its_digest_and_may_need_a_signature() {
    let policy = read(crate::tests::EVERYTHING).unwrap();
    let pulled = &policy.plugins["pulled"];
    let ComponentSource::Oci(reference) = &pulled.component else {
        panic!("{:?}", pulled.component);
    };
    assert_eq!((reference.repository.name.as_str(), reference.digest.0[31]), ("vendor/gpu", 1));
    assert_eq!(pulled.cosign_keys.as_deref(), Some(&["vendor.pem".to_owned()][..]));
    assert_eq!(policy.plugins["all"].cosign_keys, None);
}
