//! `devgate state`: what is recorded of what was handed out, and what an admin decides about it.

use devgate_fake_kubelet::Pod;
use devgate_tests::{Devices, Host, Kind, devgate};
use rustix::process::Signal;
use std::path::Path;
use std::process::Command;

const BENCH: &str = "devgate.dev/bench0";

async fn started() -> anyhow::Result<(Host, Devices)> {
    let devices = Devices::new(&[Kind { class: 0, count: 3 }])?;
    let host = devices.setup().start().await?;
    host.allocatable(BENCH, 3).await?;
    Ok((host, devices))
}

/// Its exit code, and what it says.
fn state(dir: &Path, args: &[&str]) -> anyhow::Result<(Option<i32>, String)> {
    let mut state = Command::new(devgate()?);
    let said = state.arg("state").args(args).arg("--state-dir").arg(dir).output()?;
    let text = String::from_utf8([said.stdout, said.stderr].concat())?;
    Ok((said.status.code(), text))
}

/// The allocations, each with its units.
fn listed(dir: &Path) -> anyhow::Result<Vec<(u64, String)>> {
    let (code, text) = state(dir, &["list", "--output", "json"])?;
    anyhow::ensure!(code == Some(0), "{text}");
    let list: serde_json::Value = serde_json::from_str(&text)?;
    let of = |listed: &serde_json::Value| {
        assert_eq!((&listed["consumer"], &listed["resource"]), (&"pods".into(), &BENCH.into()));
        assert!(listed["since"].as_u64() > Some(1_700_000_000), "{listed}");
        (listed["id"].as_u64().unwrap(), listed["units"].to_string())
    };
    Ok(list["allocations"].as_array().unwrap().iter().map(of).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_handed_out_is_listed_and_forgotten_when_an_admin_says_so() -> anyhow::Result<()> {
    let (mut host, _devices) = started().await?;
    let dir = host.dir().join("state");
    assert_eq!(state(&dir, &["list"])?, (Some(0), "nothing is recorded as handed out\n".to_owned()));
    host.kubelet.admit(&Pod::new("two", &[(BENCH, 2)])).await?;
    host.kubelet.admit(&Pod::new("one", &[(BENCH, 1)])).await?;
    let before = listed(&dir)?;
    let [(two, of_two), (one, of_one)] = &before[..] else { panic!("two allocations: {before:?}") };
    assert!(two < one && of_two.matches('"').count() == 4 && of_one.matches('"').count() == 2, "{before:?}");
    let (_, text) = state(&dir, &["list"])?;
    assert!(text.starts_with("ID ") && text.contains(" pods ") && text.contains(BENCH), "{text}");

    // Not under a host that runs, nor what a pod has.
    let places = [host.dir().join("pods"), host.dir().join("plugins")].map(|dir| dir.display().to_string());
    let id = one.to_string();
    let forget = |more: &[&str]| {
        let places = ["--pod-resources-dir", &places[0], "--kubelet-dir", &places[1]];
        state(&dir, &[&["forget", &id][..], &places, more].concat())
    };
    let (code, said) = forget(&[])?;
    assert!(code == Some(5) && said.contains("end it first"), "{said}");
    host.end(Signal::TERM).await?;
    let (code, said) = forget(&[])?;
    assert!(code == Some(5) && said.contains("is in use by pod default/one"), "{said}");
    assert_eq!(listed(&dir)?, before, "it outlives the host");
    let (code, said) = forget(&["--even-if-in-use"])?;
    assert!(code == Some(0) && said.contains(&format!("forgotten: allocation {id} of pods: ")), "{said}");
    assert_eq!(listed(&dir)?, before[..1]);
    let (code, said) = forget(&[])?;
    assert!(code == Some(5) && said.contains(&format!("allocation {id}: there is none")), "{said}");

    // An id is never used again.
    host.kubelet.remove("one");
    host.spawn()?;
    host.allocatable(BENCH, 3).await?;
    host.kubelet.admit(&Pod::new("again", &[(BENCH, 1)])).await?;
    let after = listed(&dir)?;
    assert!(after.len() == 2 && after[1].0 > *one, "{after:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_all_is_said_to_be_so_until_an_admin_accepts_it() -> anyhow::Result<()> {
    let (mut host, _devices) = started().await?;
    let dir = host.dir().join("state");
    host.kubelet.admit(&Pod::new("one", &[(BENCH, 1)])).await?;
    host.end(Signal::KILL).await?;
    let snapshot = dir.join("allocations/snapshot.1");
    std::fs::write(&snapshot, "{")?;
    let (code, said) = state(&dir, &["list"])?;
    assert!(code == Some(5) && said.contains("not all is known: allocations: the snapshot is not whole"), "{said}");
    let (code, said) = state(&dir, &["accept"])?;
    assert!(code == Some(0) && said.starts_with("accepted: "), "{said}");
    assert_eq!(listed(&dir)?.len(), 1, "what could be read counts");
    let (code, said) = state(&dir, &["accept"])?;
    assert!(code == Some(0) && said.starts_with("nothing to accept"), "{said}");
    let (code, said) = state(Path::new("/dev/null"), &["list"])?;
    assert!(code == Some(4) && said.contains("name another one with --state-dir"), "{said}");
    Ok(())
}
