//! What a service manager hears of the host (`sd_notify(3)`).

use anyhow::Context;
use devgate_tests::{Kind, Setup, generic_policy, recording};
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;
use tokio::net::UnixDatagram;

const KINDS: [Kind; 1] = [Kind { class: 0, count: 2 }];
const TIMEOUT: Duration = Duration::from_secs(60);

/// What one datagram says.
async fn heard(socket: &UnixDatagram) -> anyhow::Result<String> {
    let mut bytes = [0; 4096];
    let size = tokio::time::timeout(TIMEOUT, socket.recv(&mut bytes)).await;
    let size = size.context("the service manager hears nothing")??;
    Ok(String::from_utf8(bytes[..size].to_vec())?)
}

/// It is ready once, lives as long as it says so, says how it is when that is different, and says that it stops.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_manager_hears_that_the_host_is_ready_and_lives() -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path)?;
    let mut host = Setup::new(&generic_policy(&KINDS))
        .on(&recording(&KINDS))
        .env("NOTIFY_SOCKET", path.to_str().context("a path in UTF-8")?)
        .env("WATCHDOG_USEC", "400000")
        .start()
        .await?;
    let first = heard(&socket).await?;
    assert!(first.starts_with("READY=1\nWATCHDOG=1\nSTATUS="), "{first}");
    let mut status = String::new();
    let mut alive = 0;
    while alive < 3 || !status.contains("all is well: 1 plugin, 2 devices, 1 resource") {
        let next = heard(&socket).await?;
        assert!(!next.contains("READY=1"), "{next}");
        alive += usize::from(next.contains("WATCHDOG=1"));
        if let Some((_, text)) = next.split_once("STATUS=") {
            status = text.to_owned();
        }
    }
    let ended = host.end(Signal::TERM).await?;
    assert_eq!((ended.code(), ended.signal()), (Some(0), None));
    while !heard(&socket).await?.contains("STOPPING=1") {}
    Ok(())
}

/// A manager ends a start that takes too long, unless it hears that it goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_manager_hears_that_a_host_waits_for_another_one() -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path)?;
    let mut host = Setup::new(&generic_policy(&KINDS))
        .on(&recording(&KINDS))
        .env("NOTIFY_SOCKET", path.to_str().context("a path in UTF-8")?)
        .start()
        .await?;
    let _first = host.spawn_beside(&[])?.context("the first one")?;
    let said = loop {
        let next = heard(&socket).await?;
        if next.contains("EXTEND_TIMEOUT_USEC=") {
            break next;
        }
    };
    assert!(said.contains("EXTEND_TIMEOUT_USEC=30000000"), "{said}");
    assert!(said.contains("STATUS=state directory ") && said.contains("another devgate"), "{said}");
    assert_eq!(host.end(Signal::TERM).await?.code(), Some(0));
    Ok(())
}

/// `systemctl start` waits for it, and fails.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_cannot_start_is_never_ready() -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path)?;
    let wrong = generic_policy(&KINDS).replacen("hardware:", "hardwear:", 1);
    let mut host = Setup::new(&wrong)
        .on(&recording(&KINDS))
        .env("NOTIFY_SOCKET", path.to_str().context("a path in UTF-8")?)
        .start()
        .await?;
    assert_eq!(host.ended().await?.code(), Some(3));
    assert_eq!(socket.try_recv(&mut [0; 16]).map_err(|e| e.kind()), Err(std::io::ErrorKind::WouldBlock));
    Ok(())
}
