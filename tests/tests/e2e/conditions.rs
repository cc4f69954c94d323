//! The table of conditions in docs/operate.md: each of its lines is made to happen to a real host, and every face is looked at.
//!
//! What each face must say is the table's own word. Two lines need a host that hangs: a task of its own (`hangs`, whose faces
//! `monitoring::conditions` of the host has) and a component's call
//! (`a_call_that_was_given_up_hangs_until_it_returns` of the plugin layer).

mod devices;
mod faces;

use crate::conformance::{entry, policy};
use crate::look::{Said, look};
use crate::monitoring::{ask_port, port};
use crate::wat_component::{Edits, HEALTHY, Memory, NOTHING, Unit, plugin};
use anyhow::{Context, ensure};
use devgate_fake_kubelet::{Answer, Pod, StandIn, StandInConfig};
use devgate_tests::{Host, Kind, Port, Setup, generic_policy, recording};
use faces::{Faces, table};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

const KIND: Kind = Kind { class: 0, count: 2 };
const BENCH: &str = "devgate.dev/bench0";
const TEXT: &str = "test.dev/text";
/// How long something may take to be so.
const TIMEOUT: Duration = Duration::from_secs(90);
/// What `devgate status` ends with where a condition holds.
const NOT_WELL: i32 = 5;
/// Those that nothing here makes happen.
const ELSEWHERE: [&str; 2] = ["hangs", "calls-hang"];

