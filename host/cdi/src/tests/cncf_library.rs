//! What is written, and what is said of others' files, held against the CNCF's own library. `DEVGATE_CDI_LIBRARIES` has programs of it
//! (`tests/cdi-library`) as `$PATH` has folders, oldest first: `cargo xtask test --only cdi-library` makes them.

use super::*;
use crate::check::{Checked, check};
use crate::files::text;
use crate::name::{pod_name, unit_name};
use crate::spec::tests::REFUSED;
use crate::{file_of, probe};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program says of directories.
#[derive(Debug, Deserialize)]
struct Told {
    /// The newest version of files that its library knows.
    version: String,
    devices: Option<BTreeSet<String>>,
    files: BTreeMap<PathBuf, Good>,
    errors: BTreeMap<PathBuf, Vec<String>>,
    not_injected: BTreeMap<String, String>,
    panic: String,
}

/// A file that a library takes.
#[derive(Debug, Deserialize)]
struct Good {
    content: Value,
    lowest: String,
    schema: String,
}

impl Told {
    fn finds_fault(&self) -> bool {
        !self.errors.is_empty() || !self.panic.is_empty()
    }
}

fn libraries() -> Vec<PathBuf> {
    let Some(programs) = std::env::var_os("DEVGATE_CDI_LIBRARIES") else {
        println!("skipped: DEVGATE_CDI_LIBRARIES is not set; see cargo xtask test --only cdi-library");
        return Vec::new();
    };
    std::env::split_paths(&programs).collect()
}

