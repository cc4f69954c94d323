//! The way on from a project: into a registry, into an admin's policy, and by the host into a container.

use super::{commands, section};
use crate::look::status;
use crate::registry::Registry;
use anyhow::{Context, ensure};
use devgate_fake_kubelet::Pod;
use devgate_tests::Setup;
use std::path::Path;
use std::time::{Duration, Instant};

const RESOURCE: &str = "acme.com/acme-npu";

/// Does what a project's README says of shipping it and of a node, with commands run by `follow`; how long that takes, or nothing where
/// there is no registry here.
pub(super) async fn to_a_container(
    folder: &Path,
    follow: impl Fn(&str, &[(&str, &str)]) -> anyhow::Result<String>,
) -> anyhow::Result<Option<Duration>> {
    let Some(registry) = Registry::start()? else {
        return Ok(None);
    };
    let begun = Instant::now();
    let place = registry.reference("acme");
    let environment = registry.as_logged_in()?;
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let environment = [&environment[..], &[("REGISTRY", &place)]].concat();
    if let Ok(build) = section(folder, "A build to ship") {
        follow(&build, &environment)?;
    }
    let said = follow(&section(folder, "To ship it")?, &environment)?;
    ensure!(said.contains("checks passed"), "{said}");
    let pinned = said.split("component: {oci: \"").nth(1).and_then(|rest| rest.split('"').next());
    let pinned = pinned.with_context(|| said.clone())?;
    ensure!(pinned.starts_with(&format!("{place}/acme-npu:0.1.0@sha256:")), "{pinned}");

    let to_a_node = section(folder, "To a node")?;
    let [add, run] = commands(&to_a_node)[..] else { panic!("two commands: {to_a_node}") };
    // What an admin answers.
    follow(&format!("$ {add} --yes\n"), &environment)?;
    // It is run below with what a test of a host needs besides.
    ensure!(run == "devgate run --policy policy.d", "{run}");
    let policy = std::fs::read_to_string(folder.join("policy.d/acme-npu.yaml"))?;
    ensure!(policy.contains(&format!("component: {{oci: \"{pinned}\"}}")), "{policy}");

    let node = std::fs::read_to_string(folder.join("nodes/acme-npu.umockdev"))?;
    let setup = environment.iter().fold(Setup::new(&policy), |setup, (name, value)| setup.env(name, value));
    let host = setup.on_files_of(&node).start().await?;
    host.allocatable(RESOURCE, 3).await?;
    ensure!(status(&host)?["plugins"][0]["component"]["file"] == pinned, "{}", status(&host)?);
    host.kubelet.admit(&Pod::new("training", &[(RESOURCE, 3)])).await?;
    let container = host.kubelet.start_container("training", "main").await.map_err(anyhow::Error::msg)?;
    let nodes: Vec<_> = container.devices.keys().map(String::as_str).collect();
    ensure!(nodes == ["/dev/acme_npu0", "/dev/acme_npu1", "/dev/acme_npu2"], "{nodes:?}");
    let said = |name: &str| container.envs.get(name).map(String::as_str);
    ensure!(said("ACME_NPU_MODE") == Some("safe"), "{:?}", container.envs);
    ensure!(said("ACME_NPU_SERIALS").is_some_and(|serials| serials.split(',').count() == 3), "{:?}", container.envs);
    Ok(Some(begun.elapsed()))
}
