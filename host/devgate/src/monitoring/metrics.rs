//! The report as Prometheus reads it. Labels are names of plugins and resources and words of this program. A component has no
//! say in them but where the policy's `resources` has a pattern, and then for a bounded number of names.

use super::process::Usage;
use super::{Condition, Report};
use devgate_core::status::{AllocationEnd, BUCKETS, CallStatus, DeviceStatus, PluginStatus, RefusalKind, State, When};
use devgate_device_plugin::Phase;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The content type of [`text`].
pub(super) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics in the order in which they are told, each with its type and what it is.
const METRICS: &str = "\
gauge devgate_build_info The version that runs; always 1.
gauge devgate_policy_applied_timestamp_seconds Since when the policy that is in force is, in seconds since 1970.
gauge devgate_policy_refused 1 while another policy is refused and the one before it is in force, else 0.
gauge devgate_state_closed 1 while no device is given that no pod has, because it is not known what pods have or cannot be recorded what they get, else 0.
gauge devgate_condition How many plugins, devices or resources are in a condition that an admin should look at; of the host itself 1 or 0.
gauge devgate_landlock_version The version of Landlock that fences the host and its children; 0 where the kernel lacks it or it is forbidden.
gauge process_start_time_seconds When the host started, in seconds since 1970.
gauge process_resident_memory_bytes Resident memory of the host.
gauge devgate_memory_limit_bytes The memory that the container or service of the host may use.
gauge process_open_fds Open file descriptors of the host.
gauge process_max_fds The file descriptors that the host may have open.
counter process_cpu_seconds_total Processor time of the host.
gauge devgate_plugin_state 1 for what a plugin is doing, 0 for everything else.
gauge devgate_devices Devices, replicas not counted.
gauge devgate_devices_held Devices that count as handed out.
gauge devgate_replicas What the kubelet counts: each device as many times as the policy has replicas.
gauge devgate_replicas_held Those of them that containers have, as far as the kubelet tells; of a device that counts as handed out, one at least.
gauge devgate_rejected Pools and units that a component lists and the gate does not let through.
counter devgate_allocations_total Allocations, by how they ended.
counter devgate_refusals_total What was asked for and not given: loading a component, capabilities of the node, devices, writes.
gauge devgate_devices_resting Devices that are not given for a while, because calls about them keep failing.
counter devgate_component_calls_given_up_total Calls of a component that did not return in time, and that the host gave up on.
gauge devgate_component_calls_hanging Those of them that have not returned yet.
counter devgate_runner_restarts_total How often the runner of a plugin's component ended and was started anew, since the component was loaded.
gauge devgate_kernel_log_readable Whether a plugin that is granted lines of the kernel's log hears of them.
counter devgate_kernel_log_gaps_total How many times lines of the kernel's log were lost before they were read.
counter devgate_component_calls_total Calls of a component, by how they ended.
histogram devgate_component_call_duration_seconds How long calls of a component took, with the wait for the node.
gauge devgate_component_last_success_timestamp_seconds When a component answered such a call the last time, in seconds since 1970.
gauge devgate_component_memory_bytes The most memory that a call of this kind has used.
gauge devgate_component_memory_limit_bytes The memory that a call may use.
gauge devgate_component_limit_used_ratio The share of a limit that a call used, where that was more than four fifths within the last hour.
gauge devgate_kubelet_registered Whether a resource is registered with the kubelet.
gauge devgate_kubelet_phase 1 for where a resource is with the kubelet, 0 for everything else.
counter devgate_kubelet_registrations_total Registrations that the kubelet took.
gauge devgate_kubelet_streams Streams of device lists that the kubelet has open.
gauge devgate_kubelet_devices_hidden Ids that are healthy and shown to the kubelet as unhealthy, because they come and go.
counter devgate_kubelet_lists_sent_total Device lists that were sent.
counter devgate_pulls_total Pulls of components, by how they ended.
gauge devgate_cache_bytes What is kept of components from registries.";

/// Everything, in the text format, with what the process uses.
pub(super) fn text(report: &Report, usage: &Usage) -> String {
    let mut series = Series::default();
    host(report, &mut series);
    usage.iter().for_each(|(name, value)| series.add(name, &[], *value));
    for plugin in &report.plugins {
        self::plugin(plugin, &mut series);
        calls(plugin, &mut series);
    }
    kubelet(report, &mut series);
    let mut text = String::new();
    for line in METRICS.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(kind), Some(name), Some(help)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        // The format has no word for a metric of which there is none.
        if let Some(lines) = series.0.get(name) {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{lines}");
        }
    }
    text
}

