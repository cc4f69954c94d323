//! `devgatectl demo`: the real `devgate run`, a kubelet stand-in and this machine's own devices, told as one story.

mod machine;
mod outage;
mod story;

use crate::cli::DemoArgs;
use crate::stage::{Setup, Stage};
use anyhow::{Context, bail};
use devgate_fake_kubelet::{KubeletVersion, Pod};
use devgate_fake_node::RecordedNode;
use devgate_policy::PolicyFile;
use machine::Offered;
use outage::Outage;
use std::path::Path;
use std::time::Instant;
use story::{Devices, Story};

/// The small node on which a device fails where this machine has none that could.
const RECORDED: &str = include_str!("demo/node.umockdev");

/// Runs the command.
pub(crate) fn demo(args: &DemoArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("start the runtime")?;
    runtime.block_on(async {
        tokio::select! {
            result = tell(args) => result,
            // What was renamed away comes back, and the host is stopped, when `tell` is dropped.
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        }
    })
}

async fn tell(args: &DemoArgs) -> anyhow::Result<()> {
    let begun = Instant::now();
    for file in ["generic.wasm", "overreach.wasm"] {
        if !args.components.join(file).is_file() {
            let missing = args.components.join(file);
            bail!("component {} is not there: run `cargo xtask components`, or give --components", missing.display());
        }
    }
    let node = crate::node::open(&args.node_root)?;
    let mut story = Story::begin(&node)?;
    let offered = machine::offered(&node);
    if offered.is_empty() {
        bail!("this machine has none of the devices that the demo knows; try --node-root with a recorded node");
    }
    let text = machine::policy(&offered);
    let policy = devgate_policy::parse(&[PolicyFile { name: "the demo's policy", text: &text }])?;
    let mut stage = stage_for(args, &args.node_root, &text).await?;

    story.grants(&node, &policy)?;
    registered(&mut story, &stage, &offered).await.context("step 2, registration")?;
    allocated(&mut story, &stage, &offered).await.context("step 3, an allocation")?;
    failed(&mut story, args, &stage, &offered).await.context("step 4, a device that fails")?;
    refused(&mut story, &stage).await.context("step 5, a component that is refused")?;
    restarted(&mut story, &stage, &offered).await.context("step 6, a kubelet restart")?;
    stage.end().await.context("the end of `devgate run`")?;
    story.end(begun.elapsed())
}

async fn stage_for(args: &DemoArgs, node_root: &Path, policy: &str) -> anyhow::Result<Stage> {
    let setup = Setup {
        policy,
        components: &args.components,
        node_root,
        version: KubeletVersion::default(),
        log: "info",
        more: &[],
    };
    Stage::set(setup).await
}

/// Waits for all resources, and says what the kubelet was told.
async fn registered(story: &mut Story, stage: &Stage, offered: &[Offered]) -> anyhow::Result<()> {
    let begun = Instant::now();
    stage.wait(|kubelet| offered.iter().all(|o| kubelet.allocatable(&o.resource).is_some_and(|n| n > 0))).await?;
    let took = begun.elapsed();
    let devices = offered.iter().map(|o| Devices {
        resource: o.resource.clone(),
        ids: stage.kubelet.devices(&o.resource).into_keys().collect(),
    });
    story.registered(took, &devices.collect::<Vec<_>>())
}

/// Admits a pod that asks for one device of the first two resources.
async fn allocated(story: &mut Story, stage: &Stage, offered: &[Offered]) -> anyhow::Result<()> {
    let wanted: Vec<_> = offered.iter().take(2).map(|o| (o.resource.as_str(), 1)).collect();
    let begun = Instant::now();
    stage.kubelet.admit(&Pod::new("demo", &wanted)).await?;
    let took = begun.elapsed();
    let main = stage.kubelet.start_container("demo", "main").await.map_err(anyhow::Error::msg)?;
    let given = offered.iter().take(2).flat_map(|o| stage.kubelet.allocated(&o.resource)).collect::<Vec<_>>();
    if main.devices.is_empty() {
        bail!("the pod got no device node");
    }
    story.allocated(took, &wanted, &given, &main)
}

/// Lets a device fail and come back, on this machine or else on a recorded one.
async fn failed(story: &mut Story, args: &DemoArgs, stage: &Stage, offered: &[Offered]) -> anyhow::Result<()> {
    match Outage::find(&args.node_root, &stage.node_root, offered) {
        Some(outage) => fails(story, stage, outage).await,
        None => {
            story.nothing_to_fail()?;
            let node = RecordedNode::parse("the demo's node", RECORDED)?;
            let offered = machine::offered(&node);
            let dir = tempfile::tempdir()?;
            let recording = dir.path().join("node.umockdev");
            std::fs::write(&recording, RECORDED)?;
            let mut second = stage_for(args, &recording, &machine::policy(&offered)).await?;
            let outage =
                Outage::find(&recording, &second.node_root, &offered).context("the recorded node has no device")?;
            second
                .wait(|kubelet| offered.iter().all(|o| kubelet.allocatable(&o.resource).is_some_and(|n| n > 0)))
                .await?;
            fails(story, &second, outage).await?;
            second.end().await
        }
    }
}

async fn fails(story: &mut Story, stage: &Stage, mut outage: Outage) -> anyhow::Result<()> {
    let resource = outage.resource.clone();
    let before = stage.kubelet.allocatable(&resource).unwrap_or(0);
    outage.begin()?;
    let begun = Instant::now();
    stage.wait(|kubelet| kubelet.allocatable(&resource).is_some_and(|now| now < before)).await?;
    let seen = begun.elapsed();
    let reason = stage.logged(|line| line.level == "WARN" && line.message.contains("unhealthy")).await?;
    let after = stage.kubelet.allocatable(&resource).unwrap_or(0);
    story.failed(&outage, seen, (before, after), &reason.message)?;
    outage.end()?;
    let begun = Instant::now();
    stage.wait(|kubelet| kubelet.allocatable(&resource) == Some(before)).await?;
    story.recovered(begun.elapsed())
}

/// Says why the component that asks for too much is not run.
async fn refused(story: &mut Story, stage: &Stage) -> anyhow::Result<()> {
    let line = stage.logged(|line| line.family == "refused" && line.plugin == "overreach").await?;
    if stage.kubelet.capacity(machine::OVERREACH).is_some() {
        bail!("the refused component's resource was registered all the same");
    }
    story.refused(&line.message)
}

/// Restarts the kubelet, which wipes its directory, and waits for everything to be advertised again.
async fn restarted(story: &mut Story, stage: &Stage, offered: &[Offered]) -> anyhow::Result<()> {
    let healthy = |o: &Offered| stage.kubelet.allocatable(&o.resource);
    let before: Vec<_> = offered.iter().map(healthy).collect();
    stage.kubelet.restart().await?;
    let begun = Instant::now();
    stage
        .wait(|kubelet| offered.iter().zip(&before).all(|(o, before)| kubelet.allocatable(&o.resource) == *before))
        .await?;
    story.restarted(begun.elapsed(), offered.len())
}
