//! What is written, and what is said of others' files, held against the CNCF's own library. `DEVGATE_CDI_LIBRARIES` has programs of it
//! (`tests/cdi-library`) as `$PATH` has folders, oldest first: `cargo xtask test --only cdi-library` makes them.

mod cases;

use super::*;
use crate::check::{Checked, check};
use crate::files::text;
use crate::name::{pod_name, unit_name};
use crate::named::Named;
use crate::spec::tests::REFUSED;
use crate::{file_of, probe};
use cases::cases;
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

/// What a claim of two devices has.
fn claim(number: u64, resource: ResourceName, id: &str) -> Named {
    let driver = resource.as_str().split('/').next().unwrap().to_owned();
    let who = Consumer::Claim { driver, uid: format!("3f2c91aa-{number:04}") };
    let granted = Granted {
        id: serde_json::from_value(number.into()).unwrap(),
        tag: "gpu node-1 team claim-1".to_owned(),
        resource,
        ids: vec![id.to_owned(), format!("{id}::1")],
        reply: Arc::default(),
        left: None,
        told: true,
        earlier_boot: false,
    };
    Named::new(who, granted)
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
        if number % 5 == 4 {
            let named = claim(number, resource, &id);
            if let Some(spec) = spec(&named.kind, &named.devices, &replies[0], &node()).unwrap() {
                write(&named.file(), &text(&spec));
                names.extend(named.names(&replies[0]));
            }
            continue;
        }
        if number % 5 == 0 {
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
        let device = match number % 5 {
            1 => lease,
            2 => unit_name(&id),
            _ => pod_name(serde_json::from_value(number.into()).unwrap(), &resource, &[id]),
        };
        if let Some(spec) = spec(&kind, &[&device], &replies[0], &node()).unwrap() {
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
