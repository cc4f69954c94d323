//! A rollout that starts the next host before it ends the last one.

use anyhow::{Context, ensure};
use devgate_fake_kubelet::{Answer, Pod};
use devgate_tests::{Host, Kind, Setup, generic_policy};
use rustix::process::{Pid, Signal};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Child;

const KIND: Kind = Kind { class: 0, count: 3 };
const TOOK_OVER: &str = "is free; taking over";
const STANDS_BY: &str = "this one handed over to another devgate";

async fn started() -> anyhow::Result<Host> {
    let host = Setup::new(&generic_policy(&[KIND])).of(&[KIND]).start().await?;
    host.allocatable(&KIND.resource(), 3).await?;
    host.kubelet.admit(&Pod::new("a", &[(&KIND.resource(), 1)])).await?;
    Ok(host)
}

/// Starts the next host, with a status socket of its own, as another pod has one. The one before is returned.
fn next(host: &mut Host, name: &str) -> anyhow::Result<Child> {
    host.status_at(&format!("{name}/status.sock"))?;
    host.options(&["--take-over"]);
    host.spawn_beside(&[])?.context("the one before")
}

/// What probes are told by the host whose status socket this is.
async fn readyz(host: &Host, socket: &str) -> anyhow::Result<String> {
    let mut socket = UnixStream::connect(host.dir().join(socket)).await?;
    socket.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
    let mut said = String::new();
    socket.read_to_string(&mut said).await?;
    Ok(said.lines().next().unwrap_or_default().to_owned())
}

fn said(host: &Host, what: &str) -> usize {
    host.lines().iter().filter(|line| line.message.contains(what)).count()
}

async fn is_said(host: &Host, what: &str, times: usize) -> anyhow::Result<()> {
    host.logged(|_| said(host, what) >= times).await.map(drop)
}

