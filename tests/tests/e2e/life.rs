//! Start, stop and what is left behind.

use devgate_kubelet::standin::Pod;
use devgate_tests::{Host, Kind, Setup, generic_policy, recording};
use rustix::process::Signal;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

async fn started() -> anyhow::Result<Host> {
    let kind = Kind { class: 0, count: 2 };
    let host = Setup::new(&generic_policy(&[kind]))
        .on(&recording(&[kind]))
        .start()
        .await?;
    host.allocatable("devgate.dev/bench0", 2).await?;
    Ok(host)
}

fn sockets(host: &Host) -> anyhow::Result<Vec<String>> {
    let names =
        std::fs::read_dir(host.dir().join("plugins"))?.map(|entry| Ok(entry?.file_name().into_string().unwrap()));
    let mut names: Vec<_> = names.collect::<anyhow::Result<_>>()?;
    names.retain(|name| name != "kubelet.sock" && name != "kubelet_internal_checkpoint");
    Ok(names)
}

/// Conformance 56, with both signals.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_it_cleanly() -> anyhow::Result<()> {
    for signal in [Signal::TERM, Signal::INT] {
        let mut host = started().await?;
        assert_eq!(sockets(&host)?.len(), 1);
        assert_eq!(host.end(signal).await?.code(), Some(0), "{signal:?}");
        assert_eq!(sockets(&host)?, [""; 0], "{signal:?}");
        host.allocatable("devgate.dev/bench0", 0).await?;
    }
    Ok(())
}

/// Conformance 57: killed, it leaves its socket; started again, it serves, and takes the leftover away.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_host_comes_back() -> anyhow::Result<()> {
    let mut host = started().await?;
    host.end(Signal::KILL).await?;
    host.allocatable("devgate.dev/bench0", 0).await?;
    assert_eq!(sockets(&host)?.len(), 1);
    host.spawn()?;
    host.allocatable("devgate.dev/bench0", 2).await?;
    assert_eq!(sockets(&host)?.len(), 1, "{:?}", sockets(&host)?);
    host.kubelet.admit(&Pod::new("a", &[("devgate.dev/bench0", 1)])).await?;
    Ok(())
}

/// Whoever else can write to the state directory could say there what pods have, or lead a write elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_state_directory_that_others_can_write_in_is_refused() -> anyhow::Result<()> {
    let mut host = started().await?;
    host.end(Signal::TERM).await?;
    std::fs::set_permissions(host.dir().join("state"), Permissions::from_mode(0o777))?;
    host.spawn()?;
    let line = host.logged(|line| line.message.contains("chmod go-w")).await?;
    assert!(line.message.contains("--state-dir"), "{line:?}");
    assert_eq!(host.ended().await?.code(), Some(4));
    Ok(())
}

/// The log is one JSON object for each event where nobody watches, and says what was granted to whom.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_readable_by_machines() -> anyhow::Result<()> {
    let host = started().await?;
    assert!(
        host.lines().iter().all(|line| !line.level.is_empty()),
        "{:?}",
        host.lines()
    );
    assert!(
        host.lines().iter().all(|line| line.level == "INFO"),
        "{:?}",
        host.lines()
    );
    Ok(())
}

/// A log that nobody reads any more ends nothing, and keeps nothing from ending.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_log_changes_nothing() -> anyhow::Result<()> {
    let kind = Kind { class: 0, count: 2 };
    let setup = Setup::new(&generic_policy(&[kind])).on(&recording(&[kind])).unheard();
    let mut host = setup.start().await?;
    host.allocatable("devgate.dev/bench0", 2).await?;
    host.kubelet.restart().await?;
    host.allocatable("devgate.dev/bench0", 2).await?;
    assert_eq!(host.end(Signal::TERM).await?.code(), Some(0));
    assert_eq!(sockets(&host)?, [""; 0]);
    Ok(())
}
