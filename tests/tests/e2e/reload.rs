//! A policy and components that change while pods run.

use anyhow::Context;
use devgate_fake_kubelet::{Event, Pod};
use devgate_tests::{Devices, Host, Kind};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use std::path::Path;

const KINDS: [Kind; 2] = [Kind { class: 0, count: 2 }, Kind { class: 1, count: 2 }];

/// As `kubectl edit` ends on a node: beside, then renamed.
fn replace(file: &Path, text: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(&new, file).unwrap();
}

fn policy(host: &Host) -> std::path::PathBuf {
    host.dir().join("policy.yaml")
}

fn registrations(host: &Host) -> usize {
    let events = host.kubelet.events();
    events.iter().filter(|at| matches!(at.event, Event::Registered { .. })).count()
}

async fn started() -> anyhow::Result<(Host, Devices)> {
    let devices = Devices::new(&KINDS)?;
    let host = devices.setup().start().await?;
    for kind in KINDS {
        host.allocatable(&kind.resource(), 2).await?;
    }
    Ok((host, devices))
}

/// An edit is in force for the next pod, nothing of what runs is lost, and no stream ends.
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_applied_without_a_gap_and_a_mistake_not_at_all() -> anyhow::Result<()> {
    let (host, devices) = started().await?;
    let before = registrations(&host);
    host.kubelet.admit(&Pod::new("a", &[("devgate.dev/bench0", 1)])).await?;
    let good = devices.policy();
    replace(&policy(&host), &good.replacen("hardware:", "hardwear:", 1));
    let line = host.logged(|line| line.message.starts_with("policy: not reloaded")).await?;
    assert_eq!(line.level, "ERROR");
    assert!(line.message.contains("did you mean \"hardware\""), "{}", line.message);
    // What a pod has would get another id.
    let replicas = good.replacen("    hardware:", "    replicas: 3\n    hardware:", 1);
    replace(&policy(&host), &replicas);
    host.logged(|line| line.message.contains("would have another id (replicas)")).await?;
    host.allocatable("devgate.dev/bench0", 2).await?;
    // The other plugin's may.
    let other = good.replacen("resources: [devgate.dev/bench1]", "resources: [devgate.dev/bench1]\n    replicas: 3", 1);
    replace(&policy(&host), &other);
    let line = host.logged(|line| line.message.starts_with("policy: reloaded")).await?;
    assert_eq!(line.message, "policy: reloaded: changed bench1");
    host.allocatable("devgate.dev/bench1", 6).await?;
    assert_eq!(registrations(&host), before, "no stream ended and nothing was registered again");
    host.kubelet.admit(&Pod::new("b", &[("devgate.dev/bench0", 1), ("devgate.dev/bench1", 2)])).await?;
    Ok(())
}

/// A ConfigMap's volume swaps one link; SIGHUP says that somebody does not want to wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_configmaps_swap_adds_and_removes_plugins_and_a_signal_hurries_it() -> anyhow::Result<()> {
    let (host, devices) = started().await?;
    let file = policy(&host);
    std::fs::create_dir(host.dir().join("..2"))?;
    let one = devices.policy_of(1);
    std::fs::write(host.dir().join("..2/policy.yaml"), &one)?;
    std::os::unix::fs::symlink("..2", host.dir().join("..data"))?;
    std::os::unix::fs::symlink("..data/policy.yaml", host.dir().join("linked"))?;
    std::fs::rename(host.dir().join("linked"), &file)?;
    rustix::process::kill_process(pid(&host)?, Signal::HUP)?;
    let line = host.logged(|line| line.message.starts_with("policy: reloaded")).await?;
    assert_eq!(line.message, "policy: reloaded: gone bench1");
    host.allocatable("devgate.dev/bench1", 0).await?;
    host.logged(|line| line.message == "resource devgate.dev/bench1: no longer offered").await?;
    let empty = |at: &devgate_fake_kubelet::Moment| matches!(&at.event, Event::List { resource, healthy: 0, unhealthy: 0 } if resource == "devgate.dev/bench1");
    assert!(host.kubelet.events().iter().any(empty), "empty first, then gone");
    std::fs::create_dir(host.dir().join("..3"))?;
    std::fs::write(host.dir().join("..3/policy.yaml"), devices.policy())?;
    std::os::unix::fs::symlink("..3", host.dir().join("..data_tmp"))?;
    std::fs::rename(host.dir().join("..data_tmp"), host.dir().join("..data"))?;
    host.allocatable("devgate.dev/bench1", 2).await?;
    Ok(())
}

pub(crate) fn pid(host: &Host) -> anyhow::Result<rustix::process::Pid> {
    let pid = i32::try_from(host.pid()?)?;
    rustix::process::Pid::from_raw(pid).ok_or_else(|| anyhow::anyhow!("no such process"))
}