/// The one that serves makes way only when the next one is about to have its turn, and what a pod has stays the pod's.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_host_takes_over_and_the_kubelet_misses_the_devices_for_a_moment() -> anyhow::Result<()> {
    let mut host = started().await?;
    let held = host.kubelet.held("a", "main");
    let mode = std::fs::metadata(host.dir().join("state/host.sock"))?.permissions().mode();
    ensure!(mode & 0o777 == 0o600, "{mode:o}: others may ask it to hand over");
    let mut first = next(&mut host, "next")?;
    let (mut gone, mut gap) = (None, None);
    let deadline = Instant::now() + Duration::from_secs(60);
    while gap.is_none() {
        ensure!(Instant::now() < deadline, "no one took over");
        let there = host.kubelet.allocatable(&KIND.resource()) == Some(3);
        match (gone, there) {
            (None, false) => gone = Some(Instant::now()),
            (Some(since), true) => gap = Some(since.elapsed()),
            _ => {}
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    println!("the kubelet missed the devices for {gap:?}");
    host.logged(|line| line.message.contains("took over, and serves well")).await?;
    // It stands by: the same process, which waits and is not a failure to probes.
    is_said(&host, STANDS_BY, 1).await?;
    ensure!(first.try_wait()?.is_none() && said(&host, "handing over to another devgate") == 1);
    ensure!(host.kubelet.held("a", "main") == held && host.recorded()?.contains("bench0"), "{held:?}");
    // It hands over in turn; of two that handed over neither asks.
    let mut second = next(&mut host, "third")?;
    is_said(&host, TOOK_OVER, 2).await?;
    host.allocatable(&KIND.resource(), 3).await?;
    is_said(&host, STANDS_BY, 2).await?;
    ensure!(said(&host, "cannot take over") == 0 && second.try_wait()?.is_none());
    host.kubelet.admit(&Pod::new("b", &[(&KIND.resource(), 2)])).await?;
    // It ends as any host when it is told to.
    for standby in [&mut first, &mut second] {
        let pid = standby.id().and_then(|pid| Pid::from_raw(pid.cast_signed())).context("a process")?;
        rustix::process::kill_process(pid, Signal::TERM)?;
        ensure!(standby.wait().await?.success());
    }
    Ok(())
}

/// The controller of a DaemonSet ends one that is not ready, where it has missed that the next one is.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_handed_over_is_ready_until_the_next_one_has_stayed() -> anyhow::Result<()> {
    let mut host = started().await?;
    let mut first = next(&mut host, "next")?;
    is_said(&host, STANDS_BY, 1).await?;
    host.logged(|line| line.message.contains("took over, and serves well")).await?;
    ensure!(readyz(&host, "status.sock").await?.contains("200"), "not ready as soon as it handed over");
    tokio::time::timeout(Duration::from_secs(60), async {
        while !readyz(&host, "status.sock").await?.contains("503") {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok::<_, anyhow::Error>(())
    })
    .await
    .context("it stays ready")??;
    // It serves again all the same.
    ensure!(host.end(Signal::TERM).await?.success());
    is_said(&host, "this one serves again", 1).await?;
    host.allocatable(&KIND.resource(), 3).await?;
    first.kill().await?;
    Ok(())
}

/// A version or a policy with which devices would go stops at the first node, until it is corrected.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_would_offer_less_asks_for_nothing() -> anyhow::Result<()> {
    let mut host = started().await?;
    let (text, less) = (std::fs::read_to_string(host.dir().join("policy.yaml"))?, host.dir().join("less.yaml"));
    let held = host.kubelet.held("a", "main").into_values().flatten().next().context("a device")?;
    std::fs::write(&less, format!("{text}    except: [{{id: \"{held}\"}}]\n"))?;
    host.policy_at("less.yaml");
    let mut first = next(&mut host, "next")?;
    let line = host.logged(|line| line.message.contains("cannot take over")).await?;
    let why = "it would offer less than the devgate that serves: ";
    ensure!(
        line.message.contains(&format!("{why}{} {held}, which is held, is left out by ", KIND.resource())),
        "{}",
        line.message
    );
    ensure!(first.try_wait()?.is_none());
    host.kubelet.admit(&Pod::new("b", &[(&KIND.resource(), 1)])).await?;
    std::fs::write(&less, text)?;
    host.logged(|line| line.message.contains(TOOK_OVER)).await?;
    ensure!(host.end(Signal::TERM).await?.success());
    // The one that handed over has it again.
    host.logged(|line| line.message.contains("this one serves again")).await?;
    host.allocatable(&KIND.resource(), 3).await?;
    first.kill().await?;
    Ok(())
}

/// The same where the one that serves took over itself, and goes on from what its trial found.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_took_over_is_not_taken_over_from_by_one_that_offers_less() -> anyhow::Result<()> {
    let mut host = started().await?;
    let mut first = next(&mut host, "next")?;
    host.logged(|line| line.message.contains("took over, and serves well")).await?;
    let (text, less) = (std::fs::read_to_string(host.dir().join("policy.yaml"))?, host.dir().join("less.yaml"));
    let other = text.replace("subsystem: bench0}\n", "subsystem: bench0, name: none}\n");
    ensure!(other != text, "{text}");
    std::fs::write(&less, other)?;
    host.policy_at("less.yaml");
    let mut second = next(&mut host, "third")?;
    let line = host.logged(|line| line.message.contains("cannot take over")).await?;
    ensure!(line.message.contains("it would offer less than the devgate that serves: "), "{}", line.message);
    for process in [&mut first, &mut second] {
        process.kill().await?;
    }
    Ok(())
}

/// An earlier version leaves what it cannot read to the one that wrote it.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_cannot_read_what_is_kept_leaves_the_newer_one_serving() -> anyhow::Result<()> {
    let mut host = started().await?;
    let newer = host.dir().join("state/handed-out.json");
    std::fs::write(&newer, r#"{"version": 99}"#)?;
    let mut first = next(&mut host, "next")?;
    let line = host.logged(|line| line.message.contains("cannot take over")).await?;
    let why = "this version does not know what was handed out: handed-out.json has version 99, of a newer devgate";
    ensure!(line.message.contains(why), "{}", line.message);
    ensure!(first.try_wait()?.is_none());
    host.kubelet.admit(&Pod::new("b", &[(&KIND.resource(), 2)])).await?;
    first.kill().await?;
    Ok(())
}

