//! The policies that come with devgate, changed.

use super::super::draft::Draft;
use super::super::yaml::scalar;
use std::fmt::Write;

/// Whole GPUs.
const WHOLE: &str = include_str!("../../../../../deploy/policies/nvidia.yaml");
/// In its first plugin, MIG instances as well.
const PARTS: &str = include_str!("../../../../../guests/nvidia-gpu/policy.yaml");
/// How containers get GPUs in the first.
const BY_VARIABLE: &str = "env: {NVIDIA_VISIBLE_DEVICES: \"{property.uuid}\"}";

/// A plugin's keys.
pub(super) struct Base(String);

impl Base {
    /// Whole GPUs.
    pub(super) fn whole() -> Self {
        // Without what a comment offers in place of the variable.
        let mut is_other = false;
        Self(lines(WHOLE, |line| {
            is_other = line.contains("# Or, with any runtime") || is_other && line.starts_with("      ");
            !is_other
        }))
    }

    /// Whole GPUs that are not cut, and instances under this name.
    pub(super) fn parts(instances: &str) -> Self {
        let mut is_label = false;
        let text = lines(PARTS, |line| {
            is_label = line.starts_with("    labels:") || is_label && line.starts_with("      ");
            let is_of_labels = line.contains("Of the node, by way of") || line.contains("not run beside it.");
            !is_label && !is_of_labels
        });
        let text = text.replace("mig: nvidia.com/mig", &format!("mig: {instances}"));
        Self(match instances {
            "nvidia.com/gpu" => text.replace("[nvidia.com/gpu, nvidia.com/mig]", "[nvidia.com/gpu]"),
            _ => text,
        })
    }

    /// Has containers get GPUs as they do there.
    pub(super) fn list_strategy(&mut self, strategies: &[&str], at: &str, draft: &mut Draft) {
        for strategy in strategies.iter().filter(|strategy| !matches!(**strategy, "envvar" | "cdi-cri")) {
            let why = "containers get GPUs by the variable, or with cdi-cri by CDI";
            draft.lose(format!("{at}: flags: plugin: deviceListStrategy {strategy}"), why);
        }
        if strategies.iter().any(|strategy| strategy.starts_with("cdi-")) {
            let by_cdi = "# By what `nvidia-ctk cdi generate --device-name-strategy=uuid` has written on the node.\n      \
                          env: {NVIDIA_VISIBLE_DEVICES: void}\n      cdi: {nvidia.com/gpu: \"{property.uuid}\"}";
            self.0 = self.0.replace(BY_VARIABLE, by_cdi);
        }
    }

    /// Offers each so often.
    pub(super) fn replicas(&mut self, replicas: u32) {
        self.add(&format!("replicas: {replicas}"));
    }

    /// Offers them under another name.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        self.0 = self.0.replace(&format!("resources: [{from}]"), &format!("resources: [{to}]"));
        self.add(&format!("rename: [{{resource: {from}, to: {}}}]", scalar(to)));
    }

    /// Adds a key.
    pub(super) fn add(&mut self, line: &str) {
        let _ = writeln!(self.0, "    {line}");
    }

    pub(super) fn done(self) -> String {
        self.0
    }
}

/// The keys of a policy's first plugin, those lines that are wanted.
fn lines(policy: &str, mut is_wanted: impl FnMut(&str) -> bool) -> String {
    let keys = policy.lines().skip_while(|line| !line.starts_with("  nvidia:")).skip(1);
    let keys = keys.take_while(|line| line.starts_with("    "));
    keys.filter(|line| is_wanted(line)).map(|line| format!("{line}\n")).collect()
}
