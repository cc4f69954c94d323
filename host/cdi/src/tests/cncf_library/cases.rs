//! Files that are good but for one thing, or good.

use super::*;

/// Each is a good file but for one thing, or good.
pub(super) fn cases() -> Vec<Case> {
    let but = |from: &str, to: &str| one("a.json", GOOD.replacen(from, to, 1));
    let edits = |edits: &str| but(r#"{"env":["A=1"]}"#, edits);
    let with = |version: &str, text: &str| edits(text).but("0.8.0", version);
    let yaml = |text: &str| one("a.yaml", text);
    let mut cases = vec![but("", "")];
    cases.extend(["", "{}", "[]", "null", "nothing", "{", "\u{feff}"].map(|text| one("a.json", text)));
    cases.extend(REFUSED.iter().map(|(refused, _)| match refused.contains("netDevices") {
        true => with("1.1.0", refused).since("1.1.0"),
        false => edits(refused),
    }));
    for version in
        ["", "0.0.1", "0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "v0.5.0", "0.5", "9.9.9"]
    {
        cases.push(but("0.8.0", version));
    }
    for version in ["1.0.0", "1.1.0", "v1.1.0"] {
        cases.push(but("0.8.0", version).since("1.1.0"));
    }
    // What is new in a version, and has nothing to do in the one before.
    let node = |more: &str| format!(r#"{{"deviceNodes":[{{"path":"/dev/acme0"{more}}}]}}"#);
    let mount = |more: &str| format!(r#"{{"mounts":[{{"hostPath":"/a","containerPath":"/b"{more}}}]}}"#);
    for (before, since, text) in [
        ("0.4.0", "0.5.0", node(r#","hostPath":"/dev/acme1""#)),
        ("0.2.0", "0.3.0", node(r#","hostPath":"","type":"","permissions":"""#)),
        ("0.3.0", "0.4.0", mount(r#","type":"bind""#)),
        ("0.2.0", "0.3.0", mount(r#","type":"","options":[]"#)),
        ("0.6.0", "0.7.0", r#"{"additionalGids":[0,5]}"#.to_owned()),
        ("0.6.0", "0.7.0", r#"{"intelRdt":{"closID":"a","l3CacheSchema":"b"}}"#.to_owned()),
        ("0.6.0", "0.7.0", r#"{"intelRdt":{}}"#.to_owned()),
    ] {
        cases.extend([with(before, &text), with(since, &text)]);
        let top = |version: &str| {
            let end = format!("}}],\"containerEdits\":{text}}}");
            but("}]}", &end).but("0.8.0", version)
        };
        cases.extend([top(before), top(since)]);
    }
    for (before, since, from, to) in [
        ("0.5.0", "0.6.0", r#""kind""#, r#""annotations":{"a":"b"},"kind""#),
        ("0.5.0", "0.6.0", r#""name""#, r#""annotations":{"a":"b"},"name""#),
        ("0.5.0", "0.6.0", "vendor.com/gpu", "vendor.com/1g.5gb"),
        ("0.5.0", "0.6.0", "vendor.com/gpu", "vendor.com/mig-1g.5gb"),
        ("0.4.0", "0.5.0", r#""a""#, r#""0""#),
        ("0.5.0", "0.6.0", r#""a""#, r#""GPU-1:2.3_4""#),
    ] {
        cases.extend([before, since].map(|version| but("0.8.0", version).but(from, to)));
    }
    for text in [
        r#"{"netDevices":[{"hostInterfaceName":"a","name":"a"}]}"#,
        r#"{"netDevices":[{"hostInterfaceName":"a","name":"b"},{"hostInterfaceName":"b","name":"a"}]}"#,
        r#"{"netDevices":[{"hostInterfaceName":"a","name":"b"},{"hostInterfaceName":"a","name":"c"}]}"#,
        r#"{"netDevices":[{"hostInterfaceName":"","name":"b"}]}"#,
        r#"{"intelRdt":{"closID":"/"}}"#,
        r#"{"intelRdt":{"closID":"/a"}}"#,
        r#"{"intelRdt":{"schemata":["a"]}}"#,
        r#"{"intelRdt":{"schemata":[]}}"#,
        r#"{"intelRdt":{"enableMonitoring":true}}"#,
    ] {
        cases.extend(["1.0.0", "1.1.0"].map(|version| with(version, text).since("1.1.0")));
    }
    for kind in [
        "",
        "vendor",
        "vendor.com/",
        "/gpu",
        "1v/gpu",
        "v1/gpu",
        "vendor./gpu",
        "vendor/gpu-",
        "ven dor/gpu",
        "a/b/c",
        "a/bc",
        "ab/c",
        "ab/cd",
        "v_-.1/c_-2",
        "\u{e4}b/cd",
    ] {
        cases.push(but("vendor.com/gpu", kind));
    }
    for name in ["", "-a", "a-", "a b", "a/b", "a=b", "a:", "A", "\u{e4}", "a+b"] {
        cases.push(but(r#""a""#, &format!("{name:?}")));
    }
    for (from, to) in [
        ("}]}", r#"}],"containerEdits":{}}"#),
        ("}]}", r#"}],"containerEdits":{"env":["A"]}}"#),
        (
            "}]}",
            r#"}],"containerEdits":{"hooks":[{"hookName":"poststop","path":"/a","args":["a"],"env":["A=1"],"timeout":-1}]}}"#,
        ),
        ("}]}", r#"},{"name":"a","containerEdits":{"env":["A=1"]}}]}"#),
        ("}]}", r#"},{"name":"b","containerEdits":{"env":["A=1"]}}]}"#),
        ("}]}", r#"},{"name":"b"}]}"#),
        ("}]}", "}],}"),
        ("}]}", "}]}\n\n"),
        (r#""kind""#, r#""more":1,"kind""#),
        (r#""kind""#, r#""kind":"vendor.com/gpu","kind""#),
        (r#""name""#, r#""more":1,"name""#),
        (r#""env""#, r#""more":1,"env""#),
        (r#""env""#, r#""environment""#),
        (r#""A=1""#, "1"),
        (r#""A=1""#, r#""A=\u007f\u0085\u2028""#),
        (r#""A=1""#, "\"A=\u{85}\u{2028}\u{e4}\u{1f600}\""),
        (r#""A=1""#, "\"A=\u{7f}\""),
        (r#""A=1""#, "\"A=\u{80}\""),
        (r#""A=1""#, "\"A=\u{fffe}\""),
        (r#""A=1""#, "\"A=\u{1}\""),
        (r#""A=1""#, r#""A=\ud83d""#),
        (r#""A=1""#, r#""A=\b\f\n\r\t\"\\/\u00e4""#),
        (r#""A=1""#, r#""A=\/""#),
        (r#""A=1""#, r#""A=1","B=\\/""#),
        (r#"["A=1"]"#, r#""A=1""#),
        (r#"["A=1"]"#, "[[]]"),
        ("{\"cdi", "{\n\t\"cdi"),
        (r#""0.8.0""#, "0.8"),
        (r#""a""#, "1"),
        (r#""a""#, "true"),
        (r#""a""#, "[]"),
    ] {
        cases.push(but(from, to));
    }
    for more in [
        r#","more":1"#,
        r#","major":240,"minor":0"#,
        r#","major":"240""#,
        r#","major":1.5"#,
        r#","major":-1"#,
        r#","fileMode":-1"#,
        r#","fileMode":"0666""#,
        r#","uid":4294967295,"gid":0"#,
        r#","uid":4294967296"#,
        r#","permissions":"mwr""#,
        r#","permissions":"none""#,
        r#","type":"p""#,
    ] {
        cases.push(edits(&node(more)));
    }
    for text in [
        "cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices:\n- name: a\n  containerEdits:\n    env: [A=1]\n",
        "---\n# A word.\ncdiVersion: \"0.5.0\"\nkind: vendor.com/gpu\ndevices:\n- name: 0\n  containerEdits: {env: [A=1], deviceNodes: [{path: /dev/a, fileMode: 0666}]}\n",
        "cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices:\n- name: a\n  containerEdits: &a\n    env: [A=1]\n- name: b\n  containerEdits: *a\n",
        "cdiVersion: 0.5.0\nkind: vendor.com/gpu\nkind: vendor.com/gpu\ndevices:\n- name: a\n  containerEdits:\n    env: [A=1]\n",
        "cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices:\n- name: a\n  containerEdits:\n    env: [A=1]\n\tmore: 1\n",
        "cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices:\n- name: a\n  containerEdits:\n    environment: [A=1]\n",
        "cdiVersion: [",
        "# nothing\n",
        "---\n",
    ] {
        cases.extend([one("a.json", text), yaml(text)]);
    }
    cases.extend([
        yaml(GOOD),
        one("a.json", format!("\u{feff}{GOOD}")),
        one(".json", GOOD),
        one(".a.yaml", GOOD),
        one("a.yml", GOOD),
        one("a.JSON", GOOD),
        one("json", GOOD),
    ]);
    cases.push(but(r#"{"name":"a","containerEdits":{"env":["A=1"]}}"#, "").since("1.1.0"));
    cases.push(
        but(r#""devices":[{"name":"a","containerEdits":{"env":["A=1"]}}]"#, r#""annotations":{}"#).since("1.1.0"),
    );
    let several = |dirs: &[&[&'static str]]| {
        let files = |files: &&[&'static str]| files.iter().map(|file| (*file, GOOD.to_owned())).collect();
        Case { dirs: dirs.iter().map(files).collect(), ..but("", "") }
    };
    cases.extend([
        several(&[&["a.json"], &["a.json"]]),
        several(&[&["a.json", "b.yaml"]]),
        several(&[&["a.json", "b.yaml"], &["c.json"]]),
        several(&[&["c.json"], &["a.json", "b.yaml", "d.json"]]),
        several(&[&[], &["a.json"], &["a.json"], &["x"]]),
    ]);
    cases.push(but(r#"["A=1"]"#, r#"["A=1"],"mounts":null"#));
    cases.extend([
        but(r#""kind""#, r#""KIND""#)
            .stricter("to the library names of fields are the same in other letters, and only to it"),
        but("}]}", "}]} ]").stricter("what comes behind a file is nothing to the library, and a mistake"),
        but("}]}", "}]} {}").stricter("what comes behind a file is nothing to the library, and a mistake"),
    ]);
    cases
}
