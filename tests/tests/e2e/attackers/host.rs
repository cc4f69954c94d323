//! A host with attackers and a good plugin before them, and what it holds of the kernel.

use crate::conformance::{allocate, client};
use crate::look::look;
use crate::runners::patch;
use anyhow::Context;
use devgate_tests::attackers::Attacker;
use devgate_tests::process::{children, descriptors, threads};
use devgate_tests::{Host, Kind, Setup, generic_policy, recording};
use rustix::process::Signal;
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) const GOOD: Kind = Kind { class: 0, count: 2 };
/// One device for each attacker of a class.
const OWN: Kind = Kind { class: 1, count: 64 };
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);
/// Descriptors that a host may have more of after an attack: those that its runtime keeps for a while.
const ALLOWANCE: usize = 6;
/// Threads that it may have more: its runtime's, which waited for the runners of all attackers of a class at once, and end only once the
/// plugins that are left wake none of them for ten seconds. That none is lost with a runner is for the tests of runners.
const THREADS: usize = 40;

/// What a host holds: threads, descriptors, processes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held([usize; 3]);

/// The policy with the good plugin and these entries.
pub(super) fn policy(entries: &str) -> String {
    generic_policy(&[GOOD]) + entries
}

/// A host with the good plugin alone, that has served.
pub(super) async fn quiet(attackers: &[Attacker]) -> anyhow::Result<Host> {
    let mut setup = Setup::new(&policy("")).on(&recording(&[GOOD, OWN]));
    for attacker in attackers {
        setup = setup.with(&format!("{}.wasm", attacker.name), attacker.component(0)?);
    }
    let host = setup.start().await?;
    host.allocatable(&GOOD.resource(), 2).await?;
    allocate(&mut client(&host, &GOOD.resource()).await?, &["bench0-0"]).await?;
    Ok(host)
}

/// Ends it, and starts it with the attackers' entries; how many lines its log had before.
pub(super) async fn attacked(host: &mut Host, entries: &str, attackers: &[Attacker]) -> anyhow::Result<usize> {
    host.end(Signal::TERM).await?;
    std::fs::write(host.dir().join("policy.yaml"), policy(entries))?;
    let mut native = Vec::new();
    for attacker in attackers {
        if let Some(code) = attacker.native()? {
            native.push((attacker, code));
        }
    }
    if !native.is_empty() {
        host.spawn()?;
        for (attacker, _) in &native {
            let own = |line: &devgate_tests::Line| line.plugin == attacker.name && line.message.contains("loaded");
            host.logged(own).await?;
        }
        host.end(Signal::TERM).await?;
        for (attacker, code) in native {
            patch(&host.dir().join("state/compiled"), &attacker.component(0)?, &code)?;
        }
    }
    let before = host.lines().len();
    host.spawn()?;
    host.allocatable(&GOOD.resource(), 2).await?;
    Ok(before)
}

pub(super) fn held(host: &Host) -> anyhow::Result<Held> {
    let pid = host.pid()?;
    Ok(Held([threads(pid)?, descriptors(pid)?.values().sum(), children(pid)?.len()]))
}

/// Asks the host a command of its status socket; what it says.
pub(super) fn ask(host: &Host, args: &[&str]) -> anyhow::Result<String> {
    let socket = host.dir().join("status.sock");
    let mut all: Vec<&Path> = args.iter().map(Path::new).collect();
    all.extend([Path::new("--status-socket"), &socket]);
    let said = look(all)?;
    Ok(said.out + &said.err)
}

/// What one plugin that pods may have something of may hold: it is there for half a minute after its policy's entry is gone.
const ONE_THAT_GAVE: [usize; 3] = [2, 6, 1];

/// Takes the attackers out of the policy, and waits until the host holds what it held before them; `gave` of them have given something to a pod.
pub(super) async fn recovered(host: &Host, before: Held, gave: usize) -> anyhow::Result<()> {
    let most = [THREADS, ALLOWANCE, 0];
    let most: Vec<_> = (before.0.iter().zip(most).zip(ONE_THAT_GAVE))
        .map(|((before, allowed), one)| before + allowed + one * gave)
        .collect();
    std::fs::write(host.dir().join("policy.yaml"), policy(""))?;
    let until = Instant::now() + TIMEOUT;
    loop {
        let said = ask(host, &["reload", "--force"])?;
        let now = held(host)?;
        if now.0.iter().zip(&most).all(|(now, most)| now <= most) {
            break;
        }
        anyhow::ensure!(
            Instant::now() < until,
            "threads, descriptors and processes were {before:?} and are {now:?}; reload said: {said}"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    allocate(&mut client(host, &GOOD.resource()).await?, &["bench0-0"])
        .await
        .context("the good plugin does not serve afterwards")?;
    Ok(())
}