/// Neither is one taken over from with a policy that loses what pods have, though nothing of that is free.
#[tokio::test(flavor = "multi_thread")]
async fn what_pods_have_is_not_lost_by_a_selector_or_replicas() -> anyhow::Result<()> {
    let policy = format!("{}    replicas: 2\n", generic_policy(&[KIND]));
    let mut host = Setup::new(&policy).of(&[KIND]).start().await?;
    host.allocatable(&KIND.resource(), 6).await?;
    host.kubelet.admit(&Pod::new("a", &[(&KIND.resource(), 6)])).await?;
    std::fs::write(host.dir().join("less.yaml"), policy.replace("subsystem: bench0, use", "subsystem: bench, use"))?;
    host.policy_at("less.yaml");
    let mut first = next(&mut host, "next")?;
    is_said(&host, "bench0-0, which is held: nothing matches its plugin's selectors any more; ", 1).await?;
    std::fs::write(host.dir().join("less.yaml"), policy.replace("replicas: 2", "replicas: 1"))?;
    is_said(&host, "bench0-0 has 1 replicas of 2; ", 1).await?;
    ensure!(first.try_wait()?.is_none() && said(&host, TOOK_OVER) == 0);
    first.kill().await?;
    Ok(())
}

/// One that dies after it took over gives way to the one before, which hands over to none for a while.
#[tokio::test(flavor = "multi_thread")]
async fn the_one_before_serves_again_where_the_next_one_dies() -> anyhow::Result<()> {
    let mut host = started().await?;
    let mut first = next(&mut host, "next")?;
    host.logged(|line| line.message.contains(TOOK_OVER)).await?;
    is_said(&host, STANDS_BY, 1).await?;
    host.kill()?;
    host.ended().await?;
    host.logged(|line| line.message.contains("this one serves again, and does not hand over to that one for 10 min"))
        .await?;
    host.allocatable(&KIND.resource(), 3).await?;
    // The next one again: its container is started anew.
    host.spawn()?;
    host.logged(|line| line.message.contains("this one took over before and did not stay; it may again in 10 min"))
        .await?;
    ensure!(first.try_wait()?.is_none());
    host.kubelet.admit(&Pod::new("b", &[(&KIND.resource(), 2)])).await?;
    ensure!(host.end(Signal::TERM).await?.success(), "one that waits ends when it is told to");
    // Another pod, as of a version that was mended.
    host.status_at("mended/status.sock")?;
    host.spawn()?;
    is_said(&host, TOOK_OVER, 2).await?;
    first.kill().await?;
    Ok(())
}

/// So it does where that one dies at once, and its container is started anew at once: by a free state directory it would come unjudged.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_dies_as_soon_as_it_took_over_does_not_come_back_before_the_one_before() -> anyhow::Result<()> {
    let mut host = started().await?;
    let mut first = next(&mut host, "next")?;
    host.logged(|line| line.message.contains(TOOK_OVER)).await?;
    host.kill()?;
    host.ended().await?;
    host.spawn()?;
    host.logged(|line| line.message.contains("this one serves again, and does not hand over to that one for 10 min"))
        .await?;
    host.logged(|line| line.message.contains("this one took over before and did not stay")).await?;
    host.allocatable(&KIND.resource(), 3).await?;
    ensure!(first.try_wait()?.is_none());
    first.kill().await?;
    Ok(())
}

/// One that loads well and is not registered makes way for the one before.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_took_over_and_is_not_registered_makes_way() -> anyhow::Result<()> {
    is_refused("not today").await
}

/// So does one that the kubelet will never take, although it is ready as far as probes go.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_took_over_and_is_refused_for_good_makes_way() -> anyhow::Result<()> {
    is_refused("requested API version \"v9\" is not supported by kubelet").await
}

