//! What is wrong in the parts of a plugin that grant more than devices: the messages, and for every limit the last that is
//! obeyed and the first that is not.

use super::{plugin, read, with};

/// The messages for a plugin with these lines; the first of them is line 7.
fn messages(lines: &str) -> String {
    read(&with(lines)).unwrap_err().to_string()
}

fn ok(lines: &str) -> bool {
    read(&with(lines)).is_ok()
}

/// `key: [entry 0, entry 1, …]`
fn list(key: &str, n: usize, entry: impl Fn(usize) -> String) -> String {
    format!("{key}: [{}]", (0..n).map(entry).collect::<Vec<_>>().join(", "))
}

fn map(n: usize, entry: impl Fn(usize) -> String) -> String {
    format!("{{{}}}", (0..n).map(entry).collect::<Vec<_>>().join(", "))
}

#[test]
fn device_info_needs_hardware_to_tell_of() {
    insta::assert_snapshot!(messages("hardware: [{subsystem: pci}]\ncontainers: {device-info: true}"), @r#"policy.yaml:8:17: "containers" in plugin "p" has "device-info", which tells of a PCI function, and no entry of "hardware" has "use: offer""#);
    assert!(ok("containers: {device-info: false}"));
    let offers = "hardware: [{subsystem: pci, use: offer}]\ncontainers: {device-info: true}";
    assert!(plugin(offers).containers.device_info);
    assert!(!plugin("").containers.device_info);
}

#[test]
fn files_with_mistakes_are_refused() {
    insta::assert_snapshot!(messages("files:
  - proc/x
  - /proc/driver/../x
  - /proc/driver/[
  - /*/x
  - /opt/**/a/**
  - /opt/a**
  - /proc/self/status
  - \"/proc/[0-9]*/status\"
  - /proc/*/environ
  - /sys/module/*/sections/*
  - /sys/devices/**/config
  - /sys/bus/pci/devices/*/resource[0-9]
  - /dev/acme*
  - /etc/shadow
  - /opt/v/*.key
  - /opt/x
  - /opt/x
  - 3"), @r#"
        policy.yaml:8:9: "files" in plugin "p" has "proc/x", which must be absolute
        policy.yaml:9:9: "files" in plugin "p" has "/proc/driver/../x", which must be a plain path, without "//", "." and ".."
        policy.yaml:10:9: "files" in plugin "p" is not a pattern: "/proc/driver/[": unclosed character class; missing ']'
        policy.yaml:11:9: "files" in plugin "p" has "/*/x", which must begin with a directory that is written out, such as /proc
        policy.yaml:12:9: "files" in plugin "p" has "/opt/**/a/**", which may have only one "**"
        policy.yaml:13:9: "files" in plugin "p" has "/opt/a**", in which "**" must stand alone between "/"
        policy.yaml:14:9: "files" in plugin "p" has "/proc/self/status", which is never read: it tells about devgate itself
        policy.yaml:15:9: "files" in plugin "p" has "/proc/[0-9]*/status", which is never read: it tells about a process of the node
        policy.yaml:16:9: "files" in plugin "p" has "/proc/*/environ", which is never read: it may hold a secret that was passed on a command line
        policy.yaml:17:9: "files" in plugin "p" has "/sys/module/*/sections/*", which is never read: it tells the kernel's addresses
        policy.yaml:18:9: "files" in plugin "p" has "/sys/devices/**/config", which is never read: it is the device's configuration space, reading it acts on the device
        policy.yaml:19:9: "files" in plugin "p" has "/sys/bus/pci/devices/*/resource[0-9]", which is never read: it is the device's memory, reading it acts on the device
        policy.yaml:20:9: "files" in plugin "p" has "/dev/acme*", which is never read: it is a device node, which hardware and host-nodes grant
        policy.yaml:21:9: "files" in plugin "p" has "/etc/shadow", which is never read: it decides who may log in
        policy.yaml:22:9: "files" in plugin "p" has "/opt/v/*.key", which is never read: it may hold a key
        policy.yaml:24:9: "files" in plugin "p" has "/opt/x" twice
        policy.yaml:25:9: "files" in plugin "p" must be text, not a number; put it in quotes
        "#);
    let files = |n| list("files", n, |n| format!("/opt/v{n}"));
    assert!(ok(&files(256)) && !ok(&files(257)));
}

#[test]
fn dangers_that_nobody_knows_are_refused() {
    insta::assert_snapshot!(messages("dangerous: [i2c, memory, everything, watchdogs, i2c]"), @r#"
        policy.yaml:7:22: "dangerous" in plugin "p" has "memory", which is none of its words; docs/policy.md lists them
        policy.yaml:7:30: "dangerous" in plugin "p" has "everything", which is none of its words; docs/policy.md lists them
        policy.yaml:7:42: "dangerous" in plugin "p" has "watchdogs", which is none of its words; did you mean "watchdog"?
        policy.yaml:7:53: "dangerous" in plugin "p" has "i2c" twice
        "#);
    assert!(ok("dangerous: [mem, sockets]") && ok("dangerous: mem"));
}

#[test]
fn annotations_with_mistakes_are_refused() {
    insta::assert_snapshot!(messages("containers:
  annotations:
    cdi.k8s.io/vendor: any
    \"a b\": any
    V.com/x: any
    v.com/: any
    io.kubernetes.container.hash: any
    node.kubernetes.io/x: any
    io.containerd.x: any
    org.systemd.property.DeviceAllow: any
    devices.nri.io/container.x: any
    v.com/x: 3
    v.com/y: \"{id}\""), @r#"
        policy.yaml:9:9: the annotation "cdi.k8s.io/vendor" names CDI devices; write them under "cdi", which kubelets pass on from 1.29 on
        policy.yaml:10:9: "a b" is not the key of an annotation; a domain may stand before one "/"; then 1 to 63 letters, digits, "-", "_" or "."
        policy.yaml:11:9: "V.com/x" is not the key of an annotation; a domain may stand before one "/"; then 1 to 63 letters, digits, "-", "_" or "."
        policy.yaml:12:9: "v.com/" is not the key of an annotation; a domain may stand before one "/"; then 1 to 63 letters, digits, "-", "_" or "."
        policy.yaml:13:9: the annotation "io.kubernetes.container.hash" is the kubelet's own, no plugin may set it
        policy.yaml:14:9: the annotation "node.kubernetes.io/x" is the kubelet's own, no plugin may set it
        policy.yaml:15:9: the annotation "io.containerd.x" is an order to the container runtime; add "dangerous: [runtime-annotations]" if that is meant
        policy.yaml:16:9: the annotation "org.systemd.property.DeviceAllow" is an order to the container runtime; add "dangerous: [runtime-annotations]" if that is meant
        policy.yaml:17:9: the annotation "devices.nri.io/container.x" is an order to the container runtime; add "dangerous: [runtime-annotations]" if that is meant
        policy.yaml:18:18: "v.com/x" in containers of plugin "p" must be a template, a list of values or the word any, not a number; put it in quotes
        policy.yaml:19:18: "v.com/y" in containers of plugin "p" must be a template with {ids}, {property.NAME} and {resource}, and {{ or }} for a brace, not "{id}"
        "#);
    assert!(ok(
        "containers: {annotations: {com.example.fpga.mode: fpga.example.com/region, v.com/x: any, plain: [a, b]}}"
    ));
    assert!(ok("dangerous: runtime-annotations\ncontainers: {annotations: {run.oci.x: any}}"));
    let several = "containers: {annotations: {v.com/x: any}}";
    let text = with(several).replace("[v.com/x]", "[v.com/x, v.com/y]");
    assert!(read(&text).unwrap_err().to_string().contains("would be set by each of this plugin's 2 resources"));
    let annotations = |n| format!("containers: {{annotations: {}}}", map(n, |n| format!("v.com/a{n}: any")));
    assert!(ok(&annotations(64)) && !ok(&annotations(65)));
}

#[test]
fn cdi_with_mistakes_is_refused() {
    insta::assert_snapshot!(messages("containers:
  cdi:
    gpu: \"{ids}\"
    example.com/gpu=0: \"{ids}\"
    example.com/g u: any
    v.com/a: [all, \"a b\"]
    v.com/b: \"{ids},x\"
    v.com/c: \"{resource}\"
    v.com/d: {}"), @r#"
        policy.yaml:9:9: "gpu" is not a kind of CDI device; a vendor and a class, such as vendor.com/gpu; the devices' names stand in the rule
        policy.yaml:10:9: "example.com/gpu=0" is not a kind of CDI device; a vendor and a class, such as vendor.com/gpu; the devices' names stand in the rule
        policy.yaml:11:9: "example.com/g u" is not a kind of CDI device; a vendor and a class, such as vendor.com/gpu; the devices' names stand in the rule
        policy.yaml:12:18: "v.com/a" in containers of plugin "p" has "a b", but a CDI device's name consists of letters, digits, "_", "-", "." and ":"
        policy.yaml:13:18: "v.com/b" in containers of plugin "p" has "{ids},x", but a CDI device's name consists of letters, digits, "_", "-", "." and ":"
        policy.yaml:14:18: "v.com/c" in containers of plugin "p" has "{resource}", but a CDI device's name consists of letters, digits, "_", "-", "." and ":"
        policy.yaml:15:18: "v.com/d" in containers of plugin "p" must be a template, a list of values or the word any, not a mapping
        "#);
    assert!(ok(
        "containers: {cdi: {v.com/a: all, v.com/b: [\"0\", all], v.com/c: \"gpu{property.minor}:0\", v.com/d: any}}"
    ));
    let cdi = |n| format!("containers: {{cdi: {}}}", map(n, |n| format!("v.com/c{n}: any")));
    assert!(ok(&cdi(16)) && !ok(&cdi(17)));
}

#[test]
fn mounts_with_mistakes_are_refused() {
    insta::assert_snapshot!(messages("containers:
  mounts:
    a b: {source: /opt/a, target: /opt/a}
    a: {source: opt/a, target: /opt/../a}
    b: {source: /opt/a}
    c: {source: /opt/a, target: /usr, readonly: true}
    d: {source: /run/vendor, target: /run/vendor}
    e: {source: /, target: /host}
    f: {source: /var/lib/kubelet, target: /k}
    g: {source: /opt/v, target: /proc/v, writable: \"no\"}
    h: {source: /opt/v, target: /opt/h, writable: true}
    i: {source: /srv/v, target: /var/run/secrets/x}
    j: /opt/a"), @r#"
        policy.yaml:9:9: the name of a mount must be 1 to 63 letters, digits, "-", "_" or ".", not "a b"
        policy.yaml:10:21: "source" in mount "a" of plugin "p" has "opt/a", which must be absolute
        policy.yaml:10:36: "target" in mount "a" of plugin "p" has "/opt/../a", which must be a plain path, without "//", "." and ".."
        policy.yaml:11:12: mount "b" of plugin "p" has no "target"
        policy.yaml:12:37: "target" in mount "c" of plugin "p" has "/usr", which every container has by itself; a path beneath it may be a target
        policy.yaml:12:43: unknown key "readonly" in mount "c" of plugin "p"
        policy.yaml:13:21: "source" in mount "d" of plugin "p" has "/run/vendor", which is where the node's services have their sockets and secrets; add "dangerous: [run]" if that is meant
        policy.yaml:14:21: "source" in mount "e" of plugin "p" has "/", which has directories of the node's own in it; add "dangerous: [system]" if that is meant
        policy.yaml:15:21: "source" in mount "f" of plugin "p" has "/var/lib/kubelet", which is the kubelet's own, with every pod's secrets; add "dangerous: [system]" if that is meant
        policy.yaml:16:37: "target" in mount "g" of plugin "p" has "/proc/v", which is where no container gets a mount from a plugin
        policy.yaml:16:56: "writable" in mount "g" of plugin "p" must be true or false, not text
        policy.yaml:17:21: "source" in mount "h" of plugin "p" has "/opt/v", which has programs of the node in it, and the container could write to them; add "dangerous: [system]" if that is meant
        policy.yaml:18:37: "target" in mount "i" of plugin "p" has "/var/run/secrets/x", which is where no container gets a mount from a plugin
        policy.yaml:19:12: mount "j" of plugin "p" must be a mapping, not text
        "#);
    for target in
        ["/", "/etc", "/dev", "/lib64", "/usr/lib", "/usr/lib64", "/sys", "/etc/hosts", "/dev/shm", "/run", "/proc/x"]
    {
        assert!(!ok(&format!("containers: {{mounts: {{a: {{source: /srv/a, target: {target}}}}}}}")), "{target}");
    }
    for target in ["/etc/v", "/usr/lib/libv.so", "/lib64/libv.so", "/dev/v", "/sys/v", "/run/v", "/v", "/opt", "/mnt"] {
        assert!(ok(&format!("containers: {{mounts: {{a: {{source: /srv/a, target: {target}}}}}}}")), "{target}");
    }
    for (key, source, more) in [
        ("run", "/run/v", ""),
        ("run", "/var/run/v", ""),
        ("system", "/etc/v", ""),
        ("system", "/", ""),
        ("system", "/opt/v", ", writable: true"),
    ] {
        let lines = format!("containers: {{mounts: {{a: {{source: {source}, target: /v{more}}}}}}}");
        assert!(!ok(&lines) && ok(&format!("dangerous: [{key}]\n{lines}")), "{source}");
    }
    let mounts =
        |n| format!("containers: {{mounts: {}}}", map(n, |n| format!("m{n}: {{source: /srv/a, target: /v{n}}}")));
    assert!(ok(&mounts(64)) && !ok(&mounts(65)));
    let long = |n: usize| format!("containers: {{mounts: {{a: {{source: /srv/a, target: /{}}}}}}}", "x".repeat(n - 1));
    assert!(ok(&long(1_024)) && !ok(&long(1_025)));
    let name = |n: usize| format!("containers: {{mounts: {{{}: {{source: /srv/a, target: /v}}}}}}", "x".repeat(n));
    assert!(ok(&name(63)) && !ok(&name(64)));
}

#[test]
fn container_paths_with_mistakes_are_refused() {
    insta::assert_snapshot!(messages("hardware:
  - {subsystem: tty, use: offer, nodes: [{container-path: /run/x}, {container-path: /dev/null}, {container-path: \"/dev/{id}\"}]}
host-nodes: {shared: /dev/x, container-path: /dev/../x}"), @r#"
        policy.yaml:8:63: "container-path" in nodes in hardware of plugin "p" has "/run/x", which must start with /dev/
        policy.yaml:8:89: "container-path" in nodes in hardware of plugin "p" has "/dev/null", which is what every container has already
        policy.yaml:8:118: "container-path" in nodes in hardware of plugin "p" has "/dev/{id}", which may have {name} for the last part of the node's own path, and no other braces
        policy.yaml:9:50: "container-path" in host-nodes of plugin "p" has "/dev/../x", which must be a plain path, without "//", "." and ".."
        "#);
}

#[test]
fn kernel_patterns_with_mistakes_are_refused() {
    insta::assert_snapshot!(messages("kernel-log:
  - 'ACME: ([0-9]+)'
  - '^ACME: Fault'
  - '^ACME: (['
  - '^a(b)|c'
  - '^(a{1000}){1000}'
  - '^(a)'
  - '^(a)'"), @r#"
        policy.yaml:8:9: "kernel-log" in plugin "p" has "ACME: ([0-9]+)", which must start with "^", and have no "|" outside brackets
        policy.yaml:9:9: "kernel-log" in plugin "p" has "^ACME: Fault", which captures nothing: put what the component needs in "( )"
        policy.yaml:10:9: "kernel-log" in plugin "p" has "^ACME: ([", which is not a regular expression: unclosed character class
        policy.yaml:11:9: "kernel-log" in plugin "p" has "^a(b)|c", which must start with "^", and have no "|" outside brackets
        policy.yaml:12:9: "kernel-log" in plugin "p" has "^(a{1000}){1000}", which is too large when it is compiled
        policy.yaml:14:9: "kernel-log" in plugin "p" has "^(a)" twice
        "#);
    let patterns = |n| list("kernel-log", n, |n| format!("'^v{n} (x)'"));
    assert!(ok(&patterns(64)) && !ok(&patterns(65)));
}

#[test]
fn what_several_containers_have_is_not_written_to() {
    let control = "control: [{attribute: reset, values: a, moment: release}]";
    insta::assert_snapshot!(messages(&format!("{control}\nreplicas: 2")), @r#"policy.yaml:7:14: "control" in plugin "p" must not be there with several "replicas": several containers have the same device, and what one of them has written acts on all"#);
    insta::assert_snapshot!(messages(&format!("{control}\nshares-hardware: true")), @r#"policy.yaml:7:14: "control" in plugin "p" must not be there with "shares-hardware: true": several containers have the same device, and what one of them has written acts on all"#);
    for one in ["replicas: 1", "shares-hardware: false"] {
        plugin(&format!("{control}\n{one}"));
    }
}

#[test]
fn units_are_parts_of_one_device_or_share_everything() {
    let partitions = "partitions: {own: \"/dev/x[0-9]\", common: [/dev/y, \"/dev/x*\"]}";
    insta::assert_snapshot!(messages(&format!("{partitions}\nshares-hardware: true")), @r#"policy.yaml:7:17: "partitions" in plugin "p" must not be there with "shares-hardware: true", which lets units have everything in common"#);
    insta::assert_snapshot!(messages("partitions: true"), @r#"policy.yaml:7:17: partitions of plugin "p" must be a mapping, not true or false"#);
    insta::assert_snapshot!(messages("partitions: {common: /dev/y}"), @r#"policy.yaml:7:17: partitions of plugin "p" has no "own""#);
    insta::assert_snapshot!(messages("partitions: {own: [/sys/x, \"/dev/x[\"]}"), @r#"
        policy.yaml:7:24: "own" in partitions of plugin "p" has "/sys/x", which must start with /dev/
        policy.yaml:7:32: "own" in partitions of plugin "p" is not a pattern: "/dev/x[": unclosed character class; missing ']'
    "#);
    let many = |count| format!("partitions: {{own: [{}]}}", vec!["/dev/x"; count].join(", "));
    assert!(ok(&many(64)) && ok(&format!("{partitions}\nshares-hardware: false")));
    insta::assert_snapshot!(messages(&many(65)), @r#"policy.yaml:7:23: "own" in partitions of plugin "p" must have at most 64 entries"#);
    let partitions = plugin(partitions).partitions.unwrap();
    assert!(partitions.is_own("/dev/x1") && !partitions.is_own("/dev/y") && !partitions.is_own("/dev/x12"));
    assert!(partitions.is_common("/dev/x1") && partitions.is_common("/dev/y") && !partitions.is_common("/dev/z"));
}

#[test]
fn control_with_mistakes_is_refused() {
    insta::assert_snapshot!(messages("control:
  - {attribute: config, values: \"1\", moment: prepare}
  - {attribute: ../reset, values: \"1\", moment: [prepare, now]}
  - {attribute: reset, moment: []}
  - {values: [\"a\\nb\"], moment: release}
  - reset
state: maybe"), @r#"
        policy.yaml:8:21: "attribute" in control of plugin "p" has "config", which is never read: it is the device's configuration space, reading it acts on the device
        policy.yaml:9:21: "attribute" in control of plugin "p" has "../reset", which must be a path relative to the device, without "//", "." and ".."
        policy.yaml:9:62: "moment" in control of plugin "p" must be prepare or release, not "now"
        policy.yaml:10:9: control of plugin "p" has no "values"
        policy.yaml:10:36: "moment" in control of plugin "p" must not be empty
        policy.yaml:11:9: control of plugin "p" has no "attribute"
        policy.yaml:11:19: "values" in control of plugin "p" must be values of at most 256 bytes without control characters
        policy.yaml:12:9: control of plugin "p" must be a mapping, not text
        policy.yaml:13:12: "state" in plugin "p" must be true or false, not text
        "#);
    let entry = |values: &str| format!("control: [{{attribute: a, values: {values}, moment: prepare}}]");
    let values = |n: usize| format!("[{}]", (0..n).map(|n| format!("v{n}")).collect::<Vec<_>>().join(", "));
    assert!(ok(&entry(&values(64))) && !ok(&entry(&values(65))));
    assert!(ok(&entry(&"x".repeat(256))) && !ok(&entry(&"x".repeat(257))));
    let entries = |n| list("control", n, |n| format!("{{attribute: a{n}, values: a, moment: release}}"));
    assert!(ok(&entries(64)) && !ok(&entries(65)));
}

#[test]
fn filters_with_mistakes_are_refused() {
    insta::assert_snapshot!(messages("only: [{}, {name: x}, {id: \"[\"}, {property: [a]}]
except: [{id: 3}, x, {property: {mode: }}]
placement: near
rename:
  - {resource: \"v.com/*\", to: v.com/x}
  - {resource: v.com/raw, to: v.com/y}
  - {to: v.com/x}
  - {resource: v.com/raw}
  - {resource: v.com/raw, to: v.com/x}
  - {resource: v.com/other, to: v.com/x}
  - {resource: v.com/raw, id: a, to: v.com/x}"), @r#"
        policy.yaml:7:12: only of plugin "p" has an entry that states nothing, and would match every unit; state id, resource, device or property
        policy.yaml:7:17: unknown key "name" in only of plugin "p"
        policy.yaml:7:32: "id" in only of plugin "p" is not a pattern: "[": unclosed character class; missing ']'
        policy.yaml:7:49: "property" in only of plugin "p" must be a mapping, not a list
        policy.yaml:8:19: "id" in except of plugin "p" must be text or a list of texts, not a number; put it in quotes
        policy.yaml:8:23: except of plugin "p" must be a mapping, not text
        policy.yaml:8:42: "mode" in except of plugin "p" must be text or a list of texts, not nothing
        policy.yaml:9:16: "placement" in plugin "p" must be packed or spread, not "near"
        policy.yaml:11:20: "resource" in rename of plugin "p" must end with 1 to 63 letters, digits, "-", "_" or ".", a letter or digit at both ends, not "v.com/*"
        policy.yaml:12:35: "to" in rename of plugin "p" has "v.com/y", which "resources" does not grant; add it there
        policy.yaml:13:9: rename of plugin "p" has no "resource"
        policy.yaml:14:9: rename of plugin "p" has no "to"
        policy.yaml:16:9: rename of plugin "p" sends units of "v.com/other" to "v.com/x", as it does those of "v.com/raw" (policy.yaml:15); a resource is made of units of one kind
        "#);
}

#[test]
fn resources_with_mistakes_are_refused() {
    let errors = |resources: &str| {
        let text = with("").replace("[v.com/x]", resources);
        read(&text).unwrap_err().to_string()
    };
    insta::assert_snapshot!(errors("[\"*.com/x\", \"v.com/[\", \"v.com/a/*\", \"V.com/*\", \"kubernetes.io/*\", \"v.com/a*\", \"v.com/a*\", \"*\", \"v.com/**\"]"), @r#"
        policy.yaml:6:17: resource "*.com/x" must have its domain written out: a pattern stands only behind the "/"
        policy.yaml:6:28: resource "v.com/[" is not a pattern: "[": unclosed character class; missing ']'
        policy.yaml:6:39: resource "v.com/a/*" must contain only one "/"
        policy.yaml:6:52: resource "V.com/*" must start with a lower-case domain name of at most 244 bytes
        policy.yaml:6:63: resource "kubernetes.io/*" must not be in kubernetes.io, which is Kubernetes' own
        policy.yaml:6:94: "resources" in plugin "p" has "v.com/a*" twice
        policy.yaml:6:106: resource "*" must be a vendor's domain and a name, such as vendor.com/gpu
        "#);
}

#[test]
fn rules_without_nul() {
    assert!(!ok("containers: {env: {A: \"a\\0b\"}}") && !ok("containers: {env: {A: [\"a\\0b\"]}}"));
    let env = |n| format!("containers: {{env: {}}}", map(n, |n| format!("A{n}: any")));
    assert!(ok(&env(64)) && !ok(&env(65)));
}

#[test]
fn lists_have_an_end() {
    let selectors = |n| list("hardware", n, |_| "{subsystem: pci}".to_owned());
    assert!(ok(&selectors(256)) && !ok(&selectors(257)));
    let nodes = |n| format!("hardware: [{{subsystem: pci, use: offer, {}}}]", list("nodes", n, |_| "{}".to_owned()));
    assert!(ok(&nodes(64)) && !ok(&nodes(65)));
    let host_nodes = |n| format!("host-nodes: {{{}}}", list("shared", n, |n| format!("/dev/x{n}")));
    assert!(ok(&host_nodes(256)) && !ok(&host_nodes(257)));
    let attribute = |n| format!("hardware: [{{subsystem: pci, attributes: {{{}: x}}}}]", "a".repeat(n));
    assert!(ok(&attribute(256)) && !ok(&attribute(257)));
    let patterns = |n: usize| format!("hardware: [{{subsystem: pci, name: \"{}*\"}}]", "a".repeat(n - 1));
    assert!(ok(&patterns(256)) && !ok(&patterns(257)));
}

#[test]
fn a_policy_has_at_most_256_plugins() {
    let plugins = |n: usize| {
        let entry = |n: usize| format!("  p{n}: {{component: {{file: p.wasm}}, resources: [v.com/r{n}]}}\n");
        let all: String = (0..n).map(entry).collect();
        format!("apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n{all}")
    };
    assert!(read(&plugins(256)).is_ok() && read(&plugins(257)).is_err());
}
