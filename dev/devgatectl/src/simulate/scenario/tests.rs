use super::*;

const HEAD: &str = "apiVersion: devgate.dev/v1alpha1\nkind: Scenario\npolicy: ../policy.yaml\nnode: node.umockdev\n";

fn read(text: &str) -> Result<Scenario, String> {
    parse(Path::new("scenarios/one.yaml"), text)
}

/// What is wrong with steps, each written on a line of its own; their lines are counted from 1.
fn wrong(steps: &str) -> String {
    let text = format!("steps:\n{}", steps.lines().map(|line| format!("  {line}\n")).collect::<String>());
    let head: String = HEAD.lines().map(|line| format!("{line}\n")).collect();
    let message = read(&format!("{text}{head}")).unwrap_err();
    message.replace("scenarios/one.yaml:", "")
}

#[test]
fn a_scenario_is_read_with_paths_beside_it() {
    let text = format!(
        "{HEAD}about: |\n  One\n  two\npolicy-patch: {{plugins: {{a: null}}}}\ncomponents: ../built\nkubelet: {{version: \"1.34\"}}\n\
         within: 3s\nsteps:\n  - wait: 5ms\n    note: why\n  - reload: other.yaml\n  - {{expect: {{log: x}}, within: 1m, for: 2s}}\n"
    );
    let scenario = read(&text).unwrap();
    assert_eq!(scenario.about, "One");
    assert_eq!(scenario.policy, Path::new("scenarios/../policy.yaml"));
    assert_eq!(scenario.node, Path::new("scenarios/node.umockdev"));
    assert_eq!(scenario.components.as_deref(), Some(Path::new("scenarios/../built")));
    assert_eq!(scenario.kubelet, KubeletVersion::minor(34));
    assert!(scenario.patch.is_some());
    let [wait, reload, expect] = scenario.steps.as_slice() else { panic!("three steps") };
    assert_eq!((wait.number, wait.line, wait.note.as_deref()), (1, 13, Some("why")));
    assert_eq!((wait.summary.as_str(), wait.within), ("wait: 5ms", Duration::from_secs(3)));
    assert!(
        matches!(&reload.verb, Verb::Reload { policy, .. } if policy.as_deref() == Some(Path::new("scenarios/other.yaml")))
    );
    assert_eq!((expect.within, expect.lasting), (Duration::from_secs(60), Some(Duration::from_secs(2))));
}