async fn is_refused(why: &str) -> anyhow::Result<()> {
    let mut host = started().await?;
    host.kubelet.answer(Answer::Refuse(why.to_owned()));
    let mut first = next(&mut host, "next")?;
    host.logged(|line| line.message.contains("taking over")).await?;
    ensure!(host.ended().await?.code() == Some(1));
    host.logged(|line| {
        line.message.contains("does not serve well 15s after it took over, and makes way for the one before: ")
    })
    .await?;
    host.kubelet.answer(Answer::Real);
    host.logged(|line| line.message.contains("this one serves again")).await?;
    host.allocatable(&KIND.resource(), 3).await?;
    ensure!(first.try_wait()?.is_none());
    first.kill().await?;
    Ok(())
}

/// A container that is started anew is the same pod: it neither asks for what it handed over, nor needs a policy that it can read.
#[tokio::test(flavor = "multi_thread")]
async fn the_one_before_comes_back_with_the_policy_that_it_had() -> anyhow::Result<()> {
    let mut host = started().await?;
    let text = std::fs::read_to_string(host.dir().join("policy.yaml"))?;
    std::fs::write(host.dir().join("next.yaml"), &text)?;
    host.policy_at("next.yaml");
    let mut first = next(&mut host, "next")?;
    host.logged(|line| line.message.contains(TOOK_OVER)).await?;
    is_said(&host, STANDS_BY, 1).await?;
    // What only the next version understands.
    std::fs::write(host.dir().join("policy.yaml"), format!("{text}    of-the-next-version: true\n"))?;
    first.kill().await?;
    host.policy_at("policy.yaml");
    host.status_at("status.sock")?;
    let mut next = host.spawn_beside(&[])?.context("the next one")?;
    is_said(&host, STANDS_BY, 2).await?;
    ensure!(readyz(&host, "status.sock").await?.starts_with("HTTP/1.1 200 "));
    next.kill().await?;
    host.logged(|line| line.message.contains("this one serves again")).await?;
    host.allocatable(&KIND.resource(), 3).await?;
    host.logged(|line| line.message.contains("of-the-next-version")).await?;
    ensure!(said(&host, "cannot take over") == 0);
    host.kubelet.admit(&Pod::new("b", &[(&KIND.resource(), 2)])).await?;
    Ok(())
}

/// A version that cannot be asked is ended by the rollout, once the next one tells that it is ready.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_cannot_be_asked_is_found_out() -> anyhow::Result<()> {
    let mut host = started().await?;
    std::fs::remove_file(host.dir().join("state/host.sock"))?;
    let mut first = next(&mut host, "next")?;
    host.logged(|line| line.message.contains("another devgate serves; this one takes over")).await?;
    let mut unready = false;
    while said(&host, "hands over to none") == 0 {
        unready |= readyz(&host, "next/status.sock").await.is_ok_and(|said| said.starts_with("HTTP/1.1 503 "));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    ensure!(unready, "it was ready at once");
    host.logged(|line| line.message.contains("the devgate that serves hands over to none")).await?;
    ensure!(readyz(&host, "next/status.sock").await?.starts_with("HTTP/1.1 200 "));
    first.kill().await?;
    host.logged(|line| line.message.contains("is free; taking over")).await?;
    host.allocatable(&KIND.resource(), 3).await?;
    Ok(())
}

/// Where fewer devices are meant, only a plugin that fails is against it.
#[tokio::test(flavor = "multi_thread")]
async fn fewer_devices_can_be_meant() -> anyhow::Result<()> {
    let mut host = started().await?;
    let text = std::fs::read_to_string(host.dir().join("policy.yaml"))?;
    std::fs::write(host.dir().join("less.yaml"), format!("{text}    except: [{{id: \"*-2\"}}]\n"))?;
    host.policy_at("less.yaml");
    host.status_at("next/status.sock")?;
    host.options(&["--take-over=fewer"]);
    let mut first = host.spawn_beside(&[])?.context("the one before")?;
    host.logged(|line| line.message.contains(TOOK_OVER)).await?;
    host.allocatable(&KIND.resource(), 2).await?;
    first.kill().await?;
    Ok(())
}
