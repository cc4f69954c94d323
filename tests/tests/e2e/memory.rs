//! All processes of a host within what its container or service may have: a kubelet has the kernel end them together otherwise.

use crate::conformance::{allocate, client};
use crate::runners::{patch, take_all_memory, with_room};
use crate::wat_component::{NOTHING, SPIN, plugin};
use devgate_runner::{COMPILER_MEMORY, HOST_MEMORY, runner_memory};
use devgate_tests::process::children;
use devgate_tests::{Host, Kind, MemoryGroup, Setup, devgate, generic_policy, recording};
use devgate_types::Limits;
use rustix::process::Signal;
use std::fs;
use std::time::{Duration, Instant};

const KIND: Kind = Kind { class: 0, count: 2 };
const GOOD: &str = "devgate.dev/bench0";

fn entry(name: &str, limits: &str) -> String {
    format!(
        "  {name}:\n    component: {{file: {name}.wasm}}\n    resources: [devgate.dev/{name}]\n    limits: {{{limits}}}\n"
    )
}

/// What a host, a compiler and so many plugins with the default limits may take.
fn enough_for(plugins: u64) -> u64 {
    // Machine code of the components of these tests is a few KiB.
    HOST_MEMORY.0 + COMPILER_MEMORY.0 + plugins * runner_memory(&Limits::default(), 64 << 10).0
}

/// A component that takes 16 MiB in each call, writes to each page and never answers.
fn greedy() -> Vec<u8> {
    let touch = "(i32.store (local.get $at) (i32.const 1)) (local.set $at (i32.add (local.get $at) (i32.const 4096)))";
    let enumerate = format!(
        "(local $at i32) (drop (memory.grow (i32.sub (i32.const 256) (memory.size)))) (local.set $at (i32.const 65536)) \
         (loop $page {touch} (br_if $page (i32.lt_u (local.get $at) (i32.const 16777216)))) {SPIN}"
    );
    plugin(&enumerate, NOTHING, NOTHING)
}

/// The most that a child of the host has had of the memory that counts, in MiB, by its name.
fn most_data(host: &Host, name: &str) -> anyhow::Result<u64> {
    let mut most = 0;
    for child in children(host.pid()?)? {
        let called = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
        let data = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB"));
        if called.starts_with(name) {
            most = most.max(data.unwrap_or("0").parse::<u64>()? >> 10);
        }
    }
    Ok(most)
}

/// Components that take all they can, one of them with native code: what they may take together with the host and a compiler is what the
/// group has, so that the kernel never has to end anything.
#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread")]
async fn however_much_components_take_nothing_is_ended_for_want_of_memory() -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let names = ["greedy", "greedier", "native"];
    let entries = names.map(|name| entry(name, "cpu: 2s, deadline: 2s"));
    let native = with_room(9_000);
    let group = MemoryGroup::new(enough_for(4))?;
    let mut host = Setup::new(&(generic_policy(&[KIND]) + &entries.concat()))
        .on(&recording(&[KIND]))
        .with("greedy.wasm", greedy())
        .with("greedier.wasm", [greedy(), b"\x00\x02\x01x".to_vec()].concat())
        .with("native.wasm", native.clone())
        .inside(&group)
        .start()
        .await?;
    host.allocatable(GOOD, 2).await?;
    host.logged(|line| line.plugin == "native" && line.message.contains("loaded")).await?;
    host.end(Signal::TERM).await?;
    patch(&host.dir().join("state/compiled"), &native, &take_all_memory())?;
    let before = host.lines().len();
    host.spawn()?;
    host.allocatable(GOOD, 2).await?;
    let mut client = client(&host, GOOD).await?;
    let (begun, mut most) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(6) {
        allocate(&mut client, &["bench0-0"]).await?;
        most = most.max(most_data(&host, "devgate-runner")?);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // As much as there is for two calls and what is beside them, and no more.
    assert!((60..=80).contains(&most), "{most} MiB");
    assert_eq!(group.killed()?, 0);
    let lines = host.lines();
    for name in names {
        let said = lines.iter().skip(before).filter(|line| line.plugin == name);
        let late = said.filter(|line| line.message.contains("exceeded its 2s"));
        assert!(late.count() > 0, "{name}: {lines:?}");
    }
    assert!(lines.iter().all(|line| !line.message.contains("devgate may take")), "they fit");
    Ok(())
}

/// Where they might take more than there is, an admin is told by the log and by `check`; they are served all the same.
#[tokio::test(flavor = "multi_thread")]
async fn plugins_that_may_take_more_than_there_is_are_named_with_what_helps() -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let policy = generic_policy(&[KIND]) + &entry("large", "memory: 256MiB");
    let group = MemoryGroup::new(enough_for(2))?;
    let host = Setup::new(&policy)
        .on(&recording(&[KIND]))
        .with("large.wasm", plugin(NOTHING, NOTHING, NOTHING))
        .inside(&group)
        .start()
        .await?;
    host.allocatable(GOOD, 2).await?;
    let line = host.logged(|line| line.level == "WARN" && line.message.contains("devgate may take")).await?;
    assert!(line.message.contains("limits.memory of plugins"), "{}", line.message);
    host.logged(|line| line.plugin == "large" && line.message.contains("loaded")).await?;

    let check = |group: &MemoryGroup| {
        let mut check = std::process::Command::new("sh");
        check.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.procs());
        check.arg(devgate()?).args(["check", "--output", "json", "--policy"]);
        check.arg(host.dir().join("policy.yaml"));
        let said = check.output()?;
        anyhow::Ok(String::from_utf8(said.stdout)?)
    };
    let said = check(&group)?;
    assert!(said.contains("\"memory-short\""), "{said}");
    let said = check(&MemoryGroup::new(4 << 30)?)?;
    assert!(said.contains("\"plugins\"") && !said.contains("\"memory-short\""), "{said}");
    Ok(())
}
