//! What `docs/threats.md` says: that the tests of its lines, which `tests/threats.txt` names, exist; and those that need the real program and a hostile component.

use crate::conformance::{allocate, client, entry};
use crate::wat_component::{Edits, HEALTHY, Memory, NOTHING, Unit};
use devgate_fake_kubelet::Event;
use devgate_tests::{Host, Kind, Setup, generic_policy, recording};
use std::collections::BTreeSet;
use std::path::Path;
use tonic::Code;

const BAD: &str = "test.dev/bad";
const GOOD: Kind = Kind { class: 0, count: 2 };

/// A plugin that is well, and after it the hostile one.
async fn beside_a_good_one(component: Vec<u8>, more: &str) -> anyhow::Result<Host> {
    let policy = format!("{}{}", generic_policy(&[GOOD]), entry("bad", BAD, more));
    let host = Setup::new(&policy).on(&recording(&[GOOD])).with("bad.wasm", component).start().await?;
    host.allocatable(&GOOD.resource(), 2).await?;
    Ok(host)
}

fn unit(id: &str, properties: &[(&str, &str)]) -> Unit {
    Unit {
        id: id.to_owned(),
        properties: properties.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
    }
}

/// Nothing that a component makes may leave the line that it is logged in.
fn assert_readable(host: &Host) {
    for line in host.lines() {
        assert!(!line.level.is_empty(), "not one JSON object a line: {line:?}");
        assert!(line.message.len() < 8 << 10, "{} bytes", line.message.len());
        // The host's own messages may have several lines; escapes never come from anybody.
        assert!(!line.message.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']), "{line:?}");
    }
}

/// What the tables of the page ask, and the answer: tables whose head begins with `can`.
fn asked(page: &str) -> Vec<(&str, &str)> {
    let mut rows = Vec::new();
    let mut is_asked = false;
    for line in page.lines() {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        match cells.as_slice() {
            _ if !line.starts_with('|') => is_asked = false,
            [head, "", "mechanism"] => is_asked = head.starts_with("can"),
            [first, ..] if first.starts_with("---") => {}
            [what, answer, _] if is_asked => rows.push((*what, *answer)),
            _ => assert!(!is_asked, "{line}"),
        }
    }
    rows
}

/// The tests of each, by the list beside the page.
fn shown(list: &str) -> Vec<(&str, Vec<&str>)> {
    let entries = list.split("\n\n").filter(|entry| !entry.starts_with('#'));
    entries
        .map(|entry| {
            let mut lines = entry.lines();
            (lines.next().unwrap_or_default(), lines.map(str::trim).collect())
        })
        .collect()
}

#[test]
fn every_line_of_the_page_has_tests_that_exist() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tests = all_tests()?;
    let page = std::fs::read_to_string(root.join("docs/threats.md"))?;
    let list = std::fs::read_to_string(root.join("tests/threats.txt"))?;
    let (asked, shown) = (asked(&page), shown(&list));
    assert!(asked.len() > 80, "{}", asked.len());
    for (what, answer) in &asked {
        let is_answer = ["no", "yes", "only"].iter().any(|word| answer.starts_with(word));
        assert!(is_answer, "{what}: {answer}");
    }
    let of_the_page: Vec<_> = asked.iter().map(|(what, _)| *what).collect();
    let of_the_list: Vec<_> = shown.iter().map(|(what, _)| *what).collect();
    assert_eq!(of_the_page, of_the_list, "docs/threats.md and tests/threats.txt have the same lines");
    for (what, named) in &shown {
        assert!(!named.is_empty(), "{what}: no test");
        let wrong: Vec<_> = named.iter().filter(|name| !tests.contains(**name)).collect();
        assert!(wrong.is_empty(), "{what}: no such tests: {wrong:?}");
    }
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let (_, invariants) = page.split_once("\n## Invariants\n").expect("the section");
    let (invariants, _) = invariants.split_once("\n## ").expect("its end");
    let named: Vec<_> = invariants.split('`').skip(1).step_by(2).collect();
    let wrong: Vec<_> = named.iter().filter(|name| !tests.contains(**name)).collect();
    assert!(wrong.is_empty() && named.len() > 5, "ARCHITECTURE.md: no such tests: {wrong:?}");
    Ok(())
}