/// The lines of each metric that there is.
#[derive(Default)]
struct Series(BTreeMap<&'static str, String>);

impl Series {
    fn add(&mut self, name: &'static str, labels: &[(&str, &str)], value: f64) {
        self.part(name, "", labels, value);
    }

    /// Several metrics with the same labels.
    fn all<const N: usize>(&mut self, labels: &[(&str, &str)], values: [(&'static str, f64); N]) {
        values.into_iter().for_each(|(name, value)| self.add(name, labels, value));
    }

    /// One metric for each value of a label.
    fn each<const N: usize>(&mut self, name: &'static str, of: &[(&str, &str)], label: &str, values: [(&str, u64); N]) {
        for (word, value) in values {
            self.add(name, &[of, &[(label, word)]].concat(), float(value));
        }
    }

    /// One line, of a part of a histogram where `part` is not empty.
    fn part(&mut self, name: &'static str, part: &str, labels: &[(&str, &str)], value: f64) {
        let lines = self.0.entry(name).or_default();
        let _ = write!(lines, "{name}{part}");
        for (n, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(lines, "{}{label}=\"{text}\"", if n == 0 { '{' } else { ',' });
        }
        let _ = writeln!(lines, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    /// 1 for what is so of all that may be, 0 for the rest.
    fn one_of<const N: usize>(
        &mut self,
        name: &'static str,
        of: &[(&str, &str)],
        label: &str,
        all: [&str; N],
        now: &str,
    ) {
        self.each(name, of, label, all.map(|word| (word, u64::from(word == now))));
    }
}

fn host(report: &Report, out: &mut Series) {
    out.add("devgate_build_info", &[("version", &report.version)], 1.0);
    let counts = &report.registry;
    let values = [
        ("process_start_time_seconds", epoch(report.started)),
        ("devgate_policy_applied_timestamp_seconds", epoch(report.policy.since)),
        ("devgate_policy_refused", flag(report.policy.refused.is_some())),
        ("devgate_state_closed", flag(report.closed.is_some())),
        ("devgate_cache_bytes", float(counts.kept)),
        ("devgate_landlock_version", f64::from(report.landlock.version)),
    ];
    out.all(&[], values);
    for condition in Condition::ALL {
        let such = report.conditions.iter().filter(|found| found.condition == condition);
        let count = such.map(|found| found.count).sum();
        out.add("devgate_condition", &[("condition", condition.as_str())], size(count));
    }
    let pulls = [("good", counts.good), ("refused", counts.refused), ("failed", counts.failed)];
    out.each("devgate_pulls_total", &[], "result", pulls);
}

fn plugin(plugin: &PluginStatus, out: &mut Series) {
    let name = ("plugin", plugin.name.as_str());
    let states = State::ALL.map(State::as_str);
    out.one_of("devgate_plugin_state", &[name], "state", states, plugin.state.as_str());
    for resource in &plugin.resources {
        let of = ("resource", resource.name.as_str());
        for (word, is_healthy) in [("healthy", true), ("unhealthy", false)] {
            let labels = [name, of, ("health", word)];
            let such = |device: &&DeviceStatus| device.unhealthy.is_none() == is_healthy;
            let such = || resource.devices.iter().filter(such);
            let each = usize::try_from(resource.replicas).unwrap_or(usize::MAX);
            let values = [
                ("devgate_devices", such().count()),
                ("devgate_devices_held", such().filter(|device| device.held).count()),
                ("devgate_replicas", such().count().saturating_mul(each)),
                ("devgate_replicas_held", such().map(replicas_of).sum()),
            ];
            out.all(&labels, values.map(|(name, value)| (name, size(value))));
        }
    }
    if let Some(log) = &plugin.kernel_log {
        out.add("devgate_kernel_log_readable", &[name], flag(log.off.is_none()));
        out.add("devgate_kernel_log_gaps_total", &[name], float(log.gaps));
    }
    let values = [
        ("devgate_rejected", plugin.rejected_total),
        ("devgate_devices_resting", plugin.resting),
        ("devgate_component_calls_given_up_total", plugin.given_up),
        ("devgate_component_calls_hanging", plugin.hanging),
        ("devgate_runner_restarts_total", plugin.runner_restarts),
    ];
    out.all(&[name], values.map(|(name, value)| (name, float(value))));
    // All from the start: a query that counts what was added does not see a first one that comes with its series.
    let of = |end: AllocationEnd| plugin.allocations.get(&end).copied().unwrap_or_default();
    let ends = AllocationEnd::ALL.map(|end| (end.as_str(), of(end)));
    out.each("devgate_allocations_total", &[name], "result", ends);
    let of = |kind: RefusalKind| plugin.refused.get(&kind).copied().unwrap_or_default();
    let kinds = RefusalKind::ALL.map(|kind| (kind.as_str(), of(kind)));
    out.each("devgate_refusals_total", &[name], "kind", kinds);
}

/// How many replicas of a device are held.
fn replicas_of(device: &DeviceStatus) -> usize {
    let ids: BTreeSet<_> = device.holders.iter().map(|holder| &holder.id).collect();
    ids.len().max(usize::from(device.held))
}

fn calls(plugin: &PluginStatus, out: &mut Series) {
    let name = ("plugin", plugin.name.as_str());
    for call in &plugin.calls {
        let labels = [name, ("call", call.call.as_str())];
        let bad = call.failed + call.guest + call.host;
        let ends = [
            ("ok", call.count.saturating_sub(bad)),
            ("failed", call.failed),
            ("guest", call.guest),
            ("host", call.host),
        ];
        out.each("devgate_component_calls_total", &labels, "result", ends);
        durations(call, &labels, out);
        if let Some(at) = call.answered {
            out.add("devgate_component_last_success_timestamp_seconds", &labels, epoch(at));
        }
        let memory = [
            ("devgate_component_memory_bytes", float(call.memory)),
            ("devgate_component_memory_limit_bytes", float(call.memory_limit)),
        ];
        out.all(&labels, memory);
    }
    for edge in &plugin.near {
        let labels = [name, ("call", edge.call.as_str()), ("limit", edge.limit.as_str())];
        let share = float(edge.used) / float(edge.of.max(1));
        out.add("devgate_component_limit_used_ratio", &labels, share);
    }
}

/// The histogram of one kind of call.
fn durations(call: &CallStatus, labels: &[(&str, &str)], out: &mut Series) {
    let name = "devgate_component_call_duration_seconds";
    let mut bucket = |most: &str, count| {
        let labels = [labels, &[("le", most)]].concat();
        out.part(name, "_bucket", &labels, float(count));
    };
    let mut all = 0;
    for (most, count) in BUCKETS.iter().zip(&call.buckets) {
        all += count;
        bucket(&seconds(*most).to_string(), all);
    }
    bucket("+Inf", call.count);
    out.part(name, "_sum", labels, seconds(call.total_us));
    out.part(name, "_count", labels, float(call.count));
}

fn kubelet(report: &Report, out: &mut Series) {
    for resource in &report.kubelet {
        let name = [("resource", resource.resource.as_str())];
        let phases = Phase::ALL.map(Phase::as_str);
        out.one_of("devgate_kubelet_phase", &name, "phase", phases, resource.phase.as_str());
        let values = [
            ("devgate_kubelet_registered", flag(resource.phase == Phase::Registered)),
            ("devgate_kubelet_registrations_total", float(resource.registrations)),
            ("devgate_kubelet_streams", float(resource.streams)),
            ("devgate_kubelet_devices_hidden", size(resource.hidden.len())),
            ("devgate_kubelet_lists_sent_total", float(resource.lists)),
        ];
        out.all(&name, values);
    }
    // What is given by claims has its driver's.
    for resource in report.plugins.iter().flat_map(|plugin| &plugin.resources) {
        let Some(driver) = report.driver(&resource.name) else { continue };
        let name = [("resource", resource.name.as_str())];
        out.one_of("devgate_kubelet_phase", &name, "phase", Phase::ALL.map(Phase::as_str), driver.phase.as_str());
        out.all(&name, [("devgate_kubelet_registered", flag(driver.phase == devgate_dra::Phase::Registered))]);
    }
}

/// Seconds since 1970.
fn epoch(moment: When) -> f64 {
    let since = moment.0.duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

fn seconds(micros: u64) -> f64 {
    float(micros) / 1e6
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "all numbers of this format are floats; what is lost is less than one part in 2^52"
)]
pub(super) fn float(n: u64) -> f64 {
    n as f64
}

fn size(n: usize) -> f64 {
    float(u64::try_from(n).unwrap_or(u64::MAX))
}

#[cfg(test)]
pub(crate) mod tests;
