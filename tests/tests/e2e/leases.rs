//! Leases: devices for containers that no kubelet starts, over restarts, reboots and beside pods.

mod failures;
mod files;

use crate::look::{Said, look};
use crate::podman::POLICY;
use devgate_fake_kubelet::Pod;
use devgate_tests::{Devices, Host, Kind, Setup, generic_policy, recording};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BENCH: &str = "devgate.dev/bench0";
const KIND: Kind = Kind { class: 0, count: 3 };
const TIMEOUT: Duration = Duration::from_secs(60);

/// A machine without a kubelet, whose containers nobody starts.
struct Machine {
    host: Host,
    cdi: PathBuf,
    _devices: Option<Devices>,
    _cdi: tempfile::TempDir,
}

impl Machine {
    async fn start(more: &[&str]) -> anyhow::Result<Self> {
        let devices = Devices::new(&[KIND])?;
        Self::of(devices.setup(), Some(devices), more).await
    }

    /// One that is recorded, which keeps no other test from this one's devices.
    async fn recorded(more: &[&str]) -> anyhow::Result<Self> {
        let setup = Setup::new(&generic_policy(&[KIND])).on(&recording(&[KIND]));
        Self::of(setup, None, more).await
    }

    async fn of(setup: Setup, devices: Option<Devices>, more: &[&str]) -> anyhow::Result<Self> {
        let root = tempfile::tempdir()?;
        let cdi = root.path().join("cdi");
        let setup = setup.args(&["--cdi-dir", cdi.to_str().unwrap()]).args(more);
        Ok(Self { host: setup.start().await?, cdi, _devices: devices, _cdi: root })
    }

    fn cdi(&self, args: &[&str]) -> anyhow::Result<Said> {
        cdi(&self.host, args)
    }

    /// Leases, as soon as there are devices.
    async fn lease(&self, args: &[&str]) -> anyhow::Result<String> {
        let args = [&["lease", BENCH][..], args].concat();
        let said = until(|| self.cdi(&args), |said| said.code == Some(0)).await?;
        Ok(said.out.trim().to_owned())
    }

    fn file(&self, name: &str) -> String {
        let file = self.cdi.join(format!("devgate-devgate.dev_bench0={name}.json"));
        fs::read_to_string(file).unwrap_or_default()
    }

    fn leases(&self) -> anyhow::Result<serde_json::Value> {
        let said = self.cdi(&["leases", "--output", "json"])?;
        anyhow::ensure!(said.code == Some(0), "{said:?}");
        Ok(serde_json::from_str(&said.out)?)
    }
}

pub(crate) fn cdi(host: &Host, args: &[&str]) -> anyhow::Result<Said> {
    let socket = host.dir().join("status.sock");
    look(["cdi"].iter().chain(args).chain(&["--status-socket", socket.to_str().unwrap()]))
}