/// Waits until it holds, and looks whether all faces say so, and why.
async fn happens(host: &Host, condition: &str, port: u16) -> anyhow::Result<Faces> {
    let (table, deadline) = (table()?, Instant::now() + TIMEOUT);
    ensure!(table.contains_key(condition), "the guide has no {condition}");
    loop {
        let faces = Faces::of(host, port).await?;
        if let Some(found) = faces.conditions()?
            && found.iter().any(|name| name == condition)
        {
            match faces.agree(&found, &table) {
                Ok(()) => return Ok(faces),
                // They were not of one moment.
                Err(_) if Instant::now() < deadline => {}
                Err(error) => return Err(error.context(condition.to_owned())),
            }
        }
        ensure!(Instant::now() < deadline, "{condition}: {}\n{:?}", faces.text.out, host.lines());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Starts it, waits until it holds, and looks at all faces.
async fn starts(setup: Setup, condition: &str) -> anyhow::Result<Host> {
    let host = setup.args(&["--listen", "127.0.0.1:0"]).start().await?;
    happens(&host, condition, port(&host).await?).await?;
    Ok(host)
}

fn bench(policy: &str) -> Setup {
    Setup::new(policy).on(&recording(&[KIND]))
}

fn changed(from: &str, to: &str) -> String {
    let policy = generic_policy(&[KIND]);
    let other = policy.replace(from, to);
    assert_ne!(other, policy, "{from}");
    other
}

/// A plugin of this component.
fn text(component: Vec<u8>, more: &str) -> Setup {
    Setup::new(&policy(&[entry("text", TEXT, more)])).with("text.wasm", component)
}

/// One that offers a unit, with this for its health and its allocations.
fn one_unit(health: impl FnOnce(&mut Memory) -> String, allocate: impl FnOnce(&mut Memory) -> String) -> Vec<u8> {
    let mut memory = Memory::default();
    let pools = memory.pools(&[(TEXT.to_owned(), vec![Unit::new("a")])]);
    let (health, allocate) = (health(&mut memory), allocate(&mut memory));
    memory.plugin(&pools, &health, &allocate)
}

fn healthy(_: &mut Memory) -> String {
    HEALTHY.to_owned()
}

fn broken(memory: &mut Memory) -> String {
    memory.verdicts(&[Some("too hot")])
}

fn given(memory: &mut Memory) -> String {
    memory.edits(&Edits::default())
}

async fn standin(dir: &Path) -> anyhow::Result<StandIn> {
    Ok(StandIn::new(StandInConfig::new(dir.join("plugins"))).await?)
}

fn dir() -> anyhow::Result<tempfile::TempDir> {
    Ok(tempfile::Builder::new().prefix("dg-").tempdir()?)
}

/// Starts it once more; its port.
async fn again(host: &mut Host) -> anyhow::Result<u16> {
    let before = port(host).await?;
    host.spawn()?;
    let listens = |line: &devgate_tests::Line| line.message.contains("listening on ");
    let is_new = |line: &devgate_tests::Line| listens(line) && !line.message.contains(&format!(":{before}:"));
    let line = host.logged(is_new).await?;
    Ok(line.message.split(':').nth(2).context("a port")?.parse()?)
}

const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// The table and these files have the same lines.
#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_the_table_happens_and_every_condition_has_one() -> anyhow::Result<()> {
    let (table, tests) = (table()?, [include_str!("conditions.rs"), include_str!("conditions/devices.rs")].concat());
    for name in table.keys().filter(|name| !ELSEWHERE.contains(&name.as_str())) {
        assert!(tests.contains(&format!("\"{name}\"")), "{name}");
    }
    let host = bench(&generic_policy(&[KIND])).args(&LISTEN).start().await?;
    host.allocatable(BENCH, 2).await?;
    let faces = Faces::of(&host, port(&host).await?).await?;
    let series =
        faces.metrics.lines().filter_map(|line| line.strip_prefix("devgate_condition{condition=\"")?.split('"').next());
    let mut series: Vec<_> = series.collect();
    series.sort_unstable();
    assert_eq!(series, table.keys().collect::<Vec<_>>());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_well_is_so_on_every_face() -> anyhow::Result<()> {
    let host = bench(&generic_policy(&[KIND])).args(&LISTEN).start().await?;
    host.allocatable(BENCH, 2).await?;
    crate::monitoring::ready(&host, port(&host).await?).await?;
    let faces = Faces::of(&host, port(&host).await?).await?;
    assert_eq!(faces.conditions()?, Some(Vec::new()), "{:?}", faces.text);
    assert_eq!((faces.text.code, faces.json.code), (Some(0), Some(0)));
    for probe in [&faces.readyz, &faces.healthz] {
        assert!(probe.starts_with("HTTP/1.1 200 "), "{probe}");
    }
    let conditions = faces.metrics.lines().filter(|line| line.starts_with("devgate_condition{"));
    assert!(conditions.filter(|line| !line.ends_with(" 0")).count() == 0);
    assert!(faces.text.out.contains("\nall is well: 1 plugin, 2 devices, 1 resource\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_host_waits() -> anyhow::Result<()> {
    let mut host = bench(&generic_policy(&[KIND])).start().await?;
    host.allocatable(BENCH, 2).await?;
    let held = Port::find()?;
    let listen = format!("127.0.0.1:{}", held.number);
    let _first = host.spawn_beside(&["--listen", &listen])?;
    host.logged(|line| line.message.contains("this one waits until that has ended")).await?;
    // Where both have the same path, the first one answers there; else the one that waits, as soon as it can.
    std::fs::remove_file(host.dir().join("status.sock"))?;
    happens(&host, "waits-for-another", held.number).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_policy_is_refused() -> anyhow::Result<()> {
    let host = bench(&generic_policy(&[KIND])).args(&LISTEN).start().await?;
    host.allocatable(BENCH, 2).await?;
    std::fs::write(host.dir().join("policy.yaml"), "plugins: 7\n")?;
    happens(&host, "policy-refused", port(&host).await?).await?;
    std::fs::write(host.dir().join("policy.yaml"), generic_policy(&[KIND]))?;
    crate::monitoring::ready(&host, port(&host).await?).await?;
    // So is another component.
    std::fs::write(host.dir().join("generic.wasm"), "none")?;
    happens(&host, "policy-refused", port(&host).await?).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_handed_out_cannot_be_recorded() -> anyhow::Result<()> {
    let host = bench(&generic_policy(&[KIND])).args(&LISTEN).start().await?;
    host.allocatable(BENCH, 2).await?;
    std::fs::remove_dir_all(host.dir().join("state"))?;
    host.kubelet.admit(&Pod::new("a", &[(BENCH, 1)])).await.unwrap_err();
    happens(&host, "state-closed", port(&host).await?).await?;
    Ok(())
}

/// A journal that is not whole, where the kubelet does not tell what pods have.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_not_known_what_was_handed_out() -> anyhow::Result<()> {
    let mut host = bench(&generic_policy(&[KIND])).args(&LISTEN).start().await?;
    host.allocatable(BENCH, 2).await?;
    host.kubelet.admit(&Pod::new("a", &[(BENCH, 1)])).await?;
    host.end(Signal::KILL).await?;
    std::fs::write(host.dir().join("state/allocations/snapshot.1"), "{")?;
    std::fs::write(host.dir().join("plugins/kubelet_internal_checkpoint"), "{")?;
    host.kubelet.answer_pods(devgate_fake_kubelet::PodsAnswer::Hang);
    let port = again(&mut host).await?;
    happens(&host, "state-closed", port).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unhealthy_cannot_be_saved() -> anyhow::Result<()> {
    let host = text(one_unit(healthy, given), "").args(&LISTEN).start().await?;
    host.allocatable(TEXT, 1).await?;
    std::fs::create_dir_all(host.dir().join("state/unhealthy.json/in-the-way"))?;
    std::fs::write(host.dir().join("text.wasm"), one_unit(broken, given))?;
    let faces = happens(&host, "state-unsaved", port(&host).await?).await?;
    assert!(faces.text.out.contains("unhealthy.json could not be saved: "), "{}", faces.text.out);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_has_no_file() -> anyhow::Result<()> {
    let cdi = dir()?;
    let at = cdi.path().join("cdi");
    let more = ["--cdi-dir", at.to_str().unwrap()];
    let host = bench(&generic_policy(&[KIND])).args(&LISTEN).args(&more).start().await?;
    host.allocatable(BENCH, 2).await?;
    let socket = host.dir().join("status.sock");
    let lease = ["cdi", "lease", BENCH, "--for", "job1", "--status-socket", socket.to_str().unwrap()];
    ensure!(look(lease)?.code == Some(0));
    std::fs::remove_dir_all(&at)?;
    std::fs::write(&at, "in the way")?;
    happens(&host, "cdi-unwritten", port(&host).await?).await?;
    std::fs::remove_file(&at)?;
    crate::monitoring::ready(&host, port(&host).await?).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_tells_what_pods_have() -> anyhow::Result<()> {
    let dir = dir()?;
    let kubelet = standin(dir.path()).await?;
    let setup = bench(&generic_policy(&[KIND])).args(&["--pod-resources-every", "200"]);
    let host = setup.args(&LISTEN).start_in(dir, kubelet)?;
    happens(&host, "pods-not-seen", port(&host).await?).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_is_loaded() -> anyhow::Result<()> {
    // It accepts, and says nothing.
    let registry = TcpListener::bind("127.0.0.1:0")?;
    let name = format!("localhost:{}/vendor/generic@sha256:{}", registry.local_addr()?.port(), "ab".repeat(32));
    let oci = changed("{file: generic.wasm}", &format!("{{oci: \"{name}\"}}"));
    starts(bench(&oci), "plugin-loading").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_fails_or_is_quarantined() -> anyhow::Result<()> {
    starts(text(plugin("unreachable", NOTHING, NOTHING), ""), "plugin-failing").await?;
    starts(bench(&generic_policy(&[KIND])).with("generic.wasm", "none"), "plugin-quarantined").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_has_nothing_to_offer() -> anyhow::Result<()> {
    let read = changed("use: offer, nodes: [{access: rw}]", "use: read");
    starts(bench(&read), "all-rejected").await?;
    let mut memory = Memory::default();
    let pools = memory.unread(TEXT, "0000:00:01.0");
    starts(text(memory.plugin(&pools, HEALTHY, NOTHING), ""), "nothing-described").await?;
    starts(text(plugin(NOTHING, NOTHING, NOTHING), ""), "nothing-listed").await?;
    let line = format!("resources: [{BENCH}]\n");
    let filtered = changed(&line, &format!("{line}    only: [{{id: nothing}}]\n"));
    starts(bench(&filtered), "nothing-listed").await?;
    Ok(())
}

/// One is enough for half an hour; of three in a row the devices rest as well.
#[tokio::test(flavor = "multi_thread")]
async fn allocations_fail() -> anyhow::Result<()> {
    let trap = |_: &mut Memory| "(unreachable)".to_owned();
    let host = text(one_unit(healthy, trap), "").args(&LISTEN).start().await?;
    host.allocatable(TEXT, 1).await?;
    for n in 0..3 {
        host.kubelet.admit(&Pod::new(&format!("pod-{n}"), &[(TEXT, 1)])).await.unwrap_err();
        happens(&host, "allocations-fail", port(&host).await?).await?;
    }
    happens(&host, "devices-unhealthy", port(&host).await?).await?;
    std::fs::write(host.dir().join("text.wasm"), one_unit(healthy, given))?;
    crate::monitoring::ready(&host, port(&host).await?).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_line_of_the_kernels_log_will_come() -> anyhow::Result<()> {
    let node = dir()?;
    std::fs::create_dir_all(node.path().join("sys/class/none"))?;
    let more = "    kernel-log: ['^rack ([0-9]+): broken']\n";
    starts(text(one_unit(healthy, given), more).at(node.path()), "kernel-log-off").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_are_not_told() -> anyhow::Result<()> {
    let line = format!("resources: [{BENCH}]\n");
    let labels = changed(&line, &format!("{line}    labels: {{example.com/bench.count: \"{{count}}\"}}\n"));
    let (dir, config) = (dir()?, |dir: &Path| StandInConfig {
        pod_resources_dir: Some(dir.join("pods")),
        ..StandInConfig::new(dir.join("plugins"))
    });
    std::fs::write(dir.path().join("nfd"), "no directory")?;
    let kubelet = StandIn::new(config(dir.path())).await?;
    let host = bench(&labels).args(&LISTEN).start_in(dir, kubelet)?;
    happens(&host, "labels-not-told", port(&host).await?).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kubelet_does_not_take_a_resource() -> anyhow::Result<()> {
    for (answer, condition) in [
        (Answer::Refuse("not today".into()), "resource-not-registered"),
        (Answer::Refuse("the version is not supported by kubelet".into()), "resource-refused"),
    ] {
        let dir = dir()?;
        let kubelet = standin(dir.path()).await?;
        kubelet.answer(answer);
        let host = bench(&generic_policy(&[KIND])).args(&LISTEN).start_in(dir, kubelet)?;
        happens(&host, condition, port(&host).await?).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn there_was_never_a_kubelet() -> anyhow::Result<()> {
    let dir = dir()?;
    let kubelet = standin(dir.path()).await?;
    kubelet.stop().await;
    let host = bench(&generic_policy(&[KIND])).args(&LISTEN).start_in(dir, kubelet)?;
    happens(&host, "kubelet-away", port(&host).await?).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_too_large_to_send() -> anyhow::Result<()> {
    let mut memory = Memory::default();
    let unit = |n| Unit::new(&format!("{}-{n}", "x".repeat(40)));
    let pools = memory.pools(&[(TEXT.to_owned(), (0..900).map(unit).collect())]);
    let allocate = memory.edits(&Edits::default());
    let component = memory.plugin(&pools, HEALTHY, &allocate);
    starts(text(component, "    replicas: 100\n"), "list-not-sent").await?;
    Ok(())
}

/// What is given by claims is nobody's without a kubelet that finds the driver, and an agent.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_publishes_what_is_given_by_claims() -> anyhow::Result<()> {
    let dir = dir()?;
    std::fs::create_dir(dir.path().join("registry"))?;
    let kubelet = standin(dir.path()).await?;
    let policy = generic_policy(&[KIND]) + "    dra: {driver: bench.devgate.dev}\n";
    let host = bench(&policy).args(&LISTEN).start_in(dir, kubelet)?;
    let faces = happens(&host, "not-published", port(&host).await?).await?;
    ensure!(faces.text.out.contains("driver bench.devgate.dev NOT registered for"), "{}", faces.text.out);
    ensure!(host.dir().join("registry/bench.devgate.dev@reg.sock").exists());
    ensure!(host.kubelet.allocatable(BENCH).is_none(), "the kubelet counts them, too");
    Ok(())
}
