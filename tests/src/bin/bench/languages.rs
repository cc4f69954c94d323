//! The same component in every language, in the real host on its recorded node: size, start, memory, and the time of each call.

use crate::table::Table;
use anyhow::Context;
use devgate_kubelet::standin::Pod;
use devgate_tests::process::resident;
use devgate_tests::{Setup, components, devgate};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

const WIDGET: &str = "example.com/widget";
/// Allocations, and at least as many calls of the other kinds.
const CALLS: u64 = 200;
/// Often, so that there are calls to measure.
const OFTEN: &str = "health: {enumerate-every: 100ms, check-every: 100ms}";

/// Measures those that were built.
pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/languages");
    let node = std::fs::read_to_string(folder.join("nodes/widgets.umockdev"))?;
    for (language, name) in [
        ("Rust", "widget"),
        ("C", "widget-c"),
        ("JavaScript", "widget-js"),
        ("Python", "widget-python"),
    ] {
        let file = components()?.join(format!("{name}.wasm"));
        let Ok(bytes) = std::fs::metadata(&file) else {
            println!(
                "{language}: {} is not there: cargo xtask components --languages",
                file.display()
            );
            continue;
        };
        let own = name
            .strip_prefix("widget-")
            .map(|own| folder.join(own).join("policy.yaml"));
        let path = own
            .filter(|own| own.is_file())
            .unwrap_or_else(|| folder.join("policy.yaml"));
        let policy = std::fs::read_to_string(path)?
            .replace("{file: widget.wasm}", &format!("{{file: {name}.wasm}}"))
            .replace("health: {unhealthy-after: 2s, healthy-after: 30s}", OFTEN);
        #[expect(clippy::cast_precision_loss, reason = "a component's size")]
        table.figure(&format!("{language}: size"), bytes.len() as f64 / 1e3, "kB");
        one(table, language, &policy, &node).await?;
    }
    Ok(())
}

async fn one(table: &mut Table, language: &str, policy: &str, node: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    let host = Setup::new(policy).on(node).log("error").start().await?;
    host.allocatable(WIDGET, 3).await?;
    table.figure(
        &format!("{language}: start to registered, compiled"),
        begun.elapsed().as_secs_f64() * 1e3,
        "ms",
    );
    for _ in 0..CALLS {
        host.kubelet.admit(&Pod::new("one", &[(WIDGET, 1)])).await?;
        host.kubelet.remove("one");
    }
    let socket = host.dir().join("status.sock");
    loop {
        let mut ask = tokio::process::Command::new(devgate()?);
        let output = ask
            .args(["status", "--output", "json", "--status-socket"])
            .arg(&socket)
            .output()
            .await?;
        let status: Value = serde_json::from_slice(&output.stdout).context("read the host's status")?;
        let calls = status["plugins"][0]["calls"]
            .as_array()
            .context("the plugin's calls")?
            .clone();
        let number = |call: &Value, what: &str| call[what].as_u64().unwrap_or(0);
        if calls.iter().any(|call| number(call, "count") < CALLS) {
            tokio::time::sleep(Duration::from_millis(500)).await;
            continue;
        }
        for call in &calls {
            let name = call["call"].as_str().unwrap_or("?");
            #[expect(clippy::cast_precision_loss, reason = "microseconds")]
            let mean = number(call, "total_us") as f64 / number(call, "count") as f64;
            table.figure(&format!("{language}: {name}, mean"), mean, "µs");
        }
        let memory = calls.iter().map(|call| number(call, "memory")).max().unwrap_or(0);
        #[expect(clippy::cast_precision_loss, reason = "a component's memory")]
        table.figure(&format!("{language}: a call's memory"), memory as f64 / 1024.0, "KiB");
        table.figure(
            &format!("{language}: resident memory of the host"),
            resident(host.pid()?)?.0,
            "MiB",
        );
        return Ok(());
    }
}
