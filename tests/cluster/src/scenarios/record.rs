//! A node is recorded from afar, by the lines of docs/devgatectl.md, and what came is the node: its disks are found on it, and a policy is
//! checked there.

use crate::cluster::Cluster;
use crate::process;
use crate::wait::{timed, until};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let devgate = cluster.given.image.file_name().and_then(|name| name.to_str()).context("the image's name")?;
    let image = cluster.given.image.with_file_name(devgate.replacen("devgate", "devgatectl", 1));
    cluster.load(&image).context("devgatectl's image, which `cargo xtask cluster` makes beside devgate's")?;
    let page =
        std::fs::read_to_string(cluster.given.root.join("docs/devgatectl.md")).context("read docs/devgatectl.md")?;
    let desk = cluster.given.dir.join("work/recorded");
    std::fs::create_dir_all(&desk)?;
    let (_, seconds) = timed(|| record(cluster, &desk, &page))?;

    let [policy, node] = ["policy.yaml", "node.umockdev"].map(|name| desk.join(name).display().to_string());
    std::fs::write(&policy, cluster.policy()?)?;
    let components = cluster.given.components.display().to_string();
    let words = ["check", "--policy", &policy, "--components", &components, "--node-root", &node, "--output", "json"];
    let report: Value = serde_json::from_str(&cluster.devgatectl(&words)?)?;
    let found = &report["plugins"][0]["grants"]["devices"];
    let all = cluster.disks.names().len();
    ensure!(found.as_array().is_some_and(|found| found.len() == all), "{all} disks are on the node: {found}");
    let text = std::fs::read_to_string(&node)?;
    // As a log is that was cut.
    let (cut, _) = text.split_at(text.len() / 2);
    let short = desk.join("cut.umockdev").display().to_string();
    std::fs::write(&short, cut.rsplit_once('\n').context("lines")?.0)?;
    let words = ["check", "--policy", &policy, "--components", &components, "--node-root", &short];
    let refused = cluster.devgatectl(&words).err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(refused.contains("the text is cut, its end is missing"), "{refused}");
    let recorded = text.lines().find_map(|line| line.strip_prefix("E: DEVGATE=# recorded ")).context("a summary")?;
    cluster.note(format!("record: a node of {recorded} in {} KiB, {seconds:.1} s from afar", text.len() / 1024));
    Ok(())
}

/// Types what the page says. Its pod is the one that the first line names.
fn record(cluster: &Cluster, desk: &Path, page: &str) -> Result<()> {
    let section = page.split("\n## ").find(|section| section.starts_with("devgatectl record\n"));
    let lines = section.context("docs/devgatectl.md has no `record`")?.lines();
    let mut lines = lines.filter_map(|line| line.strip_prefix("$ ")).filter(|line| line.starts_with("kubectl "));
    let mut next = || lines.next().context("docs/devgatectl.md says three lines of kubectl");
    let (debug, logs, delete) = (next()?, next()?, next()?);
    let shell = |line: &str| {
        let mut shell = cluster.admin(Path::new("sh"));
        if let Some(folder) = cluster.given.kubectl.parent().filter(|folder| folder.is_absolute()) {
            shell.env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default()));
        }
        process::read(shell.current_dir(desk).args(["-c", line]))
    };
    let said = shell(&debug.replace("NODE", "node1"))?;
    let pod = said.split_whitespace().find(|word| word.starts_with("node-debugger-")).context(said.clone())?;
    // Until its container has begun, kubectl gives no log.
    until("the recording", 60, || shell(&logs.replace("POD", pod)))?;
    shell(&delete.replace("POD", pod)).map(drop)
}
