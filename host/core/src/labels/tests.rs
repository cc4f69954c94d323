//! The file, as its readers see it.

use super::text::{self, HEADER, MAX_BYTES, Section};
use super::writer::{FILE, LEASE, LOCK, RENEWED, TEMPORARY, Writer};
use super::{Known, NodeLabels};
use crate::status::StatusRecorder;
use devgate_policy::{Derived, Labels, PolicyFile};
use devgate_types::PluginName;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const MINUTE: Duration = Duration::from_secs(60);

/// What is told of the labels of a plugin.
fn told(recorder: &StatusRecorder) -> crate::status::LabelStatus {
    recorder.status(crate::status::When::now()).labels
}

/// 2026-11-21T13:42:17Z.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_268_537)
}

fn plugin(name: &str) -> PluginName {
    PluginName::try_new(name).unwrap()
}

/// The rules of a policy's one plugin.
fn rules(labels: &str) -> Labels {
    let text = format!(
        "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  p:\n    component: {{file: p.wasm}}\n    resources: [a.com/x]\n    labels: {labels}\n"
    );
    let policy = devgate_policy::parse(&[PolicyFile { name: "policy.yaml", text: &text }]);
    policy.unwrap().plugins[0].labels.clone()
}

fn derived(labels: &[(&str, &str)]) -> Derived {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Derived { labels: labels.iter().map(own).collect(), missing: Vec::new() }
}

impl NodeLabels {
    fn known(&self) -> Known {
        self.0.borrow().clone()
    }
}

