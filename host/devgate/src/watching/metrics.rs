//! The report as Prometheus reads it. Labels are names of plugins and resources and words of this program. A component has no
//! say in them but where the policy's `resources` has a pattern, and then for a bounded number of names.

use super::process::Usage;
use super::{Condition, Report};
use anyhow::Context;
use devgate_core::status::{AllocationEnd, BUCKETS, CallStatus, DeviceStatus, RefusalKind, State, When};
use devgate_device_plugin::Phase;
use prometheus::TextEncoder;
use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};
use std::collections::BTreeSet;

/// The content type of [`text`].
pub(super) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Everything, in the text format, with what the process uses.
pub(super) fn text(report: &Report, usage: &Usage) -> anyhow::Result<String> {
    let families: Vec<_> = host(report)
        .into_iter()
        .chain(process(report, usage))
        .chain(plugins(report))
        .chain(calls(report))
        .chain(kubelet(report))
        .chain(registry(report))
        // The format has no word for a metric of which there is none.
        .filter(|family| !family.get_metric().is_empty())
        .collect();
    TextEncoder::new().encode_to_string(&families).context("encode metrics")
}

fn host(report: &Report) -> Vec<MetricFamily> {
    let mut build = gauge("devgate_build_info", "The version that runs; always 1.");
    add(&mut build, &[("version", &report.version)], 1.0);
    let mut applied = gauge(
        "devgate_policy_applied_timestamp_seconds",
        "Since when the policy that is in force is, in seconds since 1970.",
    );
    add(&mut applied, &[], epoch(report.policy.since));
    let mut refused = gauge(
        "devgate_policy_refused",
        "1 while another policy is refused and the one before it is in force, else 0.",
    );
    add(&mut refused, &[], f64::from(u8::from(report.policy.refused.is_some())));
    let mut closed = gauge(
        "devgate_state_closed",
        "1 while no device is given that no pod has, because it is not known what pods have or cannot be recorded what they get, else 0.",
    );
    add(&mut closed, &[], f64::from(u8::from(report.closed.is_some())));
    let mut conditions = gauge(
        "devgate_condition",
        "How many plugins, devices or resources are in a condition that somebody should look at; of the host itself 1 or 0.",
    );
    for condition in Condition::ALL {
        let such = report.conditions.iter().filter(|found| found.condition == condition);
        let count = such.map(|found| found.count).sum();
        add(&mut conditions, &[("condition", condition.as_str())], size(count));
    }
    vec![build, applied, refused, closed, conditions]
}

/// Under the names that all of Prometheus' own libraries use, where there is one.
fn process(report: &Report, usage: &Usage) -> Vec<MetricFamily> {
    let one = |mut family, value: Option<f64>| {
        value.into_iter().for_each(|value| add(&mut family, &[], value));
        family
    };
    vec![
        one(
            gauge(
                "process_start_time_seconds",
                "When the host started, in seconds since 1970.",
            ),
            Some(epoch(report.started)),
        ),
        one(
            gauge("process_resident_memory_bytes", "Resident memory of the host."),
            usage.resident.map(float),
        ),
        one(
            gauge(
                "devgate_memory_limit_bytes",
                "The memory that the container or service of the host may use.",
            ),
            usage.memory_limit.map(float),
        ),
        one(
            gauge("process_open_fds", "Open file descriptors of the host."),
            usage.descriptors.map(float),
        ),
        one(
            gauge("process_max_fds", "The file descriptors that the host may have open."),
            usage.most_descriptors.map(float),
        ),
        one(
            counter("process_cpu_seconds_total", "Processor time of the host."),
            Some(usage.processor),
        ),
    ]
}

fn registry(report: &Report) -> [MetricFamily; 2] {
    let counts = &report.registry;
    let mut pulls = counter("devgate_pulls_total", "Pulls of components, by how they ended.");
    for (result, count) in [
        ("good", counts.good),
        ("refused", counts.refused),
        ("failed", counts.failed),
    ] {
        add(&mut pulls, &[("result", result)], float(count));
    }
    let mut kept = gauge("devgate_cache_bytes", "What is kept of components from registries.");
    add(&mut kept, &[], float(counts.kept));
    [pulls, kept]
}

