//! What the demo prints.

use super::outage::Outage;
use anyhow::Context;
use devgate_core::{Grants, Match};
use devgate_fake_kubelet::RunOptions;
use devgate_node::Node;
use devgate_policy::Policy;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// Devices of one kind beyond which a list says how many more there are.
const SHOWN: usize = 8;

/// The story, on standard output.
pub(super) struct Story {
    out: std::io::Stdout,
}

/// What the kubelet was told of one resource.
pub(super) struct Devices {
    pub(super) resource: String,
    pub(super) ids: Vec<String>,
}

impl Story {
    pub(super) fn begin(node: &Node) -> anyhow::Result<Self> {
        let mut story = Self { out: std::io::stdout() };
        let whose = if node.is_recorded() { "a recorded node's devices" } else { "this machine's own devices" };
        story.line(&format!("devgatectl demo: the real `devgate run`, a kubelet stand-in, {whose}"))?;
        Ok(story)
    }

    /// Step 1: what the policy means on this node.
    pub(super) fn grants(&mut self, node: &Node, policy: &Policy) -> anyhow::Result<()> {
        self.heading(1, "What the policy grants here")?;
        for (name, plugin) in &policy.plugins {
            let matches = Grants::new(node.clone(), Arc::new(plugin.clone())).matches()?;
            if matches.is_empty() {
                self.line(&format!("   {name}: no device"))?;
                continue;
            }
            self.line(&format!("   {name}:"))?;
            for (n, found) in matches.iter().enumerate() {
                let same = |other: &&Match| other.subsystem == found.subsystem;
                let before = matches.iter().take(n).filter(same).count();
                if before < SHOWN {
                    self.line(&format!("     {}", describe(found)))?;
                } else if before == SHOWN {
                    let more = matches.iter().filter(same).count() - SHOWN;
                    self.line(&format!("     … and {more} more of {}", found.subsystem))?;
                }
            }
        }
        Ok(())
    }

    /// Step 2: what the kubelet was told.
    pub(super) fn registered(&mut self, took: Duration, all: &[Devices]) -> anyhow::Result<()> {
        self.heading(2, &format!("Registered with the kubelet, {} after its start", ms(took)))?;
        for Devices { resource, ids } in all {
            let shown = ids.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(" ");
            let more = match ids.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" … and {more} more"),
            };
            self.line(&format!("   {resource:<24} {:>3}  {shown}{more}", ids.len()))?;
        }
        Ok(())
    }

    /// Step 3: what a pod gets.
    pub(super) fn allocated(
        &mut self,
        took: Duration,
        wanted: &[(&str, usize)],
        given: &[String],
        options: &RunOptions,
    ) -> anyhow::Result<()> {
        let asked = wanted.iter().map(|(resource, n)| format!("{resource}: {n}")).collect::<Vec<_>>().join(", ");
        self.heading(3, &format!("A pod asks for {asked}"))?;
        self.line(&format!("   gets {} in {}, with these nodes and nothing else:", given.join(" and "), ms(took)))?;
        for (path, device) in &options.devices {
            self.line(&format!("     {path} {}", device.permissions))?;
        }
        Ok(())
    }

    /// Before step 4, where this machine has nothing that may fail.
    pub(super) fn nothing_to_fail(&mut self) -> anyhow::Result<()> {
        self.line("\n   (Nothing of this machine may be made to fail; the next step plays on a small recorded node.)")
    }

    /// Step 4: a device fails, and the kubelet sees it.
    pub(super) fn failed(
        &mut self,
        outage: &Outage,
        seen: Duration,
        (before, after): (usize, usize),
        reason: &str,
    ) -> anyhow::Result<()> {
        self.heading(4, &format!("A device fails: {}", outage.describe()))?;
        let (id, resource) = (&outage.id, &outage.resource);
        self.line(&format!("   the kubelet sees {id} unhealthy after {} ({resource}: {before} to {after})", ms(seen)))?;
        self.line(&format!("   the log says: {reason}"))
    }

    /// Step 4, continued: it comes back.
    pub(super) fn recovered(&mut self, seen: Duration) -> anyhow::Result<()> {
        self.line(&format!("   it is back, and the kubelet sees it healthy after {}", ms(seen)))
    }

    /// Step 5: a component that is refused.
    pub(super) fn refused(&mut self, message: &str) -> anyhow::Result<()> {
        self.heading(5, "A component asks for what it was not granted, and is not run")?;
        // The path of the file is another one on every machine.
        for line in message.lines().filter(|line| !line.trim_start().starts_with("file:")) {
            self.line(&format!("   {line}"))?;
        }
        Ok(())
    }

    /// Step 6: the kubelet restarts.
    pub(super) fn restarted(&mut self, took: Duration, resources: usize) -> anyhow::Result<()> {
        self.heading(6, "The kubelet restarts, and wipes its directory")?;
        self.line(&format!("   all {resources} resources are advertised again after {}", ms(took)))
    }

    pub(super) fn end(&mut self, took: Duration) -> anyhow::Result<()> {
        self.line(&format!("\nAll of this happened, in {:.1} s.", took.as_secs_f64()))
    }

    fn heading(&mut self, step: u32, text: &str) -> anyhow::Result<()> {
        self.line(&format!("\n{step}. {text}"))
    }

    fn line(&mut self, text: &str) -> anyhow::Result<()> {
        writeln!(self.out, "{text}").context("write the story")
    }
}

fn describe(found: &Match) -> String {
    let usage = found.usage.as_str();
    let nodes: Vec<_> = found.nodes.iter().map(|n| format!("{} {}", n.node.path, n.grant.access)).collect();
    let withheld: Vec<_> = found.withheld.iter().map(|w| format!("withheld: {}", w.why)).collect();
    let device = format!("{} {}", found.subsystem, found.device.name());
    format!("{device:<24} {usage}  {}", [nodes, withheld].concat().join(", ")).trim_end().to_owned()
}

fn ms(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}
