//! Start, stop and what is left behind.

use anyhow::Context;
use devgate_fake_kubelet::Pod;
use devgate_tests::{Host, Kind, Line, Setup, generic_policy, recording};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn started() -> anyhow::Result<Host> {
    let kind = Kind { class: 0, count: 2 };
    let host = Setup::new(&generic_policy(&[kind])).on(&recording(&[kind])).start().await?;
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

/// A package and a `DaemonSet` on one node, or a rollout that goes too fast: of two hosts on one state directory, the second one waits,
/// says so to the log and to probes, serves and writes nothing, and takes over when the first has ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_host_waits_for_the_state_directory() -> anyhow::Result<()> {
    const LISTEN: &str = "127.0.58.1:9464";
    let waits = |line: &&Line| line.message.contains("this one waits until that has ended");
    let mut host = started().await?;
    let (before, files) = (sockets(&host)?, kept(&host)?);
    let mut first = host.spawn_beside(&["--listen", LISTEN])?.context("the first one")?;
    host.logged(|line| waits(&line)).await?;
    // One that comes before there is anything to read again ends nothing.
    kill_process(Pid::from_raw(host.pid()?.cast_signed()).context("a process")?, Signal::HUP)?;
    let lives = probed(LISTEN, "/healthz").await?;
    assert!(lives.starts_with("HTTP/1.1 200"), "{lives}");
    let ready = probed(LISTEN, "/readyz").await?;
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("/state: another devgate"), "{ready}");
    host.kubelet.admit(&Pod::new("a", &[("devgate.dev/bench0", 1)])).await?;
    assert_eq!(sockets(&host)?, before, "the first one goes on, alone");
    assert_eq!(host.end(Signal::TERM).await?.code(), Some(0), "one that waits ends when it is told to");
    assert_eq!(host.lines().iter().filter(waits).count(), 1, "said once");
    assert_eq!(
        kept(&host)?,
        [files.as_slice(), &["standby.lock".into()]].concat(),
        "by which it is seen that it waits"
    );

    let none = host.spawn_beside(&[])?;
    assert!(none.is_none());
    while host.lines().iter().filter(waits).count() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    kill_process(Pid::from_raw(first.id().context("it runs")?.cast_signed()).context("a process")?, Signal::TERM)?;
    first.wait().await?;
    host.logged(|line| line.message.contains("taking over")).await?;
    host.logged(|line| line.message.contains("registered")).await?;
    host.allocatable("devgate.dev/bench0", 2).await?;
    Ok(())
}

/// The names of what is kept, but for what was handed out meanwhile.
fn kept(host: &Host) -> anyhow::Result<Vec<String>> {
    let names = std::fs::read_dir(host.dir().join("state"))?.map(|entry| Ok(entry?.file_name().into_string().unwrap()));
    let mut names: Vec<_> = names.collect::<anyhow::Result<_>>()?;
    names.retain(|name| !name.starts_with("handed-out") && name != "allocations");
    names.sort();
    Ok(names)
}

async fn probed(address: &str, path: &str) -> anyhow::Result<String> {
    // It listens some time after it has said that it waits.
    let mut connection = loop {
        match TcpStream::connect(address).await {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            connected => break connected?,
        }
    };
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// Nothing else would keep a second host from giving the same devices.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_lock_that_can_be_had_nothing_is_served() -> anyhow::Result<()> {
    let mut host = started().await?;
    host.end(Signal::TERM).await?;
    let lock = host.dir().join("state/host.lock");
    std::fs::remove_file(&lock)?;
    std::fs::create_dir(&lock)?;
    host.spawn()?;
    host.logged(|line| line.message.contains("host.lock is no regular file")).await?;
    assert_eq!(host.ended().await?.code(), Some(4));
    Ok(())
}

/// What a newer version wrote is not put aside by an older one, which would give away what pods have.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_newer_version_remembers_is_left_alone() -> anyhow::Result<()> {
    let mut host = started().await?;
    host.end(Signal::TERM).await?;
    let (file, text) = (host.dir().join("state/handed-out.json"), r#"{"version": 3, "units": []}"#);
    std::fs::write(&file, text)?;
    host.spawn()?;
    // Its list is there, and nothing of it is given.
    host.logged(|line| line.message.contains("is unhealthy") && line.message.contains("a newer one wrote it")).await?;
    host.end(Signal::TERM).await?;
    assert_eq!(std::fs::read_to_string(file)?, text);
    Ok(())
}

/// A disk that is full, or broken: what could not be recorded would be given twice after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn while_nothing_can_be_recorded_nothing_new_is_given_and_all_say_so() -> anyhow::Result<()> {
    let host = started().await?;
    let pod = |name: &str| Pod::new(name, &[("devgate.dev/bench0", 1)]);
    host.kubelet.admit(&pod("first")).await?;
    // A directory in the place of the file that the host goes on in when the one that it has is gone.
    let newest = newest_journal(&host)?;
    let journal = |number: u64| host.dir().join(format!("state/allocations/journal.{number}"));
    std::fs::remove_file(journal(newest))?;
    std::fs::create_dir_all(journal(newest + 1).join("in the way"))?;
    assert!(host.kubelet.admit(&pod("second")).await.is_err());
    host.allocatable("devgate.dev/bench0", 1).await?;
    std::fs::remove_dir_all(journal(newest + 1))?;
    host.allocatable("devgate.dev/bench0", 2).await?;
    host.kubelet.admit(&pod("third")).await?;
    Ok(())
}

/// The number of the file that the host writes to.
fn newest_journal(host: &Host) -> anyhow::Result<u64> {
    let names = std::fs::read_dir(host.dir().join("state/allocations"))?;
    let names: Vec<_> = names.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_, _>>()?;
    let numbers = names.iter().filter_map(|name| name.to_str()?.strip_prefix("journal.")?.parse().ok());
    numbers.max().context("there is a journal")
}

/// The log is one JSON object for each event where nobody watches, and says what was granted to whom.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_readable_by_machines() -> anyhow::Result<()> {
    let host = started().await?;
    assert!(host.lines().iter().all(|line| !line.level.is_empty()), "{:?}", host.lines());
    assert!(host.lines().iter().all(|line| line.level == "INFO"), "{:?}", host.lines());
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