/// A labels at which plugin `a` is expected.
fn labels() -> (NodeLabels, Arc<StatusRecorder>) {
    let (labels, recorder) = (NodeLabels::default(), Arc::<StatusRecorder>::default());
    labels.expects(&plugin("a"), &rules(r#"{a.com/x: "x", "a.com/of-{property.y}": "1"}"#), &recorder);
    (labels, recorder)
}

/// What a worker of Node Feature Discovery makes of a file, after `parseFeatureFile` and `parseDirectives` of its
/// `source/local/local.go`: nothing of one that is too large.
fn labels_in(text: &str, now: SystemTime) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    if text.len() > 65_536 {
        return labels;
    }
    let mut expiry = now;
    for line in text.split('\n').filter(|line| !line.is_empty()) {
        if let Some(directive) = line.strip_prefix("# +") {
            if let Some(time) = directive.strip_prefix("expiry-time=") {
                expiry = humantime::parse_rfc3339(time.trim()).unwrap();
            }
        } else if !line.starts_with('#') && expiry >= now {
            let (name, value) = line.split_once('=').unwrap_or((line, "true"));
            labels.insert(name.to_owned(), value.to_owned());
        }
    }
    labels
}

fn on_disk(dir: &Path, now: SystemTime) -> Vec<String> {
    let text = fs::read_to_string(dir.join(FILE)).unwrap_or_default();
    let labels = labels_in(&text, now).into_iter();
    labels.map(|(name, value)| format!("{name}={value}")).collect()
}

#[test]
fn what_plugins_tell_is_in_the_file_and_nothing_before() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("nfd/features.d");
    let ((labels, recorder), mut writer) = (labels(), Writer::new(dir.clone()));
    labels.expects(&plugin("b"), &rules("{b.com/y: z}"), &Arc::default());
    assert!(writer.turn(&labels.known(), now()));
    assert!(!dir.join(FILE).exists(), "nothing is known yet");
    labels.tells(&plugin("a"), derived(&[("a.com/x", "x"), ("a.com/of-1", "1")]));
    labels.tells(&plugin("c"), derived(&[("c.com/x", "unexpected")]));
    writer.turn(&labels.known(), now());
    insta::assert_snapshot!(fs::read_to_string(dir.join(FILE)).unwrap(), @r"
    # Written by devgate, and replaced when its labels change: the policy has them.
    # plugin a
    # +expiry-time=2026-11-21T13:57:17Z
    a.com/of-1=1
    a.com/x=x
    ");
    let mode = fs::metadata(dir.join(FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    let beside: Vec<_> = fs::read_dir(&dir).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(beside.len(), 2, "nothing is left beside it but its lock: {beside:?}");
    let mode = fs::metadata(dir.join(LOCK)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a process that can open it can lock it");
    assert_eq!(told(&recorder).given.len(), 2);
    assert_eq!(told(&recorder).problem, None);
    labels.tells(&plugin("a"), Derived::default());
    writer.turn(&labels.known(), now());
    assert!(!dir.join(FILE).exists(), "and without labels it goes");
}

#[test]
fn it_is_written_anew_when_something_changes_and_before_it_expires() {
    let dir = tempfile::tempdir().unwrap();
    let ((labels, _), mut writer) = (labels(), Writer::new(dir.path().to_owned()));
    labels.tells(&plugin("a"), derived(&[("a.com/x", "x")]));
    let write = |writer: &mut Writer, at: SystemTime| {
        writer.turn(&labels.known(), at);
        use std::os::unix::fs::MetadataExt;
        let look = fs::metadata(dir.path().join(FILE)).unwrap();
        (look.ctime(), look.ctime_nsec(), fs::read_to_string(dir.path().join(FILE)).unwrap())
    };
    let first = write(&mut writer, now());
    let most = LEASE - RENEWED;
    assert_eq!(write(&mut writer, now() + most), first);
    let renewed = write(&mut writer, now() + most + Duration::from_secs(1));
    assert_ne!(renewed.2, first.2);
    assert_eq!(on_disk(dir.path(), now() + most + LEASE), ["a.com/x=x"]);
    // The clock was set back: nothing may stand for longer than it should.
    assert_eq!(write(&mut writer, now()).2, first.2);
    assert!(on_disk(dir.path(), now() + LEASE + MINUTE).is_empty());
    labels.tells(&plugin("a"), derived(&[("a.com/x", "x"), ("a.com/of-2", "1")]));
    assert_ne!(write(&mut writer, now()).2, first.2);
}

#[test]
fn a_successor_goes_on_from_what_was_there_until_it_knows_better() {
    let dir = tempfile::tempdir().unwrap();
    let ((old, _), mut writer) = (labels(), Writer::new(dir.path().to_owned()));
    old.tells(&plugin("a"), derived(&[("a.com/x", "x"), ("a.com/of-1", "1")]));
    old.expects(&plugin("gone"), &rules("{g.com/y: z}"), &Arc::default());
    old.tells(&plugin("gone"), derived(&[("g.com/y", "z")]));
    writer.turn(&old.known(), now());
    drop(writer);
    assert_eq!(on_disk(dir.path(), now()).len(), 3, "nothing blinks");
    // One rule is another, and one plugin is gone.
    let (new, recorder) = (NodeLabels::default(), Arc::<StatusRecorder>::default());
    new.expects(&plugin("a"), &rules("{a.com/x: x, a.com/new: y}"), &recorder);
    let mut writer = Writer::new(dir.path().to_owned());
    let later = now() + 5 * MINUTE;
    writer.turn(&new.known(), later);
    assert_eq!(on_disk(dir.path(), later), ["a.com/x=x"]);
    // As long as it would have stood.
    writer.turn(&new.known(), now() + LEASE - MINUTE);
    assert_eq!(on_disk(dir.path(), now() + LEASE - MINUTE), ["a.com/x=x"]);
    assert!(on_disk(dir.path(), now() + LEASE + MINUTE).is_empty());
    writer.turn(&new.known(), now() + LEASE + MINUTE);
    assert!(!dir.path().join(FILE).exists());
    new.tells(&plugin("a"), derived(&[("a.com/new", "y")]));
    writer.turn(&new.known(), later);
    assert_eq!(on_disk(dir.path(), later), ["a.com/new=y"]);
}

#[test]
fn one_host_writes_the_file_and_the_next_when_it_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let ((old, _), mut first) = (labels(), Writer::new(dir.path().to_owned()));
    old.tells(&plugin("a"), derived(&[("a.com/x", "x")]));
    first.turn(&old.known(), now());
    let ((new, recorder), mut second) = (labels(), Writer::new(dir.path().to_owned()));
    new.tells(&plugin("a"), derived(&[("a.com/of-2", "1")]));
    second.turn(&new.known(), now());
    assert_eq!(on_disk(dir.path(), now()), ["a.com/x=x"]);
    assert!(told(&recorder).problem.clone().unwrap().contains("another devgate keeps it"));
    drop(first);
    second.turn(&new.known(), now());
    assert_eq!(on_disk(dir.path(), now()), ["a.com/of-2=1"]);
    assert_eq!(told(&recorder).problem, None);
    // Without its lock the host is not the one that writes, until it has locked it again.
    fs::remove_file(dir.path().join(LOCK)).unwrap();
    let ((third, recorder), mut other) = (labels(), Writer::new(dir.path().to_owned()));
    third.tells(&plugin("a"), derived(&[("a.com/of-3", "1")]));
    other.turn(&third.known(), now());
    assert_eq!(told(&recorder).problem, None);
    new.tells(&plugin("a"), derived(&[("a.com/of-4", "1")]));
    second.turn(&new.known(), now());
    assert_eq!(on_disk(dir.path(), now()), ["a.com/of-3=1"]);
}

#[test]
fn what_is_removed_is_written_again_and_what_is_somebody_elses_stays() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("features.d");
    let ((labels, recorder), mut writer) = (labels(), Writer::new(dir.clone()));
    labels.tells(&plugin("a"), derived(&[("a.com/x", "x")]));
    writer.turn(&labels.known(), now());
    for whole in [false, true] {
        if whole {
            fs::remove_dir_all(&dir).unwrap();
        } else {
            fs::remove_file(dir.join(FILE)).unwrap();
            fs::write(dir.join(TEMPORARY), "of an earlier host").unwrap();
        }
        writer.turn(&labels.known(), now());
        assert_eq!(on_disk(&dir, now()), ["a.com/x=x"]);
    }
    fs::write(dir.join(FILE), "another=program\n").unwrap();
    writer.turn(&labels.known(), now());
    assert_eq!(fs::read_to_string(dir.join(FILE)).unwrap(), "another=program\n");
    assert!(told(&recorder).problem.clone().unwrap().contains("devgate did not write it"));
    // Nor is it removed by a host without labels.
    let none = NodeLabels::default().known();
    assert!(!Writer::new(dir.clone()).turn(&none, now()) && dir.join(FILE).exists());
    fs::write(dir.join(FILE), format!("{HEADER}a.com/x=x\n")).unwrap();
    drop(writer);
    assert!(!Writer::new(dir.clone()).turn(&none, now()));
    assert!(!dir.join(FILE).exists(), "what devgate wrote is");
    fs::remove_dir(&dir).unwrap();
    fs::write(&dir, "a file").unwrap();
    let mut writer = Writer::new(dir.clone());
    writer.turn(&labels.known(), now());
    assert!(told(&recorder).problem.clone().unwrap().contains("could not be written: "));
    fs::remove_file(&dir).unwrap();
    writer.turn(&labels.known(), now());
    assert_eq!((on_disk(&dir, now()).len(), told(&recorder).problem.clone()), (1, None));
    assert!(!Writer::new(parent.path().join("none")).turn(&none, now()));
    assert!(!parent.path().join("none").exists(), "without labels no directory is made");
}

#[test]
fn a_policy_without_labels_takes_them_away() {
    let (labels, recorder) = labels();
    labels.tells(&plugin("a"), derived(&[("a.com/x", "x")]));
    labels.expects(&plugin("a"), &Labels::default(), &recorder);
    assert!(labels.known().is_empty() && told(&recorder).given.is_empty());
    labels.tells(&plugin("a"), derived(&[("a.com/x", "x")]));
    assert!(labels.known().is_empty());
    let (labels, _) = self::labels();
    labels.forgets(&plugin("a"));
    assert!(labels.known().is_empty());
}

#[test]
fn a_file_is_as_large_as_node_feature_discovery_reads_and_no_larger() {
    let value = "v".repeat(63);
    let section = |bytes: usize| {
        let overhead = text::write(&[(plugin("p"), one("a.com/n", "v"))].into()).0.len() - "a.com/n=v\n".len();
        let mut labels = BTreeMap::new();
        let mut left = bytes - overhead;
        let mut n = 0;
        while left > 0 {
            // Each line has `a.com/`, a name, `=`, and a value.
            let line = if left < 200 { left } else { 100 };
            let name = format!("n{n:06}");
            let rest = line - "a.com/".len() - name.len() - "=\n".len();
            let (long, value) = if rest > 63 { (rest - 63, &value[..]) } else { (0, &value[..rest]) };
            labels.insert(format!("a.com/{name}{}", "x".repeat(long)), value.to_owned());
            left -= line;
            n += 1;
        }
        Section { until: now() + LEASE, labels }
    };
    let fits = [(plugin("p"), section(MAX_BYTES))].into();
    let (text, left_out) = text::write(&fits);
    assert_eq!((text.len(), left_out.len()), (MAX_BYTES, 0));
    let over = [(plugin("p"), section(MAX_BYTES + 1)), (plugin("q"), one("b.com/x", "y"))].into();
    let (text, left_out) = text::write(&over);
    assert_eq!(left_out, [&plugin("p")]);
    assert_eq!(labels_in(&text, now()).len(), 1, "the other has room");
}

fn one(name: &str, value: &str) -> Section {
    Section { until: now() + LEASE, labels: [(name.to_owned(), value.to_owned())].into() }
}

proptest! {
    /// Whatever a component says, a worker reads exactly the labels that there are, and a successor as well.
    #[test]
    fn what_is_written_is_what_is_read(values in proptest::collection::vec(".{0,90}", 1..5)) {
        let rules = rules(r#"{a.com/x: {value: "{property.y}", of: mixed}, "a.com/of-{property.y}": "{property.y}"}"#);
        let resource = devgate_types::ResourceName::try_new("a.com/x").unwrap();
        let properties: Vec<_> = values.iter().map(|value| [("y".to_owned(), value.clone())]).collect();
        let numa_nodes = std::collections::BTreeSet::new();
        let units: Vec<_> = properties.iter().map(|properties| devgate_policy::LabelUnit {
            facts: devgate_policy::UnitFacts { id: "u", resource: &resource, devices: &[], properties },
            offered: &resource,
            healthy: true,
            numa_nodes: &numa_nodes,
        }).collect();
        let labels = rules.of(&units, 1).labels;
        let sections = [(plugin("p"), Section { until: now() + LEASE, labels: labels.clone() })].into();
        let (text, _) = text::write(&sections);
        prop_assert_eq!(&labels_in(&text, now()), &labels);
        let read = text::read(&text, now(), LEASE, |name, label, value| *name == plugin("p") && rules.grants(label, value));
        prop_assert_eq!(read.get(&plugin("p")).map(|s| s.labels.clone()).unwrap_or_default(), labels);
    }

    /// Whatever is in the file, nothing but what the rules let be told comes of it.
    #[test]
    fn a_file_that_is_odd_is_read_without_harm(text in "(# plugin p\n|# \\+expiry-time=2026-11-21T13:5[0-9]:00Z\n|a.com/x=[a-z -]{0,3}\n|.{0,30}\n){0,12}") {
        let rules = rules("{a.com/x: x}");
        let is_granted = |name: &PluginName, label: &str, value: &str| *name == plugin("p") && rules.grants(label, value);
        for (name, section) in text::read(&text, now(), LEASE, is_granted) {
            prop_assert!(name == plugin("p") && section.until > now() && section.until <= now() + LEASE);
            prop_assert!(section.labels.keys().all(|name| name == "a.com/x"), "{section:?}");
        }
    }
}
