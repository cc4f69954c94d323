//! The conditions of devices: what is unhealthy, what is withheld, what comes and goes.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_device_is_broken() -> anyhow::Result<()> {
    starts(text(one_unit(broken, given), ""), "devices-unhealthy").await?;
    Ok(())
}

/// An id that means other hardware than when it was handed out.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_is_withheld_for_what_is_remembered() -> anyhow::Result<()> {
    let mut host = bench(&generic_policy(&[KIND])).args(&LISTEN).start().await?;
    host.allocatable(BENCH, 2).await?;
    host.kubelet.admit(&Pod::new("a", &[(BENCH, 2)])).await?;
    host.end(Signal::TERM).await?;
    host.replay(&recording(&[KIND]).replace("pci0000:00", "pci0000:40"))?;
    let port = again(&mut host).await?;
    let faces = happens(&host, "devices-unhealthy", port).await?;
    assert!(faces.text.out.contains("UNHEALTHY"), "{}", faces.text.out);
    // A look at the node alone finds nothing wrong with it.
    let [policy, node, socket] = ["policy.yaml", "node.umockdev", "status.sock"].map(|name| host.dir().join(name));
    let explain = |socket: &Path| {
        let args = ["explain", BENCH, "--policy"].map(OsStr::new);
        let place = [policy.as_os_str(), "--node-root".as_ref(), node.as_os_str()];
        let running = ["--status-socket".as_ref(), socket.as_os_str()];
        look(args.into_iter().chain(place).chain(running))
    };
    let said = explain(&socket)?;
    assert!(said.out.contains("none of its 2 units can be allocated"), "{}", said.out);
    assert_eq!(said.code, Some(5), "{}", said.out);
    assert_eq!(explain(&host.dir().join("nobody.sock"))?.code, Some(0));
    Ok(())
}

/// It comes and goes: for longer and longer it is not shown healthy again at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_comes_and_goes() -> anyhow::Result<()> {
    let host = bench(&generic_policy(&[KIND])).args(&LISTEN).start().await?;
    host.allocatable(BENCH, 2).await?;
    for _ in 0..4 {
        for count in [1, 2] {
            host.replay(&recording(&[Kind { count, ..KIND }]))?;
            tokio::time::sleep(Duration::from_millis(900)).await;
        }
    }
    happens(&host, "devices-hidden", port(&host).await?).await?;
    Ok(())
}
