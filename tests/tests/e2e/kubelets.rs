//! A kubelet that is absent, restarts, refuses, hangs or dies.

use devgate_fake_kubelet::{Answer, StandIn, StandInConfig};
use devgate_tests::{Host, Kind, Setup, generic_policy, recording};

const KINDS: [Kind; 2] = [Kind { class: 0, count: 2 }, Kind { class: 1, count: 2 }];

fn setup() -> Setup {
    Setup::new(&generic_policy(&KINDS)).on(&recording(&KINDS))
}

async fn all_there(host: &Host) -> anyhow::Result<()> {
    for kind in KINDS {
        host.allocatable(&kind.resource(), 2).await?;
    }
    Ok(())
}

/// Conformance 10 and 49.
#[tokio::test(flavor = "multi_thread")]
async fn it_waits_for_a_kubelet_and_follows_its_restarts() -> anyhow::Result<()> {
    let dir = tempfile::Builder::new().prefix("dg-").tempdir()?;
    let kubelet = StandIn::new(StandInConfig::new(dir.path().join("plugins"))).await?;
    kubelet.stop().await;
    let host = setup().start_in(dir, kubelet)?;
    host.logged(|line| line.message.contains("2 devices")).await?;
    host.kubelet.start().await?;
    all_there(&host).await?;
    for _ in 0..3 {
        host.kubelet.restart().await?;
        all_there(&host).await?;
    }
    host.kubelet.crash().await;
    host.kubelet.start().await?;
    all_there(&host).await
}

/// However many resources notice it: that it went, and that it is back.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_is_two_lines() -> anyhow::Result<()> {
    let host = setup().start().await?;
    all_there(&host).await?;
    for kind in KINDS {
        let said = format!("resource {}: registered with the kubelet", kind.resource());
        host.logged(|line| line.message == said).await?;
    }
    let before = host.lines().len();
    host.kubelet.stop().await;
    host.logged(|line| line.message.starts_with("kubelet: ") && line.message.contains("what is offered is registered"))
        .await?;
    host.kubelet.start().await?;
    all_there(&host).await?;
    host.logged(|line| line.message.starts_with("kubelet: answers; ")).await?;
    // A poll later, and longer than what follows takes.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let lines = host.lines().split_off(before);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    Ok(())
}

/// As `kubeadm reset` and `kubeadm join` do it beside a host that goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_whose_directory_is_made_anew_is_served() -> anyhow::Result<()> {
    let dir = tempfile::Builder::new().prefix("dg-").tempdir()?;
    let plugins = dir.path().join("plugins");
    let kubelet = StandIn::new(StandInConfig::new(plugins.clone())).await?;
    let host = setup().start_in(dir, kubelet)?;
    all_there(&host).await?;
    let first = host.pid()?;
    host.kubelet.stop().await;
    devgate_tests::remove_busy(&plugins)?;
    host.kubelet.start().await?;
    all_there(&host).await?;
    assert_eq!(host.pid()?, first);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_that_refuses_is_asked_again() -> anyhow::Result<()> {
    let dir = tempfile::Builder::new().prefix("dg-").tempdir()?;
    let kubelet = StandIn::new(StandInConfig::new(dir.path().join("plugins"))).await?;
    kubelet.answer(Answer::Refuse("not today".into()));
    let host = setup().start_in(dir, kubelet)?;
    let line = host.logged(|line| line.message.contains("not today")).await?;
    insta::with_settings!({filters => vec![(r"bench\d", "benchN")]}, {
        insta::assert_snapshot!(
            line.message,
            @"resource devgate.dev/benchN: not registered, will try again: kubelet refused: not today"
        );
    });
    host.kubelet.answer(Answer::Real);
    all_there(&host).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_that_hangs_and_then_restarts_is_served() -> anyhow::Result<()> {
    let dir = tempfile::Builder::new().prefix("dg-").tempdir()?;
    let kubelet = StandIn::new(StandInConfig::new(dir.path().join("plugins"))).await?;
    kubelet.answer(Answer::Hang);
    let host = setup().start_in(dir, kubelet)?;
    host.wait(|kubelet| kubelet.events().len() > 2).await?;
    host.kubelet.answer(Answer::Real);
    host.kubelet.restart().await?;
    all_there(&host).await
}