fn plugins(report: &Report) -> Vec<MetricFamily> {
    let mut state = gauge(
        "devgate_plugin_state",
        "1 for what a plugin is doing, 0 for everything else.",
    );
    let mut devices = gauge("devgate_devices", "Devices, replicas not counted.");
    let mut held = gauge("devgate_devices_held", "Devices that count as handed out.");
    let mut replicas = gauge(
        "devgate_replicas",
        "What the kubelet counts: each device as many times as the policy has replicas.",
    );
    let mut replicas_held = gauge(
        "devgate_replicas_held",
        "Those of them that containers have, as far as the kubelet tells; of a device that counts as handed out, one at least.",
    );
    let mut rejected = gauge(
        "devgate_rejected",
        "Pools and units that a component lists and the gate does not let through.",
    );
    let mut allocations = counter("devgate_allocations_total", "Allocations, by how they ended.");
    let mut refusals = counter(
        "devgate_refusals_total",
        "What was asked for and not given: loading a component, capabilities of the node, devices, writes.",
    );
    let mut resting = gauge(
        "devgate_devices_resting",
        "Devices that are not given for a while, because calls about them keep failing.",
    );
    let mut given_up = counter(
        "devgate_component_calls_given_up_total",
        "Calls of a component that did not return in time, and that the host gave up on.",
    );
    let mut hanging = gauge(
        "devgate_component_calls_hanging",
        "Those of them that have not returned yet.",
    );
    let mut readable = gauge(
        "devgate_kernel_log_readable",
        "Whether a plugin that is granted lines of the kernel's log hears of them.",
    );
    let mut gaps = counter(
        "devgate_kernel_log_gaps_total",
        "How many times lines of the kernel's log were lost before they were read.",
    );
    for plugin in &report.plugins {
        let name = ("plugin", plugin.name.as_str());
        for one in State::ALL {
            let now = if one == plugin.state { 1.0 } else { 0.0 };
            add(&mut state, &[name, ("state", one.as_str())], now);
        }
        for resource in &plugin.resources {
            let of = ("resource", resource.name.as_str());
            for (word, is_healthy) in [("healthy", true), ("unhealthy", false)] {
                let labels = [name, of, ("health", word)];
                let such = || {
                    let such = |device: &&DeviceStatus| device.unhealthy.is_none() == is_healthy;
                    resource.devices.iter().filter(such)
                };
                add(&mut devices, &labels, size(such().count()));
                add(&mut held, &labels, size(such().filter(|device| device.held).count()));
                let each = usize::try_from(resource.replicas).unwrap_or(usize::MAX);
                add(&mut replicas, &labels, size(such().count().saturating_mul(each)));
                add(&mut replicas_held, &labels, size(such().map(replicas_of).sum()));
            }
        }
        if let Some(log) = &plugin.kernel_log {
            add(&mut readable, &[name], f64::from(u8::from(log.off.is_none())));
            add(&mut gaps, &[name], float(log.gaps));
        }
        add(&mut rejected, &[name], float(plugin.rejected_total));
        add(&mut resting, &[name], float(plugin.resting));
        add(&mut given_up, &[name], float(plugin.given_up));
        add(&mut hanging, &[name], float(plugin.hanging));
        // All from the start: whoever counts what was added does not see a first one that comes with its series.
        for end in AllocationEnd::ALL {
            let count = plugin.allocations.get(&end).copied().unwrap_or_default();
            add(&mut allocations, &[name, ("result", end.as_str())], float(count));
        }
        for kind in RefusalKind::ALL {
            let count = plugin.refused.get(&kind).copied().unwrap_or_default();
            add(&mut refusals, &[name, ("kind", kind.as_str())], float(count));
        }
    }
    vec![
        state,
        devices,
        held,
        replicas,
        replicas_held,
        rejected,
        allocations,
        refusals,
        resting,
        given_up,
        hanging,
        readable,
        gaps,
    ]
}

/// How many replicas of a device are held.
fn replicas_of(device: &DeviceStatus) -> usize {
    let ids: BTreeSet<_> = device.holders.iter().map(|holder| &holder.id).collect();
    ids.len().max(usize::from(device.held))
}

fn calls(report: &Report) -> Vec<MetricFamily> {
    let mut total = counter(
        "devgate_component_calls_total",
        "Calls of a component, by how they ended.",
    );
    let mut seconds = family(
        "devgate_component_call_duration_seconds",
        "How long calls of a component took, with the wait for the node.",
        MetricType::HISTOGRAM,
    );
    let mut answered = gauge(
        "devgate_component_last_success_timestamp_seconds",
        "When a component answered such a call the last time, in seconds since 1970.",
    );
    let mut memory = gauge(
        "devgate_component_memory_bytes",
        "The most memory that a call of this kind has used.",
    );
    let mut limit = gauge(
        "devgate_component_memory_limit_bytes",
        "The memory that a call may use.",
    );
    let mut near = gauge(
        "devgate_component_limit_used_ratio",
        "The share of a limit that a call used, where that was more than four fifths within the last hour.",
    );
    for plugin in &report.plugins {
        let name = ("plugin", plugin.name.as_str());
        for call in &plugin.calls {
            let kind = ("call", call.call.as_str());
            let bad = call.failed + call.guest + call.host;
            let ends = [
                ("ok", call.count.saturating_sub(bad)),
                ("failed", call.failed),
                ("guest", call.guest),
                ("host", call.host),
            ];
            for (end, count) in ends {
                add(&mut total, &[name, kind, ("result", end)], float(count));
            }
            let mut metric = labelled(&[name, kind]);
            metric.set_histogram(histogram(call));
            seconds.mut_metric().push(metric);
            call.answered
                .into_iter()
                .for_each(|at| add(&mut answered, &[name, kind], epoch(at)));
            add(&mut memory, &[name, kind], float(call.memory));
            add(&mut limit, &[name, kind], float(call.memory_limit));
        }
        for edge in &plugin.near {
            let labels = [name, ("call", edge.call.as_str()), ("limit", edge.limit.as_str())];
            add(&mut near, &labels, float(edge.used) / float(edge.of.max(1)));
        }
    }
    vec![total, seconds, answered, memory, limit, near]
}

