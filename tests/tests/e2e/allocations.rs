//! From one pod to the next: a component that makes its devices ready and releases them, as pods come and go.

use devgate_fake_kubelet::{Pod, PodsAnswer};
use devgate_tests::{Host, Setup};
use rustix::process::Signal;

const PROBE: &str = "example.com/probe";
const POLICY: &str = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  probe:
    component: {file: lifecycle-probe.wasm}
    resources: [example.com/probe]
    hardware:
      - {subsystem: probe, use: offer, nodes: [{access: rw}]}
    health: {check-every: 100ms}
    limits: {deadline: 20s}
";

/// A node with one device, on which these calls fail.
fn node(fails: &[&str]) -> String {
    let attribute = |call: &str| format!("A: {call}={}\\n\n", if fails.contains(&call) { "fail" } else { "ok" });
    let attributes: String = ["prepare", "allocate", "release"].map(attribute).concat();
    format!(
        "P: /devices/virtual/probe/probe0\nN: probe0\nE: SUBSYSTEM=probe\nE: DEVNAME=/dev/probe0\nE: MAJOR=241\n\
         E: MINOR=0\nA: dev=241:0\\n\n{attributes}"
    )
}

async fn start() -> anyhow::Result<Host> {
    let host = Setup::new(POLICY).on(&node(&[])).args(&["--pod-resources-every=200"]).start().await?;
    host.allocatable(PROBE, 1).await?;
    Ok(host)
}

/// Lets these calls fail from now on, and no others.
async fn fail(host: &Host, calls: &[&str]) -> anyhow::Result<()> {
    let read = || host.lines().iter().filter(|line| line.message.contains("read again")).count();
    let before = read();
    host.replay(&node(calls))?;
    host.wait(|_| read() > before).await?;
    Ok(())
}

/// What the component said that was done, in order.
fn done(host: &Host) -> Vec<&'static str> {
    let said = |line: devgate_tests::Line| {
        let calls = ["prepare", "allocate", "release"].into_iter();
        calls.into_iter().find(|call| line.message.contains(&format!("{call} probe0")))
    };
    host.lines().into_iter().filter_map(said).collect()
}

/// Waits until these were the last that was done, after so many others.
async fn expect(host: &Host, after: usize, calls: &[&str]) -> anyhow::Result<()> {
    host.wait(|_| done(host).len() >= after + calls.len()).await?;
    assert_eq!(&done(host)[after..], calls, "{:?}", done(host));
    Ok(())
}

fn pod(name: &str) -> Pod {
    Pod::new(name, &[(PROBE, 1)])
}

