use super::{SAMPLE, read, with};
use crate::{PolicyFile, parse};

fn errors(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

/// The messages for a plugin with these lines; the first of them is line 7.
fn messages(lines: &str) -> String {
    errors(&with(lines))
}

#[test]
fn unknown_keys_are_refused_with_the_nearest() {
    insta::assert_snapshot!(messages("hardwear: []\nhost_nodes: {}\nprivileged: true\n"), @r#"
        policy.yaml:7:5: unknown key "hardwear" in plugin "p"; did you mean "hardware"?
        policy.yaml:8:5: unknown key "host_nodes" in plugin "p"; did you mean "host-nodes"?
        policy.yaml:9:5: unknown key "privileged" in plugin "p"
        "#);
    insta::assert_snapshot!(messages("hardware: [{subsystem: pci, vendro: x, nodes: [{acces: r}], use: offer}]"), @r#"
        policy.yaml:7:33: unknown key "vendro" in hardware of plugin "p"; did you mean "vendor"?
        policy.yaml:7:53: unknown key "acces" in nodes in hardware of plugin "p"; did you mean "access"?
        "#);
    insta::assert_snapshot!(messages("env: {A: any}\nmounts: {}\nmemory: 1MiB"), @r#"
        policy.yaml:7:5: unknown key "env" in plugin "p"; it belongs under "containers"
        policy.yaml:8:5: unknown key "mounts" in plugin "p"; it belongs under "containers"
        policy.yaml:9:5: unknown key "memory" in plugin "p"; it belongs under "limits"
        "#);
    insta::assert_snapshot!(messages("limits: {mem: 1MiB, CPU: 1s, hostcalls: 3}\nhealth: {after: 1s}\n\"a\\e[31m\": 1"), @r#"
        policy.yaml:7:14: unknown key "mem" in limits of plugin "p"; did you mean "memory"?
        policy.yaml:7:25: unknown key "CPU" in limits of plugin "p"; did you mean "cpu"?
        policy.yaml:7:34: unknown key "hostcalls" in limits of plugin "p"; did you mean "host-calls"?
        policy.yaml:8:14: unknown key "after" in health of plugin "p"
        policy.yaml:9:5: unknown key "a\u{1b}[31m" in plugin "p"
        "#);
}

#[test]
fn a_component_comes_from_one_place_that_says_what_is_meant() {
    let component = |text: &str| errors(&with("").replace("{file: p.wasm}", text));
    insta::assert_snapshot!(component("{}"), @r#"policy.yaml:5:16: component of plugin "p" has neither "file" nor "oci""#);
    insta::assert_snapshot!(component("{oci: registry.example.com/gpu:1.2}"), @r#"policy.yaml:5:22: "oci" in component of plugin "p" must have the digest of what is meant, such as registry.example.com/gpu:1.2@sha256:9f2c…, because a tag can be given to something else; `devgate pull registry.example.com/gpu:1.2` prints it"#);
    insta::assert_snapshot!(component("{oci: \"vendor/gpu@sha256:12\"}"), @r#"policy.yaml:5:22: "oci" in component of plugin "p" has no digest of the form sha256: and 64 hexadecimal digits in lower case; it is "vendor/gpu@sha256:12""#);
    insta::assert_snapshot!(component("{oci: \"vendor/gpu\", file: p.wasm, sha256: 12}"), @r#"
        policy.yaml:5:22: "oci" in component of plugin "p" names no registry: write its host before the first "/", such as registry.example.com; it is "vendor/gpu"
        policy.yaml:5:42: "file" in component of plugin "p" must not be there beside "oci": a component comes from one place
        policy.yaml:5:58: "sha256" in component of plugin "p" must not be there beside "oci", whose digest says what is meant
        "#);
    insta::assert_snapshot!(component("{file: p.wasm, signature: {}}"), @r#"policy.yaml:5:42: signature of plugin "p" has no "cosign-key""#);
    insta::assert_snapshot!(component("{file: p.wasm, signature: {cosign-key: [a, ../b, 3]}}"), @r#"
        policy.yaml:5:59: "cosign-key" in signature of plugin "p" must be a path in the directory of components, not absolute and without "..", not "../b"
        policy.yaml:5:65: "cosign-key" in signature of plugin "p" must be text, not a number; put it in quotes
        "#);
    insta::assert_snapshot!(component("{file: p.wasm, signature: {cosign-key: [a, b, c, d, e, f, g, h, i]}}"), @r#"policy.yaml:5:55: "cosign-key" in signature of plugin "p" must have at most 8 keys, not 9"#);
}

#[test]
fn wrong_kinds_are_named() {
    insta::assert_snapshot!(messages("hardware: pci\nhost-nodes: [/dev/x]\nreplicas: many\nshares-hardware: \"yes\"\nlimits:\nconfig: 3\ncontainers: {env: [A]}"), @r#"
        policy.yaml:7:15: "hardware" in plugin "p" must be a list, not text
        policy.yaml:8:17: host-nodes of plugin "p" must be a mapping, not a list
        policy.yaml:9:15: "replicas" in plugin "p" must be a whole number, not text
        policy.yaml:10:22: "shares-hardware" in plugin "p" must be true or false, not text
        policy.yaml:11:11: limits of plugin "p" must be a mapping, not nothing
        policy.yaml:13:23: "env" in containers of plugin "p" must be a mapping, not a list
        "#);
    insta::assert_snapshot!(messages("hardware:\n  - {subsystem: pci, vendor: 0x10de, device: 8245, class: {a: b}}\n  - pci\n  - {vendor: \"0x10de\"}\n  - {subsystem: pci, vendor: []}\nlimits: {memory: 16, cpu: 100, handles: 1.5}"), @r#"
        policy.yaml:8:34: "vendor" in hardware of plugin "p" must be text or a list of texts, not a number; put it in quotes
        policy.yaml:8:50: "device" in hardware of plugin "p" must be text or a list of texts, not a number; put it in quotes
        policy.yaml:8:63: "class" in hardware of plugin "p" must be text or a list of texts, not a mapping
        policy.yaml:9:9: hardware of plugin "p" must be a mapping, not text
        policy.yaml:10:9: hardware of plugin "p" has no "subsystem"
        policy.yaml:11:34: "vendor" in hardware of plugin "p" must not be empty
        policy.yaml:12:22: "memory" in limits of plugin "p" must be a size such as 64KiB or 16MiB, not a number; add a unit
        policy.yaml:12:31: "cpu" in limits of plugin "p" must be a duration such as 500ms, 2s or 5m, not a number; add a unit
        policy.yaml:12:45: "handles" in limits of plugin "p" must be a whole number between 16 and 1000000
        "#);
}

#[test]
fn values_out_of_range_are_refused() {
    insta::assert_snapshot!(messages("replicas: 5000\nlimits: {memory: 1KiB, deadline: 1h, cpu: 1sec, read: lots}\nhealth: {check-every: 1us}"), @r#"
        policy.yaml:7:15: "replicas" in plugin "p" must be a whole number between 1 and 4096
        policy.yaml:8:22: "memory" in limits of plugin "p" must be between 64KiB and 1GiB, not 1KiB
        policy.yaml:8:38: "deadline" in limits of plugin "p" must be between 1ms and 1m, not 1h
        policy.yaml:8:47: "cpu" in limits of plugin "p" must be a whole number and us, ms, s, m or h, such as 500ms, not "1sec"
        policy.yaml:8:59: "read" in limits of plugin "p" must be a whole number and B, KiB, MiB or GiB, such as 16MiB, not "lots"
        policy.yaml:9:27: "check-every" in health of plugin "p" must be between 100ms and 1h, not 1us
        "#);
    insta::assert_snapshot!(messages("limits: {cpu: 2s}"), @r#"policy.yaml:7:19: "cpu" in limits of plugin "p" leaves cpu 2s longer than deadline 500ms, so the deadline always ends a call first; raise deadline or lower cpu"#);
}

#[test]
fn selectors_with_mistakes_are_refused() {
    insta::assert_snapshot!(messages("hardware:
  - {subsystem: /sys/bus/pci, use: both}
  - {subsystem: pci, vendor: \"0x10d\", class: \"0x3\", product: \"0001\"}
  - {subsystem: usb, device: \"6001\", serial: \"\"}
  - {subsystem: drm, vendor: \"0x10de\"}
  - {subsystem: pci, name: \"[\", nodes: [{subsystem: vfio, access: rwx}]}
  - {subsystem: pci, attributes: {config: \"*\", ../x: \"*\", qat/wrap_key: \"*\", numa_node: 0}}"), @r#"
        policy.yaml:8:21: "subsystem" in hardware of plugin "p" must be the plain name of a bus or class of the kernel, such as pci, not "/sys/bus/pci"
        policy.yaml:8:40: "use" in hardware of plugin "p" must be read or offer, not "both"
        policy.yaml:9:34: "vendor" in hardware of plugin "p" must be four hexadecimal digits, such as "0x10de", not "0x10d"
        policy.yaml:9:50: "class" in hardware of plugin "p" must be the first two, four or all six hexadecimal digits of a class, such as "0x0300", not "0x3"
        policy.yaml:9:57: "product" in a selector is for usb, not for "pci"; a PCI device's is "device"
        policy.yaml:10:26: "device" in a selector is for pci, not for "usb"; a USB device's is "product"
        policy.yaml:10:50: "serial" in hardware of plugin "p" must not be empty
        policy.yaml:11:26: "vendor" in a selector is for pci and usb, not for "drm"; state the attribute that it has: attributes: {vendor: …}
        policy.yaml:12:32: "name" in hardware of plugin "p" is not a pattern: "[": unclosed character class; missing ']'
        policy.yaml:12:37: "nodes" in hardware of plugin "p" offers nodes, but the selector only reads; add "use: offer"
        policy.yaml:12:71: "access" in nodes in hardware of plugin "p" must be r, w or rw, with m added to allow mknod, not "rwx"
        policy.yaml:13:39: the attribute "config" in a selector is never read: it is the device's configuration space, reading it acts on the device
        policy.yaml:13:52: the attribute "../x" in a selector must be a path relative to the device, without "//", "." and ".."
        policy.yaml:13:63: the attribute "qat/wrap_key" in a selector is never read: it may hold a key
        policy.yaml:13:93: "numa_node" in hardware of plugin "p" must be text or a list of texts, not a number; put it in quotes
        "#);
}

#[test]
fn host_nodes_with_mistakes_are_refused() {
    insta::assert_snapshot!(messages("host-nodes:
  exclusive: [\"/dev/acme*\", acme0, /dev/../etc/passwd, \"/dev/[\", \"/dev/{a/b,c}\", /dev/a, /dev/a]
  shared: [/dev/acmectl, \"/dev/acme*\"]
  access: all"), @r#"
        policy.yaml:8:33: "exclusive" in host-nodes of plugin "p" has "acme0", which must start with /dev/
        policy.yaml:8:40: "exclusive" in host-nodes of plugin "p" has "/dev/../etc/passwd", which must be a plain path, without "//", "." and ".."
        policy.yaml:8:60: "exclusive" in host-nodes of plugin "p" is not a pattern: "/dev/[": unclosed character class; missing ']'
        policy.yaml:8:70: "exclusive" in host-nodes of plugin "p" is not a pattern: "/dev/{a/b,c}": a "/" stands inside brackets
        policy.yaml:8:94: "exclusive" in host-nodes of plugin "p" has "/dev/a" twice
        policy.yaml:9:16: "shared" in host-nodes of plugin "p" has "/dev/acmectl", which "exclusive" has as "/dev/acme*": a node is one or the other
        policy.yaml:9:30: "shared" in host-nodes of plugin "p" has "/dev/acme*", which "exclusive" has as "/dev/acme*": a node is one or the other
        policy.yaml:10:15: "access" in host-nodes of plugin "p" must be r, w or rw, with m added to allow mknod, not "all"
        "#);
    insta::assert_snapshot!(messages("host-nodes: {access: r}"), @r#"policy.yaml:7:17: "host-nodes" in plugin "p" lists no node, write "exclusive" or "shared""#);
}

#[test]
fn environment_with_mistakes_is_refused() {
    insta::assert_snapshot!(messages("containers:
  env:
    1A: any
    A-B: any
    \"{RES}\": any
    LD_PRELOAD: any
    PATH: \"{property.path}\"
    A: \"{id}\"
    B: [\"{ids}\"]
    C: 1
    D: {any: true}
    E: []
    F: [1]
    G: \"\""), @r#"
        policy.yaml:9:9: "1A" is not the name of an environment variable; letters, digits and "_", not a digit first; {RESOURCE} stands for the resource's name
        policy.yaml:10:9: "A-B" is not the name of an environment variable; letters, digits and "_", not a digit first; {RESOURCE} stands for the resource's name
        policy.yaml:11:9: "{RES}" is not the name of an environment variable; letters, digits and "_", not a digit first; {RESOURCE} stands for the resource's name
        policy.yaml:12:21: "LD_PRELOAD" in containers of plugin "p" decides which code a container runs, so the component must not choose it; write the value out, or a list of values
        policy.yaml:13:15: "PATH" in containers of plugin "p" decides which code a container runs, so the component must not choose it; write the value out, or a list of values
        policy.yaml:14:12: "A" in containers of plugin "p" must be a template with {ids}, {property.NAME} and {resource}, and {{ or }} for a brace, not "{id}"
        policy.yaml:15:13: "B" in containers of plugin "p" has in its list what is no plain value of at most 4096 bytes; a template stands alone, not in a list
        policy.yaml:16:12: "C" in containers of plugin "p" must be a template, a list of values or the word any, not a number; put it in quotes
        policy.yaml:17:12: "D" in containers of plugin "p" must be a template, a list of values or the word any, not a mapping
        policy.yaml:18:12: "E" in containers of plugin "p" must not be empty
        policy.yaml:19:13: "F" in containers of plugin "p" must be a list of texts, not a number; put it in quotes
        policy.yaml:20:12: "G" in containers of plugin "p" must not be empty
        "#);
}

#[test]
fn what_two_plugins_claim_is_refused() {
    let text = "apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  a:
    component: {file: a.wasm}
    resources: [v.com/x, v.com/y]
    containers: {env: {IDS: any, \"{RESOURCE}_OK\": any}}
  b:
    component: {file: b.wasm}
    resources: [v.com/x, v.com/z, v.com/z]
  c:
    component: {file: c.wasm}
    resources: [v.com/c]
    containers: {env: {V_COM_Y_OK: any, V: any}}
  d:
    component: {file: d.wasm}
    resources: [d.com/c-c, d.com/c.c]
    containers: {env: {\"X{RESOURCE}\": any}}
";
    insta::assert_snapshot!(errors(text), @r#"
        policy.yaml:7:24: "IDS" would be set by each of this plugin's 2 resources, and a container with two of them would get one value in random order; name the resource in it, such as "IDS_{RESOURCE}", or write one plugin per resource
        policy.yaml:8:3: plugin "b" offers "v.com/x", as plugin "a" does (policy.yaml:4); a resource belongs to one plugin
        policy.yaml:10:35: "resources" in plugin "b" has "v.com/z" twice
        policy.yaml:14:24: plugin "c" may set "V_COM_Y_OK", as plugin "a" may (policy.yaml:7): a container with both would get one of the values in random order
        policy.yaml:18:24: plugin "d" may set "XD_COM_C_C", for another of its resources: a container with both would get one of the values in random order
        "#);
    let files = [PolicyFile { name: "a.yaml", text: SAMPLE }, PolicyFile { name: "b.yaml", text: SAMPLE }];
    insta::assert_snapshot!(parse(&files).unwrap_err(), @r#"
        b.yaml:4:3: plugin "acme" is also in a.yaml:4
        b.yaml:25:3: plugin "nics" is also in a.yaml:25
        b.yaml:33:3: plugin "fuse" is also in a.yaml:33
        "#);
    insta::assert_snapshot!(parse(&[]).unwrap_err(), @"a policy needs at least one file");
}

#[test]
fn every_file_says_what_it_is() {
    insta::assert_snapshot!(errors("plugins: {}\n"), @r#"
        policy.yaml:1:1: the policy has no "apiVersion"
        policy.yaml:1:1: the policy has no "kind"
        "#);
    insta::assert_snapshot!(errors("apiVersion: devgate.dev/v1\nkind: Polizei\nplugins:\n"), @r#"
        policy.yaml:1:13: "apiVersion" in the policy must be devgate.dev/v1alpha1, not "devgate.dev/v1"
        policy.yaml:2:7: "kind" in the policy must be Policy, not "Polizei"
        policy.yaml:3:8: "plugins" in the policy must be a mapping, not nothing
        "#);
    insta::assert_snapshot!(errors("- a\n"), @"policy.yaml:1:1: the policy must be a mapping, not a list");
    insta::assert_snapshot!(errors(""), @"policy.yaml:1:1: the file is empty");
}

#[test]
fn names_files_and_digests_are_checked() {
    insta::assert_snapshot!(errors("apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  Acme: {component: {file: ../x.wasm, sha256: abc}, resources: [gpu, kubernetes.io/x]}
  b: {component: {file: /etc/x.wasm}, resources: []}
  c: {component: {sha256: 12}, resources: v.com/x}
  d: {resources: [v.com/y]}
  e: {component: {file: e.wasm}}
  f:
  g: {component: 1, resources: [], limits: {cpu: 0}, containers: {env: {\"{RESOURCE}_A\": any, \"B{RESOURCE}-\": any}}}
"), @r#"
        policy.yaml:4:3: plugin "Acme" must be 1 to 63 lower-case letters, digits or "-", with a letter or digit at both ends
        policy.yaml:4:28: "file" in component of plugin "Acme" must be a path in the directory of components, not absolute and without "..", not "../x.wasm"
        policy.yaml:4:47: "sha256" in component of plugin "Acme" must be 64 hexadecimal digits, as sha256sum prints them, not "abc"
        policy.yaml:4:65: resource "gpu" must be a vendor's domain and a name, such as vendor.com/gpu
        policy.yaml:4:70: resource "kubernetes.io/x" must not be in kubernetes.io, which is Kubernetes' own
        policy.yaml:5:25: "file" in component of plugin "b" must be a path in the directory of components, not absolute and without "..", not "/etc/x.wasm"
        policy.yaml:5:50: "resources" in plugin "b" must not be empty
        policy.yaml:6:18: component of plugin "c" has neither "file" nor "oci"
        policy.yaml:6:27: "sha256" in component of plugin "c" must be text, not a number; put it in quotes
        policy.yaml:7:6: plugin "d" has no "component"
        policy.yaml:8:6: plugin "e" has no "resources"
        policy.yaml:9:4: plugin "f" must be a mapping, not nothing
        policy.yaml:10:18: component of plugin "g" must be a mapping, not a number
        policy.yaml:10:32: "resources" in plugin "g" must not be empty
        policy.yaml:10:50: "cpu" in limits of plugin "g" must be a duration such as 500ms, 2s or 5m, not a number; add a unit
        policy.yaml:10:94: "B{RESOURCE}-" is not the name of an environment variable; letters, digits and "_", not a digit first; {RESOURCE} stands for the resource's name
        "#);
}

#[test]
fn one_file_that_is_not_yaml_hides_no_other() {
    let files = [
        PolicyFile { name: "bad.yaml", text: "plugins:\n  a: {b: c\n" },
        PolicyFile { name: "dup.yaml", text: "plugins:\n  a: {}\n  a: {}\n" },
        PolicyFile { name: "bomb.yaml", text: "a: &a [x]\nb: &b [*a, *a]\n" },
        PolicyFile { name: "tab.yaml", text: "plugins:\n\ta: 1\n" },
        PolicyFile { name: "unknown.yaml", text: "plugin: {}\n" },
    ];
    insta::assert_snapshot!(parse(&files).unwrap_err(), @r#"
        bad.yaml:2:6: cannot be read as YAML: unclosed bracket '{'
        dup.yaml:3:3: the key "a" is here twice
        bomb.yaml:1:7: a policy has no anchors (&) and aliases (*), write the entry out or put the text in quotes
        tab.yaml:2:2: cannot be read as YAML: a tab indents this line, use spaces
        unknown.yaml:1:1: unknown key "plugin" in the policy; did you mean "plugins"?
        unknown.yaml:1:1: the policy has no "apiVersion"
        unknown.yaml:1:1: the policy has no "kind"
        unknown.yaml:1:1: the policy has no "plugins"
        "#);
}