pub(crate) async fn until<T: std::fmt::Debug>(
    ask: impl Fn() -> anyhow::Result<T>,
    is_so: impl Fn(&T) -> bool,
) -> anyhow::Result<T> {
    let begun = Instant::now();
    loop {
        let now = ask()?;
        if is_so(&now) {
            return Ok(now);
        }
        anyhow::ensure!(begun.elapsed() < TIMEOUT, "{now:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi20_a_lease_survives_a_kill_and_a_reboot_and_nothing_else_gets_its_devices() -> anyhow::Result<()> {
    let mut machine = Machine::start(&["--no-kubelet"]).await?;
    let name = machine.lease(&["--for", "job1", "--count", "2"]).await?;
    assert_eq!(name, "devgate.devgate.dev/bench0=job1");
    assert_eq!(machine.lease(&["--for", "job1", "--count", "2"]).await?, name);
    let socket = machine.host.dir().join("status.sock");
    let status = look(["status", "--status-socket", socket.to_str().unwrap()])?;
    assert_eq!(status.out.matches("healthy; held by lease job1\n").count(), 2, "{status:?}");
    assert!(status.code == Some(0) && status.out.contains("; for leases\n"), "{status:?}");
    let (before, leases) = (machine.file("job1"), machine.leases()?);
    assert_eq!(before.matches("\"major\"").count(), 2, "{before}");
    let short = machine.cdi(&["lease", BENCH, "--for", "job2", "--count", "2"])?;
    assert_eq!(short.code, Some(5), "{short:?}");
    assert!(short.err.contains("2 asked for, 1 of 3 can be had"), "{short:?}");
    assert!(short.err.contains("lease job1"), "{short:?}");
    machine.host.end(Signal::KILL).await?;
    fs::remove_dir_all(&machine.cdi)?;
    machine.host.spawn()?;
    until(|| Ok(machine.file("job1")), |now| *now == before).await?;
    let again = until(|| machine.leases(), |_| true).await?;
    assert_eq!(again, leases);
    let taken = machine.cdi(&["lease", BENCH, "--for", "job2", "--count", "2"])?;
    assert_eq!(taken.code, Some(5), "{taken:?}");
    assert_eq!(machine.cdi(&["release", "job1"])?.out, "lease job1: released\n");
    assert_eq!(machine.file("job1"), "");
    machine.lease(&["--for", "job2", "--count", "3"]).await?;
    let again = machine.cdi(&["release", "job1"])?;
    assert_eq!((again.code, &*again.out), (Some(0), "lease job1: there is none; nothing to do\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_and_pods_have_no_device_together() -> anyhow::Result<()> {
    let machine = Machine::start(&[]).await?;
    machine.host.allocatable(BENCH, 3).await?;
    machine.host.kubelet.admit(&Pod::new("a", &[(BENCH, 1)])).await?;
    machine.lease(&["--for", "job1"]).await?;
    machine.host.allocatable(BENCH, 2).await?;
    machine.host.kubelet.admit(&Pod::new("b", &[(BENCH, 1)])).await?;
    let none = machine.cdi(&["lease", BENCH, "--for", "job2"])?;
    assert!(none.code == Some(5) && none.err.contains("0 of 3 can be had"), "{none:?}");
    assert!(none.err.contains("pods") && none.err.contains("lease job1"), "{none:?}");
    machine.cdi(&["release", "job1"])?;
    machine.host.allocatable(BENCH, 3).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_ends_when_its_time_is_over() -> anyhow::Result<()> {
    let machine = Machine::start(&["--no-kubelet"]).await?;
    machine.lease(&["--for", "job1", "--count", "3", "--ttl", "1h"]).await?;
    let renewed = machine.cdi(&["renew", "job1", "--ttl", "2s"])?;
    assert!(renewed.out.starts_with("lease job1: lasts "), "{renewed:?}");
    until(|| machine.leases(), |leases| leases.as_array().is_some_and(Vec::is_empty)).await?;
    until(|| Ok(machine.file("job1")), String::is_empty).await?;
    let over = machine.cdi(&["renew", "job1"])?;
    assert!(over.code == Some(5) && over.err.contains("there is none of this name"), "{over:?}");
    machine.lease(&["--for", "job2", "--count", "3"]).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_wrongly_or_of_no_host_is_said() -> anyhow::Result<()> {
    let mut machine = Machine::start(&["--no-kubelet"]).await?;
    machine.lease(&["--for", "job1"]).await?;
    for (args, code, why) in [
        (&["lease", BENCH, "--for", "x-"][..], 2, "lease \"x-\": must have"),
        (&["lease", "nothing", "--for", "a"], 2, "vendor's domain"),
        (&["lease", "devgate.dev/none", "--for", "a"], 5, "no plugin offers it; there are devgate.dev/bench0"),
        (&["lease", BENCH, "--for", "a", "--id", "nope"], 5, "there is no device nope"),
        (&["lease", BENCH, "--for", "a", "--ttl", "0s"], 2, "--ttl"),
        (&["lease", BENCH, "--for", "job1", "--count", "2"], 5, "release it first"),
        (&["renew", "nope"], 5, "there is none of this name"),
    ] {
        let said = machine.cdi(args)?;
        assert!(said.code == Some(code) && said.err.contains(why) && said.out.is_empty(), "{said:?}");
    }
    machine.host.end(Signal::TERM).await?;
    let said = machine.cdi(&["leases"])?;
    assert!(said.code == Some(4) && said.err.contains("no devgate runs here"), "{said:?}");
    Ok(())
}

/// Where no host runs, what nobody has any more is taken away, and what somebody has stays.
#[tokio::test(flavor = "multi_thread")]
async fn clean_takes_away_what_is_nobodys_where_no_host_does() -> anyhow::Result<()> {
    let mut machine = Machine::start(&["--no-kubelet"]).await?;
    machine.lease(&["--for", "job1"]).await?;
    machine.lease(&["--for", "job2"]).await?;
    fs::write(machine.cdi.join("devgate-vendor.com_gpu=other.json"), "{}")?;
    let state = machine.host.dir().join("state").display().to_string();
    let cdi = machine.cdi.display().to_string();
    let clean = |more: &[&str]| {
        let options = ["cdi", "clean", "--state-dir", &state, "--cdi-dir", &cdi];
        look(options.into_iter().chain(more.iter().copied()))
    };
    let said = clean(&[])?;
    assert!(said.code == Some(5) && said.err.contains("a devgate runs with it"), "{said:?}");
    machine.host.end(Signal::TERM).await?;
    let said = clean(&[])?;
    assert!(said.code == Some(0) && said.out == "2 files of what leases and pods have: left\n", "{said:?}");
    let listed = look(["state", "list", "--state-dir", &state, "--output", "json"])?.out;
    let listed: serde_json::Value = serde_json::from_str(&listed)?;
    let mut all = listed["allocations"].as_array().into_iter().flatten();
    let job1 = all.find(|given| given["consumer"] == "lease job1").unwrap()["id"].to_string();
    let said = look(["state", "forget", &job1, "--even-if-in-use", "--state-dir", &state])?;
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = clean(&["--dry-run"])?;
    assert!(said.out.contains("would remove  cdi") && !machine.file("job1").is_empty(), "{said:?}");
    let said = clean(&[])?;
    assert!(said.code == Some(0) && said.out.contains("removed  cdi"), "{said:?}");
    assert!(machine.file("job1").is_empty() && !machine.file("job2").is_empty());
    assert!(machine.cdi.join("devgate-vendor.com_gpu=other.json").exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cleanup_takes_files_of_leases_away_and_a_host_that_comes_back_writes_them() -> anyhow::Result<()> {
    let mut machine = Machine::start(&["--no-kubelet"]).await?;
    machine.lease(&["--for", "job1"]).await?;
    let before = machine.file("job1");
    fs::write(machine.cdi.join("devgate-vendor.com_gpu=other.json"), "{}")?;
    machine.host.end(Signal::TERM).await?;
    let (dir, cdi) = (machine.host.dir().to_owned(), machine.cdi.display().to_string());
    let at = |name: &str| dir.join(name).display().to_string();
    let cleanup = |more: &[&str]| {
        let options = [
            ("--state-dir", at("state")),
            ("--cdi-dir", cdi.clone()),
            ("--kubelet-dir", at("plugins")),
            ("--pod-resources-dir", at("pods")),
            ("--nfd-dir", at("nfd")),
            ("--plugins-registry-dir", at("registry")),
            ("--device-info-dir", at("devinfo")),
            ("--status-socket", at("status.sock")),
        ];
        let options = options.iter().flat_map(|(name, value)| [*name, value.as_str()]);
        look(["cleanup"].into_iter().chain(more.iter().copied()).chain(options))
    };
    let said = cleanup(&[])?;
    assert!(said.code == Some(0) && said.out.contains("removed  cdi"), "{said:?}");
    assert_eq!(machine.file("job1"), "");
    assert_eq!(fs::read_dir(&machine.cdi)?.count(), 1, "what another has put there stays");
    machine.host.spawn()?;
    until(|| Ok(machine.file("job1")), |now| *now == before).await?;
    machine.host.end(Signal::TERM).await?;
    fs::create_dir(at("state/ended-requests"))?;
    fs::write(at("state/ended-requests/gpu=1234"), "{}")?;
    let said = cleanup(&["--state", "--even-if-in-use"])?;
    assert!(said.code == Some(0) && !Path::new(&at("state")).exists(), "{said:?}");
    Ok(())
}

/// Nothing is added to what was given, and what the policy grants no more is no container's from then on.
#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_is_tightened_over_a_reboot_takes_the_file_and_one_that_is_widened_adds_nothing()
-> anyhow::Result<()> {
    let mut machine = Machine::start(&["--no-kubelet"]).await?;
    machine.lease(&["--for", "job1"]).await?;
    let before = machine.file("job1");
    assert!(before.contains("\"rw\""), "{before}");
    let file = machine.host.dir().join("policy.yaml");
    let policy = fs::read_to_string(&file)?;
    machine.host.end(Signal::TERM).await?;
    fs::remove_dir_all(&machine.cdi)?;
    fs::write(&file, policy.replace("access: rw", "access: r"))?;
    machine.host.spawn()?;
    let said = until(|| machine.cdi(&["leases"]), |said| said.out.contains("no container gets it")).await?;
    assert_eq!(machine.file("job1"), "");
    assert!(said.out.contains("was given with access rw, and the policy grants r now"), "{said:?}");
    machine.host.end(Signal::TERM).await?;
    fs::write(&file, policy.replace("access: rw", "access: rwm"))?;
    machine.host.spawn()?;
    until(|| Ok(machine.file("job1")), |now| *now == before).await?;
    Ok(())
}

/// Its file goes after a minute, and the devices stay its own until it is released, by a host that does not know them any more too.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_whose_plugin_leaves_the_policy_is_said_and_can_be_released() -> anyhow::Result<()> {
    let mut machine = Machine::recorded(&["--no-kubelet"]).await?;
    for name in ["job1", "job2"] {
        machine.lease(&["--for", name]).await?;
    }
    let file = machine.host.dir().join("policy.yaml");
    let policy = fs::read_to_string(&file)?;
    machine.host.end(Signal::TERM).await?;
    fs::write(&file, policy.replace(BENCH, "devgate.dev/other"))?;
    machine.host.spawn()?;
    let said = || machine.cdi(&["leases"]);
    let is_said = |said: &Said| said.out.matches("no container gets it").count() == 2;
    if until(said, is_said).await.is_err() {
        until(said, is_said).await?;
    }
    assert_eq!(machine.file("job1") + &machine.file("job2"), "");
    let again = machine.cdi(&["lease", BENCH, "--for", "job3"])?;
    assert!(again.err.contains("no plugin offers it"), "{again:?}");
    let released = machine.cdi(&["release", "job1"])?;
    assert!(released.code == Some(0) && released.out.contains("job1: released"), "{released:?}");

    machine.host.end(Signal::TERM).await?;
    fs::write(&file, policy)?;
    machine.host.spawn()?;
    until(|| Ok(machine.file("job2")), |now| !now.is_empty()).await?;
    assert_eq!((machine.file("job1"), machine.leases()?.as_array().map_or(0, Vec::len)), (String::new(), 1));
    machine.lease(&["--for", "job3", "--count", "2"]).await?;
    Ok(())
}

/// One of several ids that stand for one device is a lease's, and the others are pods'.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_leased_beside_pods() -> anyhow::Result<()> {
    let kinds = [Kind { class: 0, count: 1 }];
    let policy = generic_policy(&kinds);
    let policy = policy.replace("    config:", "    replicas: 3\n    config:");
    let root = tempfile::tempdir()?;
    let dir = root.path().join("cdi");
    let setup = Setup::new(&policy).on(&recording(&kinds));
    let host = setup.args(&["--cdi-dir", dir.to_str().unwrap()]).start().await?;
    host.allocatable(BENCH, 3).await?;
    host.kubelet.admit(&Pod::new("a", &[(BENCH, 1)])).await?;
    let said = until(|| cdi(&host, &["lease", BENCH, "--for", "job1"]), |said| said.code == Some(0)).await?;
    assert_eq!(said.out, "devgate.devgate.dev/bench0=job1\n");
    host.allocatable(BENCH, 2).await?;
    host.kubelet.admit(&Pod::new("b", &[(BENCH, 1)])).await?;
    let none = cdi(&host, &["lease", BENCH, "--for", "job2"])?;
    assert!(none.code == Some(5) && none.err.contains("0 of 3 can be had"), "{none:?}");
    Ok(())
}

/// Files of before, and no state: something may have devices, and no kubelet will say.
#[tokio::test(flavor = "multi_thread")]
async fn state_that_was_lost_is_an_admins_to_decide_about() -> anyhow::Result<()> {
    let mut machine = Machine::start(&["--no-kubelet"]).await?;
    machine.lease(&["--for", "job1"]).await?;
    machine.host.end(Signal::TERM).await?;
    let state = machine.host.dir().join("state");
    fs::remove_dir_all(&state)?;
    machine.host.spawn()?;
    let wanted = "`devgate state accept`";
    machine.host.logged(|line| line.message.contains(wanted)).await?;
    let ask = || machine.cdi(&["lease", BENCH, "--for", "job2"]);
    let said = until(ask, |said| said.err.contains("it is not known")).await?;
    assert_eq!(said.code, Some(5), "{said:?}");
    machine.host.end(Signal::TERM).await?;
    assert_eq!(look(["state", "accept", "--state-dir", state.to_str().unwrap()])?.code, Some(0));
    machine.host.spawn()?;
    machine.lease(&["--for", "job2", "--count", "3"]).await?;
    Ok(())
}