/// Longer than it takes to see twice that a device is free.
async fn a_while() {
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_goes_from_pod_to_pod_and_is_released_in_between() -> anyhow::Result<()> {
    let host = start().await?;
    host.kubelet.admit(&pod("first")).await?;
    a_while().await;
    // Nobody knows who had it before this host was installed.
    expect(&host, 0, &["release", "prepare", "allocate"]).await?;
    host.kubelet.remove("first");
    expect(&host, 3, &["release"]).await?;
    host.kubelet.admit(&pod("second")).await?;
    expect(&host, 4, &["prepare", "allocate"]).await?;
    // The next one comes before anybody has noticed that this one went.
    host.kubelet.remove("second");
    host.kubelet.admit(&pod("third")).await?;
    expect(&host, 6, &["release", "prepare", "allocate"]).await?;
    // A device that cannot be released is given to nobody, and heals by itself.
    a_while().await;
    fail(&host, &["release"]).await?;
    host.kubelet.remove("third");
    host.allocatable(PROBE, 0).await?;
    let why = host.logged(|line| line.message.contains("probe0 is unhealthy")).await?;
    assert!(
        why.message.contains("release failed") && why.message.contains("the device does not answer"),
        "{}",
        why.message
    );
    assert!(host.kubelet.admit(&pod("fourth")).await.is_err());
    fail(&host, &[]).await?;
    host.allocatable(PROBE, 1).await?;
    let released = |host: &Host| done(host).last().is_some_and(|done| *done == "release");
    host.wait(|_| released(&host)).await?;
    let before = done(&host).len();
    host.kubelet.admit(&pod("fifth")).await?;
    expect(&host, before, &["prepare", "allocate"]).await
}

/// Undone by the component, before the call fails.
#[tokio::test(flavor = "multi_thread")]
async fn c34_what_was_made_ready_for_an_allocation_that_fails_is_released() -> anyhow::Result<()> {
    let host = start().await?;
    fail(&host, &["allocate"]).await?;
    let rejected = host.kubelet.admit(&pod("unlucky")).await.unwrap_err();
    assert!(rejected.message.contains("does not answer"), "{rejected}");
    expect(&host, 0, &["release", "prepare", "allocate", "release"]).await?;
    fail(&host, &[]).await?;
    host.kubelet.admit(&pod("lucky")).await?;
    expect(&host, 4, &["prepare", "allocate"]).await
}

/// The host is killed, and a pod ends while it is away: what pods have is asked, not counted. The same where it has lost all that
/// it knew, while the pod is there.
#[tokio::test(flavor = "multi_thread")]
async fn c43_what_pods_have_is_known_again_after_the_host_was_killed() -> anyhow::Result<()> {
    let mut host = start().await?;
    host.kubelet.admit(&pod("stays")).await?;
    expect(&host, 0, &["release", "prepare", "allocate"]).await?;
    host.end(Signal::KILL).await?;
    host.spawn()?;
    host.allocatable(PROBE, 1).await?;
    a_while().await;
    expect(&host, 3, &[]).await?;
    host.end(Signal::KILL).await?;
    host.kubelet.remove("stays");
    host.spawn()?;
    expect(&host, 3, &["release"]).await?;
    host.wait(|_| host.recorded().is_ok_and(|text| !text.contains("probe0\": {"))).await?;
    host.kubelet.admit(&pod("another")).await?;
    expect(&host, 4, &["prepare", "allocate"]).await?;
    host.end(Signal::KILL).await?;
    std::fs::remove_dir_all(host.dir().join("state/allocations"))?;
    host.spawn()?;
    host.allocatable(PROBE, 1).await?;
    a_while().await;
    expect(&host, 6, &[]).await?;
    host.kubelet.remove("another");
    expect(&host, 6, &["release"]).await
}

/// Another resource of the pod fails after this one was allocated.
#[tokio::test(flavor = "multi_thread")]
async fn c44_a_pod_that_is_rejected_in_the_middle_keeps_nothing() -> anyhow::Result<()> {
    let host = start().await?;
    // In whatever order the kubelet goes through the resources.
    for n in 0..20 {
        let mut unlucky = pod(&format!("unlucky-{n}"));
        unlucky.containers[0].resources.insert("example.com/absent".to_owned(), 1);
        assert!(host.kubelet.admit(&unlucky).await.is_err());
    }
    // It is free for the next pod, and made clean for it.
    host.kubelet.admit(&pod("lucky")).await?;
    a_while().await;
    let calls = done(&host);
    let count = |call: &str| calls.iter().filter(|done| **done == call).count();
    assert!(count("prepare") > 1, "{calls:?}");
    // Each after a release, the first one of what nobody knows of.
    assert_eq!((count("prepare"), count("allocate")), (count("release"), count("release")), "{calls:?}");
    host.kubelet.remove("lucky");
    expect(&host, calls.len(), &["release"]).await
}

/// A kubelet that has just started knows its pods only when the API server has told it.
#[tokio::test(flavor = "multi_thread")]
async fn c62_what_a_pod_has_is_not_released_while_the_kubelet_does_not_know_its_pods() -> anyhow::Result<()> {
    let host = start().await?;
    host.kubelet.admit(&pod("train")).await?;
    a_while().await;
    host.kubelet.stop().await;
    host.kubelet.answer_pods(PodsAnswer::Unsynced);
    host.kubelet.start().await?;
    host.allocatable(PROBE, 1).await?;
    a_while().await;
    for answer in [PodsAnswer::Hang, PodsAnswer::TooMany, PodsAnswer::Real] {
        host.kubelet.answer_pods(answer);
        a_while().await;
    }
    expect(&host, 0, &["release", "prepare", "allocate"]).await?;
    host.kubelet.remove("train");
    expect(&host, 3, &["release"]).await
}