#[test]
fn every_mistake_in_the_head_is_told_with_its_place() {
    let text = "apiVersion: devgate.dev/v1\nkind: Scenari\nabuot: x\npolicy: 7\npolicy-patch: 3\nkubelet: {version: 1.34}\nwithin: 10\nsteps: []\n";
    insta::assert_snapshot!(read(text).unwrap_err(), @r#"
    scenarios/one.yaml:1:1: a scenario has no "node"
    scenarios/one.yaml:1:13: "apiVersion" must be "devgate.dev/v1alpha1", not "devgate.dev/v1"
    scenarios/one.yaml:2:7: "kind" must be "Scenario", not "Scenari"
    scenarios/one.yaml:3:1: unknown key "abuot" in a scenario; did you mean "about"?
    scenarios/one.yaml:4:9: "policy" must be text, not 7; put it in quotes
    scenarios/one.yaml:5:15: "policy-patch" must be a mapping, not 3
    scenarios/one.yaml:6:20: "version" must be text, not 1.34; put it in quotes
    scenarios/one.yaml:7:9: "within" must be a whole number and us, ms, s, m or h, such as 500ms, not 10
    scenarios/one.yaml:8:1: a scenario has at least one step
    "#);
    insta::assert_snapshot!(read("[]").unwrap_err(), @"scenarios/one.yaml:1:1: a scenario is a mapping, not a list");
    insta::assert_snapshot!(read("a: &x [1]\nb: *x\n").unwrap_err(), @"scenarios/one.yaml:1:7: a scenario has no anchors (&) and aliases (*), write the entry out or put the text in quotes");
    insta::assert_snapshot!(read(&format!("{HEAD}kubelet: {{version: \"1.25\"}}\nsteps: [{{wait: 1s}}]\n")).unwrap_err(), @r#"scenarios/one.yaml:5:20: "version" must be a version from "1.26" to "1.37", not "1.25""#);
}

#[test]
fn every_mistake_in_a_step_is_told_with_its_place() {
    insta::assert_snapshot!(wrong(
        "- unplg: pci/a\n- {wait: 1s, stop: x}\n- note: nothing\n- wait: soon\n- 7\n- {stop: x, within: 1s, for: 1s, never-for: 1s, expect-refused: y}\n\
         - {expect: {log: x}, within: 1s, never-for: 1s, at-most: 1s}\n- restart: pod\n- {wait: 1s, at-most: 1s}\n- something: else\n"
    ), @r#"
    2:5: unknown key "unplg" in a step; did you mean "unplug"?
    3:16: a step does one thing, and this one has "wait" and "stop"; make two steps of it
    4:5: a step has one of expect, pod, start, stop, set, remove-attribute, link, unplug, plug, file, remove-file, node, node-gone, kernel, announce, later, restart, crash, reload, wait
    5:11: "wait" must be a whole number and us, ms, s, m or h, such as 500ms, not "soon"
    6:5: a step is a mapping, not a number
    7:15: "within" stands beside "expect" or "pod"
    7:27: "for" stands beside "expect"
    7:36: "never-for" stands beside "expect"
    7:36: either "never-for", or "within" and "for"
    7:51: "expect-refused" stands beside "pod" or "start" or "reload"
    8:36: either "never-for", or "within" and "for"
    8:51: "at-most" is for steps that do something; "within" says how long "expect" waits
    9:14: "restart" must be "kubelet" or "host", not "pod"
    10:16: "at-most" is for steps that do something; "within" says how long "expect" waits
    11:5: unknown key "something" in a step; it is one of expect, pod, start, stop, set, remove-attribute, link, unplug, plug, file, remove-file, node, node-gone, kernel, announce, later, restart, crash, reload, wait, note, within, for, never-for, at-most, expect-refused
    "#);
    insta::assert_snapshot!(wrong(
        "- set: {device: pci/a, attribute: b}\n- set: {device: pci/a, attribute: b, value: x, hex: 0g}\n- set: {device: pci/a, atribute: b, value: 5}\n\
         - set: {device: pci/a, attribute: b, error: BUSY}\n- set: {device: pci/a, attribute: b, value: x, error: EBUSY}\n\
         - link: {device: pci/a}\n- plug: {}\n- file: {path: /proc/x, text: a, hex: \"00\"}\n- node: {path: /dev/x}\n- unplug: [a]\n- node: {path: /dev/x, number: x}\n- node: {path: /dev/x, number: 1}\n"
    ), @r#"
    2:10: "set" has no "value"
    3:40: either "value" or "hex"
    3:55: "hex" must be pairs of hexadecimal digits, not "0g"
    4:10: "set" has no "attribute"
    4:26: unknown key "atribute" in "set"; did you mean "attribute"?
    4:46: "value" must be text, not 5; put it in quotes
    5:47: "error" must be the name of an error of the kernel, such as EBUSY, not "BUSY"
    6:50: either a value or "error"
    7:11: "link" has no "path"
    8:5: "plug" has either "text" or "file"
    9:27: either "text" or "hex"
    10:11: "node" has no "number"
    11:13: "unplug" must be text, not a list
    12:34: "number" must be c or b, a space, and major:minor, such as "c 195:0", not "x"
    13:34: "number" must be text, not 1; put it in quotes
    "#);
    insta::assert_snapshot!(wrong(
        "- pod: {requests: {a/b: 1}}\n- pod: {name: p}\n- pod: {name: p, requests: {a/b: many}}\n- pod: {name: p, requests: {a/b: 0}}\n\
         - pod: {name: p, containers: [{nam: c}]}\n- pod: {name: 5, requests: {a/b: [1]}}\n"
    ), @r#"
    2:10: a pod has no "name"
    3:10: a pod has either "requests" or "containers"
    4:36: "a/b" must be how many, or a list of ids, not "many"
    5:36: "a/b" must be one or more, not 0
    6:33: a container has no "name"
    6:34: unknown key "nam" in a container; did you mean "name"?
    7:17: "name" must be text, not 5; put it in quotes
    7:37: "a/b" must be text, not 1; put it in quotes
    "#);
    insta::assert_snapshot!(wrong(
        "- expect: {}\n- expect: {device: {a/b: 1}}\n- expect: {devices: {a/b: many}}\n- expect: {devices: {a/b: {healty: 1, numa: {x: y}}}}\n\
         - expect: {reason: {x: 5}}\n- expect: {pod: {nodes: [/dev/x]}}\n- expect: {pod: {name: p, nodes: [{permissions: rw}], mounts: [{path: /x, read-only: 1}]}}\n\
         - expect: {log: {text: x, level: loud}}\n- expect: {choice: {resource: a/b, size: 1}}\n- expect: {pod: {name: p, env: {A: 1}}}\n"
    ), @r#"
    2:5: "expect" has none of devices, reason, pod, plugins, status, log, choice
    3:14: unknown key "device" in "expect"; did you mean "devices"?
    4:29: "a/b" must be how many devices, a list of ids, or a mapping with healthy and unhealthy, not "many"
    5:30: unknown key "healty" in "a/b"; did you mean "healthy"?
    5:51: "x" must be a whole number, not "y"
    6:26: "x" must be text, not 5; put it in quotes
    7:19: "pod" in "expect" has no "name"
    8:37: a node has no "path"
    8:88: "read-only" must be true or false, not 1
    9:36: "level" must be error, warn, info or debug, not "loud"
    10:22: "choice" has no "prefers"
    11:38: "A" must be text, not 1; put it in quotes
    "#);
}

/// Who adds a word says what it means.
#[test]
fn every_word_is_in_the_documentation() {
    let docs = include_str!("../../../../../docs/scenarios.md");
    for verb in step::VERBS.split(' ') {
        assert!(docs.contains(&format!("`{verb}: ")) || verb == "expect", "{verb}");
    }
    for word in [KEYS, step::BESIDE].iter().flat_map(|keys| keys.split(' ')) {
        assert!(docs.contains(&format!("`{word}`")), "{word}");
    }
    let keys = [expect::KEYS, expect::RESOURCE, expect::CHOICE, expect::LINE, expect::POD];
    for word in keys.iter().flat_map(|keys| keys.split(' ')) {
        assert!(docs.contains(&format!("{word}: ")), "{word}");
    }
}