/// What runs goes on without its file, and would not after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_whose_file_is_gone_or_is_no_file_is_told() -> anyhow::Result<()> {
    let (host, _devices) = started().await?;
    let socket = host.dir().join("status.sock");
    let socket = socket.to_str().context("a path")?;
    let reload = || crate::look::look(["reload", "--status-socket", socket]);
    let (file, kept) = (host.dir().join("generic.wasm"), host.dir().join("kept.wasm"));
    std::fs::rename(&file, &kept)?;
    let told = |why: &str| -> anyhow::Result<()> {
        let said = reload()?;
        assert_eq!(said.code, Some(5), "{why}: {}{}", said.out, said.err);
        assert!(said.out.starts_with("policy: not reloaded, what was in force goes on:\n"), "{}", said.out);
        for plugin in ["bench0", "bench1"] {
            let line = format!("plugin {plugin}: component {}: {why}", file.display());
            assert!(said.out.contains(&line), "{line}: {}", said.out);
        }
        Ok(())
    };
    told("there is no such file")?;
    mknodat(CWD, &file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    told("is not a regular file")?;
    std::fs::remove_file(&file)?;
    std::fs::create_dir(&file)?;
    told("is not a regular file")?;
    std::fs::remove_dir(&file)?;
    drop(std::os::unix::net::UnixListener::bind(&file)?);
    told("is not a regular file")?;
    std::fs::remove_file(&file)?;
    std::os::unix::fs::symlink("/dev/null", &file)?;
    told("")?;
    for kind in KINDS {
        host.allocatable(&kind.resource(), 2).await?;
    }
    std::fs::rename(&kept, &file)?;
    let said = reload()?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("no component is another"), "{}", said.out);
    Ok(())
}

/// Who does not want to wait asks, is told everything that speaks against it, and may insist.
#[tokio::test(flavor = "multi_thread")]
async fn a_reload_that_is_asked_for_is_answered_and_may_be_forced() -> anyhow::Result<()> {
    let (host, devices) = started().await?;
    let socket = host.dir().join("status.sock");
    let socket = socket.to_str().context("a path")?;
    let reload = |more: &[&str]| crate::look::look(["reload", "--status-socket", socket].iter().chain(more));
    let status = || crate::look::look(["status", "--status-socket", socket]);
    let said = reload(&[])?;
    assert_eq!(
        (said.code, said.out.as_str()),
        (Some(0), "policy: reloaded: it means the same as before, and no component is another; nothing is changed\n")
    );
    host.kubelet.admit(&Pod::new("a", &[("devgate.dev/bench1", 1)])).await?;
    replace(&policy(&host), &devices.policy_of(1));
    let said = reload(&[])?;
    assert_eq!(said.code, Some(5), "{}", said.err);
    assert!(said.out.starts_with("policy: not reloaded, what was in force goes on:\nplugin bench1: is not in the policy any more, and a pod may hold device "), "{}", said.out);
    let shown = status()?;
    assert_eq!(shown.code, Some(5));
    assert!(shown.out.contains("policy: another one is REFUSED for "), "{}", shown.out);
    let said = reload(&["--force"])?;
    assert_eq!(
        (said.code, said.out.as_str()),
        (
            Some(0),
            "policy: reloaded: gone bench1\n  resource devgate.dev/bench1: 2 devices before, none now (plugin bench1 is not in the policy any more)\n"
        )
    );
    host.allocatable("devgate.dev/bench1", 0).await?;
    let shown = status()?;
    assert!(!shown.out.contains("REFUSED"), "{}", shown.out);
    replace(&policy(&host), "plugins: [");
    assert_eq!(reload(&["--force"])?.code, Some(5), "a mistake is no policy");
    Ok(())
}

/// A mistake in a selector looks like hardware that is meant to go: it is in force, and everybody is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_reload_that_leaves_a_resource_empty_says_so_until_it_is_mended() -> anyhow::Result<()> {
    let (host, devices) = started().await?;
    let socket = host.dir().join("status.sock");
    let socket = socket.to_str().context("a path")?;
    let reload = || crate::look::look(["reload", "--status-socket", socket]);
    let status = || crate::look::look(["status", "--status-socket", socket]);
    let good = devices.policy();
    let (before, after) = good.split_once("  bench1:").context("a second plugin")?;
    // The first is the selector's.
    let wrong = format!("{before}  bench1:{}", after.replacen("subsystem: b", "subsystem: bb", 1));
    replace(&policy(&host), &wrong);
    let said = reload()?;
    let lost = "resource devgate.dev/bench1: 2 devices before, none now (check the selectors of plugin bench1: none of them matches a device of this node)";
    // The host may have seen the file before it was asked.
    assert_eq!(said.code, Some(0), "{}", said.out);
    let line = host.logged(|line| line.message.starts_with("policy: resource ")).await?;
    assert_eq!((line.level.as_str(), line.message), ("WARN", format!("policy: {lost}")));
    host.allocatable("devgate.dev/bench1", 0).await?;
    let shown = status()?;
    assert!(
        shown.out.contains("policy: there were more devices before it was put in force ") && shown.out.contains(lost),
        "{}",
        shown.out
    );
    // Nothing else is changed by asking again, and it is said still.
    assert_eq!(reload()?.code, Some(0));
    assert!(status()?.out.contains(lost));
    replace(&policy(&host), &good);
    assert_eq!(reload()?.code, Some(0));
    host.allocatable("devgate.dev/bench1", 2).await?;
    let shown = status()?;
    assert!(!shown.out.contains("there were more devices"), "{}", shown.out);
    Ok(())
}
