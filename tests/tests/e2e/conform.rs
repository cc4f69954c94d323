//! `devgatectl conform`: a component that does everything right has full marks, and each check is seen to fail.

use crate::look::{Said, look};
use crate::misfit::POLICY;
use anyhow::Context;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// Each check, and the fault with which it fails.
const FAULTS: [(&str, &str); 71] = [
    ("answers.units", "lists-nothing"),
    ("answers.gate", "ids-too-long"),
    ("answers.health", "all-unhealthy"),
    ("answers.allocate", "sets-what-is-not-granted"),
    ("answers.something", "gives-nothing"),
    ("answers.again", "counts"),
    ("answers.alone", "needs-enumerate-first"),
    ("answers.properties", "odd-properties"),
    ("answers.asks", "asks-for-shadow"),
    ("empty.node", "fails-without-devices"),
    ("empty.unplugged", "fails-without-devices"),
    ("empty.after", "breaks-on-gone-to-judge"),
    ("unplug.enumerate", "breaks-on-gone"),
    ("unplug.health", "breaks-on-gone-to-judge"),
    ("unplug.allocate", "breaks-on-gone-to-allocate"),
    ("unplug.ids", "ids-by-place"),
    ("unplug.back", "ids-by-generation"),
    ("garbage.missing", "breaks-on-missing"),
    ("garbage.unreadable", "breaks-on-unreadable"),
    ("garbage.unreadable", "gives-up"),
    ("garbage.denied", "breaks-on-denied"),
    ("garbage.gone", "breaks-on-gone"),
    ("garbage.empty", "breaks-on-empty"),
    ("garbage.binary", "breaks-on-binary"),
    ("garbage.long", "breaks-on-long"),
    ("garbage.huge", "breaks-on-huge"),
    ("garbage.negative", "breaks-on-negative"),
    ("garbage.control", "breaks-on-control"),
    ("garbage.multibyte", "breaks-on-multibyte"),
    ("garbage.cut", "breaks-on-cut"),
    ("garbage.separators", "breaks-on-separators"),
    ("garbage.links", "breaks-on-links"),
    ("garbage.entries", "breaks-on-entries"),
    ("garbage.parts", "breaks-on-parts"),
    ("garbage.places", "breaks-on-places"),
    ("health.follows", "judges-all-alike"),
    ("health.recovers", "never-forgets"),
    ("health.unknown", "denied-is-unhealthy"),
    ("health.listed", "fails-when-ill"),
    ("exclusive.units", "lists-twice"),
    ("exclusive.nodes", "takes-nodes-of-others"),
    ("ids.order", "answers-in-its-own-order"),
    ("ids.alone", "judges-by-company"),
    ("ids.repeated", "breaks-on-repeated"),
    ("ids.none", "breaks-on-none"),
    ("ids.together", "wants-order"),
    ("limits.memory", "wastes-memory"),
    ("limits.host-calls", "wastes-host-calls"),
    ("limits.read", "wastes-reading"),
    ("limits.handles", "wastes-handles"),
    ("limits.transfer", "wastes-transfer"),
    ("scale.lists", "breaks-on-many"),
    ("scale.health", "breaks-on-many-units"),
    ("scale.allocate", "looks-at-all-to-allocate"),
    ("scale.linear", "asks-n-squared"),
    ("preference.sizes", "chooses-too-few"),
    ("preference.must", "forgets-what-must-be"),
    ("preference.odd", "breaks-on-odd-questions"),
    ("lifecycle.twice", "prepares-once"),
    ("lifecycle.release-first", "releases-what-it-prepared"),
    ("lifecycle.together", "one-at-a-time"),
    ("empty.after", "breaks-on-gone-to-release"),
    ("parameters.nothing", "takes-nothing-for-something"),
    ("parameters.unknown", "takes-any-parameters"),
    ("parameters.odd", "breaks-on-odd-parameters"),
    ("conditions.steady", "examines-anew"),
    ("conditions.words", "examines-without-words"),
    ("conditions.gone", "breaks-on-gone-to-examine"),
    ("optional.without", "breaks-without-the-log"),
    ("errors.text", "says-nothing"),
    ("errors.reasons", "gives-no-reason"),
];

/// Those that a policy or file makes fail, one by one in [`what_cannot_be_loaded_fails_the_first_group`], and one that needs a
/// fault of its own kind beside.
const ELSEWHERE: [&str; 5] = ["loads.file", "loads.digest", "loads.imports", "loads.starts", "errors.kind"];

struct Place(TempDir);

