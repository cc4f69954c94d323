//! What a wrong component gets: one clear message; the other plugins go on.

use crate::wat_component::{NOTHING, SPIN, plugin};
use devgate_fake_kubelet::Pod;
use devgate_tests::{Kind, Setup, generic_policy, recording};

const KIND: Kind = Kind { class: 0, count: 1 };

fn policy(entries: &str) -> String {
    format!("{}{entries}", generic_policy(&[KIND]))
}

fn entry(file: &str, more: &str) -> String {
    format!("  bad:\n    component: {{file: {file}{more}}}\n    resources: [devgate.dev/bad]\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_wrong_component_is_named_and_costs_only_itself() -> anyhow::Result<()> {
    let good = std::fs::read(devgate_tests::components()?.join("generic.wasm"))?;
    let nothing = plugin(NOTHING, NOTHING, NOTHING);
    let newer = component_importing("devgate:plugin/hardware@0.2.0");
    let pinned = format!(", sha256: {}", "ab".repeat(32));
    let bad: [(&str, Vec<u8>, &str); 9] = [
        ("truncated", good[..good.len() / 2].to_vec(), ""),
        ("text", b"(component)".to_vec(), ""),
        ("core module", wat::parse_str("(module)")?, ""),
        ("precompiled", b"\x7fELF\x02\x01\x01".to_vec(), ""),
        ("other contract", newer, ""),
        ("wrong digest", nothing.clone(), &pinned),
        ("no plugin", wat::parse_str("(component)")?, ""),
        ("empty", Vec::new(), ""),
        ("too large", vec![0; 5 << 20], ""),
    ];
    let mut said = String::new();
    for (what, bytes, more) in bad {
        let host = Setup::new(&policy(&entry("bad.wasm", more))).on(&recording(&[KIND])).with("bad.wasm", bytes);
        let host = host.start().await?;
        let line = host.logged(|line| line.plugin == "bad" && line.level == "ERROR").await?;
        said += &format!("{what} ({}):\n{}\n\n", line.family, line.message);
        host.allocatable("devgate.dev/bench0", 1).await?;
        assert_eq!(host.kubelet.capacity("devgate.dev/bad"), None, "{what}");
    }
    let missing = Setup::new(&policy(&entry("missing.wasm", ""))).on(&recording(&[KIND])).start().await?;
    let line = missing.logged(|line| line.plugin == "bad" && line.level == "ERROR").await?;
    said += &format!("missing ({}):\n{}\n", line.family, line.message);
    insta::with_settings!({filters => vec![(r"/\S*/(\w+\.wasm)", "[dir]/$1"), ("found [0-9a-f]{64}", "found [digest]"), (r"sha256 is [0-9a-f]{64}", "sha256 is [digest]"), (r"at offset 0x[0-9a-f]+", "at offset [n]"), (r"tried again in \d+s", "tried again in [n]s")]}, {
        insta::assert_snapshot!(said);
    });
    Ok(())
}

fn component_importing(interface: &str) -> Vec<u8> {
    wat::parse_str(format!("(component (import \"{interface}\" (instance)))")).expect("a component")
}

/// What overreach asks for is refused by name, all of it at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_asks_for_too_much_is_refused() -> anyhow::Result<()> {
    let host = Setup::new(&policy(&entry("overreach.wasm", ""))).on(&recording(&[KIND])).start().await?;
    let line = host.logged(|line| line.plugin == "bad" && line.level == "ERROR").await?;
    assert_eq!(line.family, "refused");
    for interface in ["hardware", "kernel-log", "control"] {
        assert!(line.message.contains(&format!("devgate:plugin/{interface}@0.1.0")), "{}", line.message);
    }
    host.allocatable("devgate.dev/bench0", 1).await?;
    Ok(())
}

/// A component that loops is stopped; one that traps is not trusted; the others never notice.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_spins_or_traps_costs_only_itself() -> anyhow::Result<()> {
    let mut said = String::new();
    for (what, bytes) in [("spins", plugin(SPIN, NOTHING, NOTHING)), ("traps", plugin("unreachable", NOTHING, NOTHING))]
    {
        // Its processor time is over first, however busy the machine is.
        let entry = entry("bad.wasm", "") + "    limits: {deadline: 30s}\n";
        let host = Setup::new(&policy(&entry)).on(&recording(&[KIND])).with("bad.wasm", bytes);
        let host = host.start().await?;
        let line = host.logged(|line| line.plugin == "bad" && line.level == "ERROR").await?;
        said += &format!("{what} ({}): {}\n", line.family, line.message);
        host.allocatable("devgate.dev/bench0", 1).await?;
        host.kubelet.admit(&Pod::new("a", &[("devgate.dev/bench0", 1)])).await?;
    }
    insta::assert_snapshot!(said, @r"
    spins (guest): plugin bad: enumerate exceeded its 100ms of processor time (limits.cpu)
    traps (guest): plugin bad: enumerate trapped: wasm `unreachable` instruction executed at 2@0x346
    ");
    Ok(())
}

/// The text encoder of these tests makes what the host accepts: a component that offers nothing is offered as nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_offers_nothing_is_well() -> anyhow::Result<()> {
    let bytes = plugin(NOTHING, NOTHING, NOTHING);
    let host =
        Setup::new(&policy(&entry("bad.wasm", ""))).on(&recording(&[KIND])).with("bad.wasm", bytes).start().await?;
    host.logged(|line| line.plugin == "bad" && line.message.contains("loaded")).await?;
    host.allocatable("devgate.dev/bench0", 1).await?;
    assert!(host.lines().iter().all(|line| line.level != "ERROR"));
    Ok(())
}