#[test]
fn every_test_that_the_rules_of_cdi_name_exists() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut tests = BTreeSet::new();
    for dir in ["host/cdi", "tests/tests"] {
        collect(&root.join(dir), &mut tests)?;
    }
    let table = std::fs::read_to_string(root.join("host/cdi/CONFORMANCE.md"))?;
    let named: BTreeSet<_> = table.split('`').skip(1).step_by(2).collect();
    let of_the_table = |name: &str| name.starts_with("cdi") && name.as_bytes().get(3).is_some_and(u8::is_ascii_digit);
    let missing: Vec<_> = tests.iter().filter(|name| of_the_table(name) && !named.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "not in the table: {missing:?}");
    let wrong: Vec<_> = named.iter().filter(|name| of_the_table(name) && !tests.contains(**name)).collect();
    assert!(wrong.is_empty() && named.len() > 20, "no such tests: {wrong:?}");
    Ok(())
}

/// The names of all tests of devgate.
pub(crate) fn all_tests() -> anyhow::Result<BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut tests = BTreeSet::new();
    for dir in ["dev", "host", "tests", "guests"] {
        collect(&root.join(dir), &mut tests)?;
    }
    assert!(tests.len() > 200, "{}", tests.len());
    Ok(tests)
}

/// The names of all functions that follow a test attribute.
fn collect(dir: &Path, tests: &mut BTreeSet<String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, tests)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut expected = false;
            for line in std::fs::read_to_string(&path)?.lines().map(str::trim) {
                expected |= line == "#[test]" || line.starts_with("#[tokio::test");
                if expected && let Some((_, name)) = line.split_once("fn ") {
                    tests.extend(name.split('(').next().map(str::to_owned));
                    expected = false;
                }
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_pools_and_odd_names_is_cut_down_to_what_is_granted() -> anyhow::Result<()> {
    let mut pools: Vec<(String, Vec<Unit>)> = (0..3_000).map(|n| (format!("test.dev/p{n}"), vec![])).collect();
    let odd = ["", "gpu", "\u{1b}[2J/x", "kubernetes.io/gpu", "../../etc", "devgate.dev/bench0", "a/\u{202e}b"];
    pools.extend(odd.map(|name| (name.to_owned(), vec![unit("x", &[])])));
    pools.push(("y".repeat(4_096), vec![]));
    pools.push((BAD.to_owned(), vec![unit("real", &[])]));
    pools.push((BAD.to_owned(), vec![unit("twice", &[])]));
    let mut memory = Memory::default();
    let (body, edits) = (memory.pools(&pools), memory.edits(&Edits::default()));
    let host = beside_a_good_one(memory.plugin(&body, HEALTHY, &edits), "").await?;
    host.allocatable(BAD, 1).await?;
    assert_eq!(host.kubelet.devices(BAD).into_keys().collect::<Vec<_>>(), ["real"]);
    let known: BTreeSet<String> = host
        .kubelet
        .events()
        .into_iter()
        .filter_map(|moment| match moment.event {
            Event::Asked { resource, .. } => Some(resource),
            _ => None,
        })
        .collect();
    assert_eq!(known, BTreeSet::from([BAD.to_owned(), GOOD.resource()]));
    assert_readable(&host);
    let lines = host.lines().into_iter().filter(|line| line.plugin == "bad").count();
    assert!(lines < 100, "{lines} lines for one answer");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_look_like_something_else_are_refused() -> anyhow::Result<()> {
    let long = "x".repeat(64);
    let odd = [
        "",
        "good::0",
        "::",
        "a::b",
        "-a",
        "a,b",
        "a b",
        "a\nb",
        "a\u{0}b",
        "{ids}",
        "a=b",
        "a/b",
        "../x",
        "ä",
        &long,
        "bench0-0",
        "all\u{202e}",
    ];
    let mut units: Vec<Unit> = odd.iter().map(|id| unit(id, &[])).collect();
    units.push(unit("good", &[]));
    let mut memory = Memory::default();
    let (body, edits) = (memory.pools(&[(BAD.to_owned(), units)]), memory.edits(&Edits::default()));
    // A text with NUL fails the whole answer, as the contract says.
    let host = beside_a_good_one(memory.plugin(&body, HEALTHY, &edits), "").await?;
    let line = host.logged(|line| line.plugin == "bad" && line.level == "ERROR").await?;
    assert_eq!(line.family, "guest", "{}", line.message);
    assert_eq!(host.kubelet.capacity(BAD), None);
    drop(host);
    let mut units: Vec<Unit> = odd.iter().filter(|id| !id.contains('\0')).map(|id| unit(id, &[])).collect();
    units.push(unit("good", &[]));
    let mut memory = Memory::default();
    let (body, edits) = (memory.pools(&[(BAD.to_owned(), units)]), memory.edits(&Edits::default()));
    let host = beside_a_good_one(memory.plugin(&body, HEALTHY, &edits), "    replicas: 2\n").await?;
    host.allocatable(BAD, 2).await?;
    let ids: Vec<_> = host.kubelet.devices(BAD).into_keys().collect();
    assert_eq!(ids, ["good::0", "good::1"]);
    assert_readable(&host);
    Ok(())
}

/// A component whose allocation of its only unit gives `edits`, with a policy that grants some environment.
async fn with_edits(edits: &Edits, properties: &[(&str, &str)], containers: &str) -> anyhow::Result<Host> {
    let mut memory = Memory::default();
    let body = memory.pools(&[(BAD.to_owned(), vec![unit("u", properties)])]);
    let edits = memory.edits(edits);
    let host = beside_a_good_one(memory.plugin(&body, HEALTHY, &edits), containers).await?;
    host.allocatable(BAD, 1).await?;
    Ok(host)
}

fn env(pairs: &[(&str, &str)]) -> Edits {
    Edits { env: pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(), ..Edits::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_the_policy_does_not_expect_fails_the_allocation() -> anyhow::Result<()> {
    let rules = "    containers: {env: {TEST_BAD: \"{ids}\"}}\n";
    for edits in [
        env(&[("TEST_BAD", "all")]),
        env(&[("TEST_BAD", "u,u")]),
        env(&[("TEST_BAD", "u\n")]),
        env(&[("TEST_BAD", "{ids}")]),
        env(&[("LD_PRELOAD", "/tmp/x.so")]),
        env(&[("TEST_BAD", "u"), ("PATH", "/tmp")]),
        env(&[("TEST_BAD=u\u{1b}[2J", "u")]),
        env(&[("", "")]),
    ] {
        let host = with_edits(&edits, &[], rules).await?;
        let error = allocate(&mut client(&host, BAD).await?, &["u"]).await.unwrap_err();
        assert_eq!(error.code(), Code::FailedPrecondition, "{:?}: {error}", edits.env);
        assert!(!error.message().contains(['\u{1b}', '\n']), "{error:?}");
        assert_readable(&host);
    }
    let host = with_edits(&env(&[("TEST_BAD", "u")]), &[], rules).await?;
    assert_eq!(allocate(&mut client(&host, BAD).await?, &["u"]).await?.envs["TEST_BAD"], "u");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_property_cannot_break_out_of_a_template() -> anyhow::Result<()> {
    let rules = "    containers: {env: {TEST_BAD: \"{property.uuid}\"}}\n";
    // What it says is exactly what the template would make of it, were it taken as it is.
    for value in ["a,b", "all", " ALL ", "none", "", "a\nB=1", "\u{1b}[2J", "a\u{202e}b"] {
        let host = with_edits(&env(&[("TEST_BAD", value)]), &[("uuid", value)], rules).await?;
        let error = allocate(&mut client(&host, BAD).await?, &["u"]).await.unwrap_err();
        assert_eq!(error.code(), Code::FailedPrecondition, "{value:?}: {error}");
        assert_readable(&host);
    }
    // A placeholder in a property stays what it is: text.
    for value in ["{ids}", "{property.uuid}", "{{", "a-1"] {
        let host = with_edits(&env(&[("TEST_BAD", value)]), &[("uuid", value)], rules).await?;
        let given = allocate(&mut client(&host, BAD).await?, &["u"]).await?;
        assert_eq!(given.envs["TEST_BAD"], value);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi_by_the_back_door_is_refused() -> anyhow::Result<()> {
    let annotation =
        |key: &str| Edits { annotations: vec![(key.to_owned(), "vendor.com/gpu=all".to_owned())], ..Edits::default() };
    let cdi = |name: &str| Edits { cdi: vec![name.to_owned()], ..Edits::default() };
    for edits in [
        annotation("cdi.k8s.io/vendor_gpu"),
        annotation("CDI.K8S.IO/vendor_gpu"),
        annotation("cdi.k8s.io"),
        annotation("io.kubernetes.cri-o.Devices"),
        cdi("vendor.com/gpu=all"),
        cdi("vendor.com/gpu=0,vendor.com/gpu=1"),
        cdi("\n"),
    ] {
        let host = with_edits(&edits, &[], "").await?;
        let error = allocate(&mut client(&host, BAD).await?, &["u"]).await.unwrap_err();
        assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
        assert_readable(&host);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_log_lines_is_cut() -> anyhow::Result<()> {
    let mut memory = Memory::default();
    let [text, len] =
        memory.text(&"\u{1b}[31mERROR \u{202e}\r\n{\"level\":\"ERROR\",\"message\":\"forged\"} ".repeat(40));
    // 5,000 lines of some 2 KB in each enumeration, at most 10,000 calls of the host.
    let enumerate = format!(
        "(local $n i32)
         (loop $again
            (call $log (i32.const 3) (i32.const {text}) (i32.const {len}))
            (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $n) (i32.const 5000))))
         {NOTHING}"
    );
    let more = "    limits: {cpu: 5s, deadline: 10s, transfer: 64MiB}\n";
    let host = beside_a_good_one(memory.plugin(&enumerate, NOTHING, NOTHING), more).await?;
    host.logged(|line| line.plugin == "bad" && line.message.contains("bytes dropped")).await?;
    assert_readable(&host);
    let lines: Vec<_> = host.lines().into_iter().filter(|line| line.plugin == "bad").collect();
    let bytes: usize = lines.iter().map(|line| line.message.len()).sum();
    assert!(bytes < 256 << 10, "{bytes} bytes in {} lines", lines.len());
    assert!(lines.iter().all(|line| line.message != "forged"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn units_that_blink_cost_only_themselves() -> anyhow::Result<()> {
    let kinds = [GOOD, Kind { class: 1, count: 2 }];
    let host = Setup::new(&generic_policy(&kinds)).on(&recording(&kinds)).start().await?;
    for kind in kinds {
        host.allocatable(&kind.resource(), 2).await?;
    }
    let lists = |resource: &str| {
        let of = |event: &Event| matches!(event, Event::List { resource: of, .. } if of == resource);
        host.kubelet.events().iter().filter(|moment| of(&moment.event)).count()
    };
    let blinking = kinds[1].resource();
    let before = (lists(&GOOD.resource()), lists(&blinking), std::time::Instant::now());
    for n in 0..40 {
        let text = recording(&kinds);
        let text = match n % 2 {
            0 => text.replace("N: bench1-1\n", ""),
            _ => text,
        };
        // As one step, so that no half of it is read.
        std::fs::write(host.dir().join("next"), text)?;
        std::fs::rename(host.dir().join("next"), host.dir().join("node.umockdev"))?;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    host.allocatable(&blinking, 2).await?;
    assert_eq!(lists(&GOOD.resource()), before.0, "the other resource was not touched");
    // One at once and then one per 500 ms at most.
    let most = usize::try_from(before.2.elapsed().as_millis() / 500)? + 2;
    assert!(lists(&blinking) - before.1 <= most, "{} lists", lists(&blinking) - before.1);
    Ok(())
}