impl Place {
    fn new() -> anyhow::Result<Self> {
        let place = Self(tempfile::tempdir()?);
        let node = std::fs::read_to_string(root().join("tests/nodes/misfit.umockdev"))?;
        // What is read again and again by a component that reads too much.
        let blob = format!("F: /proc/misfit/blob/information={}\\n\n", "x".repeat(60_000));
        place.write("node.umockdev", &format!("{blob}{node}"))?;
        Ok(place)
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.0.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path)
    }

    /// Runs the battery under a policy, `file` being the policy's name.
    fn conform(&self, file: &str, policy: &str, more: &[&str]) -> anyhow::Result<Said> {
        let policy = self.write(file, policy)?;
        let (node, components) = (self.0.path().join("node.umockdev"), devgate_tests::components()?);
        let mut args: Vec<&OsStr> = vec!["conform".as_ref(), "--policy".as_ref(), policy.as_ref()];
        args.extend(["--components".as_ref(), components.as_os_str(), "--node-root".as_ref(), node.as_os_str()]);
        args.extend(more.iter().map(OsStr::new));
        look(args)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All checks of a scorecard, with what came of them.
fn checks(said: &Said) -> anyhow::Result<Vec<(String, String, Value)>> {
    let json: Value = serde_json::from_str(&said.out).with_context(|| format!("{}{}", said.out, said.err))?;
    let groups = json["plugins"][0]["groups"].as_array().cloned().unwrap_or_default();
    let checks = groups.iter().flat_map(|group| group["checks"].as_array().cloned().unwrap_or_default());
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    Ok(checks.map(|check| (text(&check, "id"), text(&check, "result"), check)).collect())
}

#[test]
fn a_component_that_does_everything_right_has_full_marks() -> anyhow::Result<()> {
    let place = Place::new()?;
    let said = place.conform("policy.yaml", POLICY, &[])?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let dir = place.0.path().display().to_string();
    insta::with_settings!({filters => vec![
        (dir.as_str(), "[dir]"),
        (r"\d+ µs", "[time]"),
        (r"wasm, \d+ bytes", "wasm, [size]"),
        (r"[^ ]*devgate: testing[^\n]*\n", ""),
    ]}, {
        insta::assert_snapshot!(said.out);
    });
    Ok(())
}

#[test]
fn every_check_passes_and_fails_and_is_documented() -> anyhow::Result<()> {
    let place = Place::new()?;
    let pinned = POLICY.replace("misfit.wasm}", &format!("misfit.wasm, sha256: \"{}\"}}", digest()?));
    let all = checks(&place.conform("policy.yaml", &pinned, &["--output", "json"])?)?;
    let not_passed: Vec<_> = all.iter().filter(|(_, result, _)| result != "passed").collect();
    assert!(not_passed.is_empty(), "{not_passed:#?}");
    let ids: BTreeSet<_> = all.iter().map(|(id, ..)| id.as_str()).collect();
    let seen_failing: BTreeSet<_> = FAULTS.iter().map(|(id, _)| *id).chain(ELSEWHERE).collect();
    assert_eq!(ids, seen_failing);
    let page = std::fs::read_to_string(root().join("dev/devgatectl/src/conform/checks.txt"))?;
    let documented: BTreeSet<_> = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(ids, documented);
    for (id, _, check) in &all {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{id}`"))).unwrap_or_default();
        assert!(row.contains(check["title"].as_str().unwrap_or("?")), "{id}: {row}");
        assert!(row.contains(check["expected"].as_str().unwrap_or("?")), "{id}: {row}");
    }
    Ok(())
}

fn digest() -> anyhow::Result<String> {
    let said = look([
        "inspect".as_ref(),
        devgate_tests::components()?.join("misfit.wasm").as_os_str(),
        "--output".as_ref(),
        "json".as_ref(),
    ])?;
    let json: Value = serde_json::from_str(&said.out)?;
    Ok(json["sha256"].as_str().context("a digest")?.to_owned())
}

/// A check that cannot fail says nothing.
#[test]
fn every_fault_fails_its_check() -> anyhow::Result<()> {
    let place = Place::new()?;
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let more = [("errors.kind", "says-busy")];
    let faults: Vec<_> = FAULTS.iter().chain(&more).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((id, fault)) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let problem = fails(&place, id, fault).err();
                    wrong.lock().unwrap().extend(problem.map(|why| format!("{fault}: {id}: {why:#}")));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn fails(place: &Place, id: &str, fault: &str) -> anyhow::Result<()> {
    let policy = POLICY.replace("fault: none", &format!("fault: {fault}"));
    let said = place.conform(&format!("{id}-{fault}.yaml"), &policy, &["--only", id, "--output", "json"])?;
    let checks = checks(&said)?;
    let [(_, result, check)] = checks.as_slice() else {
        anyhow::bail!("{} checks: {}", checks.len(), said.err);
    };
    anyhow::ensure!(result == "failed" && said.code == Some(5), "{result}: {check:#}");
    let failures = check["failures"].as_array().map_or(0, Vec::len);
    anyhow::ensure!(failures > 0 && check["remedy"].is_string(), "{check:#}");
    anyhow::ensure!(check["again"].as_str().is_some_and(|again| again.ends_with(id)), "{check:#}");
    Ok(())
}

#[test]
fn what_cannot_be_loaded_fails_the_first_group() -> anyhow::Result<()> {
    let place = Place::new()?;
    let components = devgate_tests::components()?;
    std::fs::copy(components.join("misfit.wasm"), place.0.path().join("misfit.wasm"))?;
    place.write("text.wasm", "(component)")?;
    let dir = place.0.path().display().to_string();
    let pinned = format!("misfit.wasm, sha256: \"{}\"}}", "0".repeat(64));
    for (policy, failed) in [
        (POLICY.replace("misfit.wasm", "text.wasm"), &["loads.file", "loads.starts"][..]),
        (POLICY.replace("misfit.wasm", "nothing.wasm"), &["loads.file", "loads.starts"]),
        (POLICY.replace("misfit.wasm}", &pinned), &["loads.digest", "loads.starts"]),
        (POLICY.replace("    state: true\n", ""), &["loads.imports", "loads.starts"]),
    ] {
        let policy = place.write("policy.yaml", &policy)?;
        let node = place.0.path().join("node.umockdev");
        let args = ["--components", &dir, "--output", "json", "--node-root"].map(OsStr::new);
        let head: [&OsStr; 3] = ["conform".as_ref(), "--policy".as_ref(), policy.as_ref()];
        let said = look(head.into_iter().chain(args).chain([node.as_os_str()]))?;
        assert_eq!(said.code, Some(5), "{}", said.err);
        let checks = checks(&said)?;
        let found: Vec<_> =
            checks.iter().filter(|(_, result, _)| result == "failed").map(|(id, ..)| id.as_str()).collect();
        assert_eq!(found, failed);
        assert!(!checks.iter().any(|(id, result, _)| result == "passed" && !id.starts_with("loads.")));
    }
    Ok(())
}

#[test]
fn what_is_asked_for_wrongly_is_said() -> anyhow::Result<()> {
    let place = Place::new()?;
    let unknown = place.conform("policy.yaml", POLICY, &["--only", "nonsense"])?;
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("the groups are loads, answers"), "{}", unknown.err);
    let nobody = place.conform("policy.yaml", POLICY, &["--plugin", "nobody"])?;
    assert_eq!(nobody.code, Some(3));
    assert!(nobody.err.contains("no plugin nobody"), "{}", nobody.err);
    let policy = place.0.path().join("policy.yaml");
    let live = look(["conform".as_ref(), "--policy".as_ref(), policy.as_os_str()])?;
    assert_eq!(live.code, Some(4));
    assert!(live.err.contains("needs a recorded node"), "{}", live.err);
    Ok(())
}

#[test]
fn a_pipeline_reads_the_results() -> anyhow::Result<()> {
    let place = Place::new()?;
    let file = place.0.path().join("out.xml");
    let policy = POLICY.replace("fault: none", "fault: breaks-on-none");
    let said = place.conform("policy.yaml", &policy, &["--only", "ids", "--junit", &file.display().to_string()])?;
    assert_eq!(said.code, Some(5), "{}", said.err);
    assert!(said.out.contains("FAILED ids.none"), "{}", said.out);
    let xml = std::fs::read_to_string(file)?;
    assert!(
        xml.contains("<testsuite name=\"racks.ids\" tests=\"5\" failures=\"1\" errors=\"0\" skipped=\"0\">"),
        "{xml}"
    );
    assert!(xml.contains("<failure message=\"health of no units trapped"), "{xml}");
    Ok(())
}

/// Whoever ships a policy and recorded nodes with a component ships one that passes: all folders with both are tested, with
/// each of the nodes.
#[test]
fn every_component_with_a_recorded_node_has_full_marks() -> anyhow::Result<()> {
    let by_nvidia = ["hgx-h100", "h200"].map(|node| format!("tests/nodes/{node}.umockdev"));
    let mut pairs = by_nvidia.map(|node| (root().join("deploy/policies/nvidia.yaml"), root().join(node))).to_vec();
    for folder in std::fs::read_dir(root().join("guests"))? {
        let folder = folder?.path();
        let (policy, nodes) = (folder.join("policy.yaml"), folder.join("nodes"));
        if !policy.is_file() || !nodes.is_dir() {
            continue;
        }
        for node in std::fs::read_dir(&nodes)? {
            let node = node?.path();
            if node.extension().is_some_and(|extension| extension == "umockdev") {
                pairs.push((policy.clone(), node));
            }
        }
    }
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((policy, node)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wrong.lock().unwrap().extend(full_marks(policy, node).err());
                }
            });
        }
    });
    let wrong: Vec<_> = wrong.into_inner().unwrap().iter().map(|why| format!("{why:#}")).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(pairs.len() > 2);
    Ok(())
}

fn full_marks(policy: &Path, node: &Path) -> anyhow::Result<()> {
    let components = devgate_tests::components()?;
    let head: [&OsStr; 3] = ["conform".as_ref(), "--policy".as_ref(), policy.as_ref()];
    let tail: [&OsStr; 4] = ["--components".as_ref(), components.as_ref(), "--node-root".as_ref(), node.as_ref()];
    let said = look(head.into_iter().chain(tail))?;
    anyhow::ensure!(said.code == Some(0), "{}{}", said.out, said.err);
    Ok(())
}