fn kubelet(report: &Report) -> Vec<MetricFamily> {
    let mut registered = gauge(
        "devgate_kubelet_registered",
        "Whether a resource is registered with the kubelet.",
    );
    let mut phase = gauge(
        "devgate_kubelet_phase",
        "1 for where a resource is with the kubelet, 0 for everything else.",
    );
    let mut registrations = counter(
        "devgate_kubelet_registrations_total",
        "Registrations that the kubelet took.",
    );
    let mut streams = gauge(
        "devgate_kubelet_streams",
        "Streams of device lists that the kubelet has open.",
    );
    let mut hidden = gauge(
        "devgate_kubelet_devices_hidden",
        "Ids that are healthy and shown to the kubelet as unhealthy, because they come and go.",
    );
    let mut lists = counter("devgate_kubelet_lists_sent_total", "Device lists that were sent.");
    for resource in &report.kubelet {
        let name = [("resource", resource.resource.as_str())];
        let now = if resource.phase == Phase::Registered { 1.0 } else { 0.0 };
        add(&mut registered, &name, now);
        for one in Phase::ALL {
            let now = if one == resource.phase { 1.0 } else { 0.0 };
            add(&mut phase, &[name, [("phase", one.as_str())]].concat(), now);
        }
        add(&mut registrations, &name, float(resource.registrations));
        add(&mut streams, &name, float(resource.streams));
        add(&mut hidden, &name, size(resource.hidden.len()));
        add(&mut lists, &name, float(resource.lists));
    }
    vec![registered, phase, registrations, streams, hidden, lists]
}

fn histogram(call: &CallStatus) -> Histogram {
    let mut histogram = Histogram::default();
    histogram.set_sample_count(call.count);
    histogram.set_sample_sum(seconds(call.total_us));
    let mut all = 0;
    let mut buckets = Vec::with_capacity(BUCKETS.len());
    for (most, count) in BUCKETS.iter().zip(&call.buckets) {
        all += count;
        let mut bucket = Bucket::default();
        bucket.set_cumulative_count(all);
        bucket.set_upper_bound(seconds(*most));
        buckets.push(bucket);
    }
    histogram.set_bucket(buckets);
    histogram
}

/// Seconds since 1970.
fn epoch(moment: When) -> f64 {
    let since = moment.0.duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

fn seconds(micros: u64) -> f64 {
    float(micros) / 1e6
}

#[expect(
    clippy::cast_precision_loss,
    reason = "all numbers of this format are floats; what is lost is less than one part in 2^52"
)]
fn float(n: u64) -> f64 {
    n as f64
}

fn size(n: usize) -> f64 {
    float(u64::try_from(n).unwrap_or(u64::MAX))
}

fn gauge(name: &str, help: &str) -> MetricFamily {
    family(name, help, MetricType::GAUGE)
}

fn counter(name: &str, help: &str) -> MetricFamily {
    family(name, help, MetricType::COUNTER)
}

fn family(name: &str, help: &str, kind: MetricType) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family
}

fn labelled(labels: &[(&str, &str)]) -> Metric {
    let label = |(name, value): &(&str, &str)| {
        let mut label = LabelPair::default();
        label.set_name((*name).to_owned());
        label.set_value((*value).to_owned());
        label
    };
    let mut metric = Metric::default();
    metric.set_label(labels.iter().map(label).collect());
    metric
}

/// One more value of a family of counters or gauges.
fn add(family: &mut MetricFamily, labels: &[(&str, &str)], value: f64) {
    let mut metric = labelled(labels);
    if family.get_field_type() == MetricType::COUNTER {
        let mut counter = Counter::default();
        counter.set_value(value);
        metric.set_counter(counter);
    } else {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        metric.set_gauge(gauge);
    }
    family.mut_metric().push(metric);
}

#[cfg(test)]
pub(crate) mod tests;
