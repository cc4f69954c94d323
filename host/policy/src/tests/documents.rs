//! What is made from the table of keys is fresh, and what the repository shows is right.

mod page;
mod schema;
mod validator;
mod words;

use super::read;
use crate::key::{HEALTH, LIMITS, Section};
use crate::yaml;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Set to write the documents anew instead of comparing them.
const UPDATE: &str = "UPDATE_DOCS";
const HOW: &str = "run `UPDATE_DOCS=1 cargo test -p devgate-policy documents` and commit what it changes";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/policy.md")).unwrap()
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| schema::of(&page()));

/// What the schema says against a policy, as JSON.
pub(super) fn problems_of(policy: &Value) -> Vec<String> {
    validator::problems(&SCHEMA, policy)
}

fn json(text: &str) -> Value {
    yaml::read(text).unwrap().to_json()
}

/// What the schema says against a policy.
fn problems(text: &str) -> Vec<String> {
    problems_of(&json(text))
}

fn examples() -> Vec<(PathBuf, String)> {
    let directory = root().join("deploy/policies");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let text = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    };
    files.into_iter().map(text).collect()
}

#[test]
fn the_schema_in_the_repository_is_fresh() {
    let path = root().join("docs/policy.schema.json");
    if std::env::var_os(UPDATE).is_some() {
        let text = serde_json::to_string_pretty(&*SCHEMA).unwrap() + "\n";
        std::fs::write(&path, text).unwrap();
    }
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(written == *SCHEMA, "docs/policy.schema.json is stale: {HOW}");
}

#[test]
fn the_tables_on_the_page_for_people_are_fresh() {
    let path = root().join("docs/policy.md");
    let page = page();
    let fresh = page::with_tables(&page);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &fresh).unwrap();
    } else {
        assert!(page == fresh, "docs/policy.md has stale tables: {HOW}");
    }
}

#[test]
fn every_example_policy_is_read_and_meets_the_schema() {
    let examples = examples();
    assert!(examples.len() >= 5, "{examples:?}");
    for (path, text) in &examples {
        let shown = path.display();
        let first = "# yaml-language-server: $schema=../../docs/policy.schema.json\n";
        assert!(text.starts_with(first), "{shown}: editors do not find the schema");
        read(text).unwrap_or_else(|errors| panic!("{shown}: {errors}"));
        assert_eq!(problems(text), Vec::<String>::new(), "{shown}");
    }
    assert_eq!(problems(super::SAMPLE), Vec::<String>::new());
}

/// Several example policies are one policy together: an admin may take them all.
#[test]
fn the_example_policies_do_not_claim_the_same() {
    let examples = examples();
    let names: Vec<String> = examples.iter().map(|(path, _)| path.display().to_string()).collect();
    let files: Vec<crate::PolicyFile<'_>> =
        examples.iter().zip(&names).map(|((_, text), name)| crate::PolicyFile { name, text }).collect();
    let policy = crate::parse(&files).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(policy.plugins.len(), 6);
}

/// What an editor should mark: none of it is a policy either.
#[test]
fn the_schema_refuses_what_is_wrong_by_its_form() {
    for wrong in [
        "hardwear: []",
        "hardware: pci",
        "hardware: [{vendor: \"0x10de\"}]",
        "hardware: [{subsystem: pci, use: both}]",
        "hardware: [{subsystem: pci, use: offer, nodes: [{access: rwx}]}]",
        "hardware: [{subsystem: pci, attributes: {x: [1]}}]",
        "replicas: 0",
        "replicas: 5000",
        "replicas: many",
        "shares-hardware: \"yes\"",
        "placement: near",
        "prepare: later",
        "dangerous: [everything]",
        "files: [proc/x]",
        "host-nodes: {shared: [x]}",
        "limits: {cpu: 3}",
        "limits: {memory: 3MB}",
        "health: {check-every: soon}",
        "containers: {env: {A: 1}}",
        "containers: {env: {A: []}}",
        "containers: {device-info: \"yes\"}",
        "containers: {release-hook: \"yes\"}",
        "containers: {mounts: {x: {source: /x}}}",
        "containers: {mounts: {x: {source: x, target: /x}}}",
        "rename: [{resource: v.com/x}]",
        "only: [{name: x}]",
        "only: []",
        "control: [{attribute: x, values: a, moment: now}]",
        "state: 1",
        "kernel-log: 3",
    ] {
        let text = super::with(wrong);
        assert_ne!(problems(&text), Vec::<String>::new(), "{wrong}");
        assert!(read(&text).is_err(), "{wrong}");
    }
    for wrong in ["{}", "[]", "{apiVersion: devgate.dev/v1, kind: Policy, plugins: {}}"] {
        assert_ne!(problems(wrong), Vec::<String>::new(), "{wrong}");
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

/// The schema never marks what the parser reads: held for a policy with every key.
#[test]
fn the_schema_accepts_a_policy_with_every_key() {
    read(super::EVERYTHING).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(problems(super::EVERYTHING), Vec::<String>::new());
    let everything = json(super::EVERYTHING);
    let missing = page::keys_without(&everything);
    assert_eq!(missing, Vec::<String>::new(), "EVERYTHING lacks keys of the table");
}

/// What the page says that a key's default is, is what the parser takes where the key is not written.
#[test]
fn the_defaults_of_the_page_are_those_of_the_host() {
    let page = page();
    let written = |section: &Section| {
        let keys = section.keys.iter().map(|key| match words::of(&page, section, key).default {
            words::Default::Is(text) => format!("{}: {text}", key.name),
            other => panic!("{}: {other:?}", key.name),
        });
        keys.collect::<Vec<_>>().join(", ")
    };
    let lines = format!(
        "health: {{{}}}\nlimits: {{{}}}\nshares-hardware: false\nstate: false\nreplicas: 1",
        written(&HEALTH),
        written(&LIMITS)
    );
    let (said, mut unsaid) = (super::plugin(&lines), super::plugin(""));
    assert!(!said.is_like(&unsaid), "written in another way");
    unsaid.written = std::sync::Arc::clone(&said.written);
    assert_eq!(said, unsaid);
}