fn ask(program: &Path, directories: &[Vec<PathBuf>]) -> Vec<Told> {
    let lists = directories.iter().map(|dirs| std::env::join_paths(dirs).unwrap());
    let said = Command::new(program).args(lists).output().unwrap();
    let (out, err) = (String::from_utf8(said.stdout).unwrap(), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{}: {err}", program.display());
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Without what a library does not tell from nothing.
fn filled(value: Value) -> Option<Value> {
    let kept = match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter_map(|(name, value)| Some((name, filled(value)?)));
            Value::Object(fields.collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().filter_map(filled).collect()),
        other => other,
    };
    let is_empty = [Value::Null, 0.into(), "".into(), Value::Array(vec![]), serde_json::json!({})].contains(&kept);
    (!is_empty).then_some(kept)
}

/// Files of every shape, in a directory, and what their devices are called.
fn written(dir: &Path) -> BTreeSet<String> {
    let mut runner = TestRunner::deterministic();
    let every = (RESOURCES, LEASES, "[!-~]{1,30}", prop::collection::vec(replies(), 1..4));
    let mut names = BTreeSet::new();
    let write = |file: &str, text: &[u8]| fs::write(dir.join(file), text).unwrap();
    for number in 0..400_u64 {
        let (resource, lease, id, replies) = every.new_tree(&mut runner).unwrap().current();
        let Ok(resource) = ResourceName::try_new(&resource) else {
            continue;
        };
        let kind = Kind::of(&resource);
        if number % 4 == 0 {
            let units = replies.into_iter().enumerate();
            let units: Vec<_> = units.map(|(n, reply)| (format!("{id}{n}"), reply)).collect();
            let Some(file) = file_of(&resource, &units, &node()).unwrap() else {
                continue;
            };
            write(&kind.generated_file(), &file);
            let given = units.iter().filter(|(_, reply)| *reply != Reply::default());
            names.extend(given.map(|(id, _)| kind.device(&unit_name(id))));
            continue;
        }
        let device = match number % 4 {
            1 => lease,
            2 => unit_name(&id),
            _ => pod_name(serde_json::from_value(number.into()).unwrap(), &resource, &[id]),
        };
        if let Some(spec) = spec(&kind, &device, &replies[0], &node()).unwrap() {
            write(&kind.file(&device), &text(&spec));
            names.insert(kind.device(&device));
        }
    }
    let (file, text) = probe();
    write(file, &text);
    names.insert("devgate.probe/probe=probe".to_owned());
    names
}

#[test]
fn cdi01_cdi02_cdi03_what_is_written_is_the_same_to_the_library_old_or_new() {
    let dir = tempfile::tempdir().unwrap();
    let names = written(dir.path());
    assert!(names.len() > 300, "{}", names.len());
    for program in libraries() {
        let told = ask(&program, &[vec![dir.path().to_owned()]]).remove(0);
        println!("{}: {} devices of {} files", told.version, names.len(), told.files.len());
        assert!(!told.finds_fault() && told.not_injected.is_empty(), "{told:?}");
        assert_eq!(told.devices, Some(names.clone()), "{}", told.version);
        for (file, good) in told.files {
            let ours: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            let version = ours["cdiVersion"].as_str().unwrap().to_owned();
            assert_eq!(filled(good.content), filled(ours), "{}", file.display());
            assert_eq!(good.schema, "", "{}", file.display());
            // That of podman 4.3 cannot tell.
            assert!(good.lowest == version || told.version == "0.5.0", "{good:?}", good = good.lowest);
        }
    }
}

/// Directories with files, of which some may be bad.
struct Case {
    dirs: Vec<Vec<(&'static str, String)>>,
    /// The first version of the library that knows what is in them.
    since: &'static str,
    /// Why devgate finds fault where the library does not, if so.
    stricter: Option<&'static str>,
}

fn one(file: &'static str, text: impl Into<String>) -> Case {
    Case { dirs: vec![vec![(file, text.into())]], since: "0.8.0", stricter: None }
}

impl Case {
    fn since(self, since: &'static str) -> Self {
        Self { since, ..self }
    }

    fn stricter(self, why: &'static str) -> Self {
        let stricter = Some(why);
        Self { stricter, ..self }
    }
}

const GOOD: &str =
    r#"{"cdiVersion":"0.8.0","kind":"vendor.com/gpu","devices":[{"name":"a","containerEdits":{"env":["A=1"]}}]}"#;

/// Each is a good file but for one thing, or good.
fn cases() -> Vec<Case> {
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

impl Case {
    fn but(mut self, from: &str, to: &str) -> Self {
        for (_, text) in self.dirs.iter_mut().flatten() {
            *text = text.replacen(from, to, 1);
        }
        self
    }

    /// Its directories, beneath another.
    fn put(&self, at: &Path) -> Vec<PathBuf> {
        let put = |(number, files): (usize, &Vec<(&str, String)>)| {
            let dir = at.join(number.to_string());
            fs::create_dir_all(&dir).unwrap();
            for (name, text) in files {
                fs::write(dir.join(name), text).unwrap();
            }
            dir
        };
        self.dirs.iter().enumerate().map(put).collect()
    }

    /// What devgate and a library do not agree on, if so.
    fn problem(&self, ours: &Checked, theirs: &Told) -> Option<String> {
        let finds_fault = ours.findings.iter().any(|finding| finding.is_error);
        let is_same = if self.stricter.is_some() {
            finds_fault && !theirs.finds_fault()
        } else {
            let devices: BTreeSet<_> = ours.devices.iter().cloned().collect();
            finds_fault == theirs.finds_fault() && devices == theirs.devices.clone().unwrap_or_default()
        };
        (!is_same).then(|| format!("{:?}\n  devgate: {ours:?}\n  library: {theirs:?}", self.dirs))
    }
}

#[test]
fn cdi04_cdi19_check_finds_fault_where_the_library_does_and_nowhere_else() {
    let at = tempfile::tempdir().unwrap();
    let cases = cases();
    let dirs: Vec<_> = (0..).zip(&cases).map(|(n, case)| case.put(&at.path().join(n.to_string()))).collect();
    let ours: Vec<_> = dirs.iter().map(|dirs| check(dirs, &node()).unwrap()).collect();
    let programs = libraries();
    let [oldest, .., newest] = &*programs else { return };
    let (oldest, newest) = (ask(oldest, &dirs), ask(newest, &dirs));
    let mut problems = Vec::new();
    for (n, case) in cases.iter().enumerate().filter(|(n, case)| *newest[*n].version >= *case.since) {
        problems.extend(case.problem(&ours[n], &newest[n]));
        // What is good to that of today is said to be nothing for that of podman 4.3, where it is so.
        if !newest[n].finds_fault() && case.stricter.is_none() {
            let is_said = ours[n].findings.iter().any(|finding| finding.what.contains("podman 4.3"));
            if is_said != oldest[n].finds_fault() {
                problems.push(format!("{:?}\n  devgate: {:?}\n  library 0.5.2: {:?}", case.dirs, ours[n], oldest[n]));
            }
        }
    }
    println!("{} cases, held against {}", cases.len(), newest[0].version);
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), cases.len(), problems.join("\n"));
}

/// Neither do readers: the files behind it are not read.
#[test]
fn cdi19_a_directory_that_is_a_link_has_no_files() {
    let at = tempfile::tempdir().unwrap();
    let dirs = one("a.json", GOOD).put(at.path());
    let link = at.path().join("link");
    std::os::unix::fs::symlink(&dirs[0], &link).unwrap();
    let ours = check(std::slice::from_ref(&link), &node()).unwrap();
    assert!(ours.devices.is_empty() && ours.findings[0].what.contains("is a link"), "{ours:?}");
    for program in libraries() {
        let theirs = ask(&program, &[vec![link.clone()]]).remove(0);
        assert!(theirs.devices.is_none() && !theirs.finds_fault(), "{theirs:?}");
    }
}
