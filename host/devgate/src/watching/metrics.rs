//! The report as Prometheus reads it. Labels are names of plugins and resources and words of this program. A component has no
//! say in them but where the policy's `resources` has a pattern, and then for a bounded number of names.

use super::{Report, process};
use anyhow::Context;
use devgate_kubelet::Phase;
use devgate_plugin::status::{BUCKETS, CallStatus, RefusalKind, State};
use prometheus::TextEncoder;
use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};

/// The content type of [`text`].
pub(super) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Everything, in the text format.
pub(super) fn text(report: &Report) -> anyhow::Result<String> {
    let families: Vec<_> = host(report)
        .into_iter()
        .chain(plugins(report))
        .chain(calls(report))
        .chain(kubelet(report))
        // The format has no word for a metric of which there is none.
        .filter(|family| !family.get_metric().is_empty())
        .collect();
    TextEncoder::new().encode_to_string(&families).context("encode metrics")
}

fn host(report: &Report) -> Vec<MetricFamily> {
    let started = report
        .started
        .0
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let mut build = gauge("devgate_build_info", "The version that runs; always 1.");
    add(&mut build, &[("version", &report.version)], 1.0);
    let mut start = gauge(
        "process_start_time_seconds",
        "When the host started, in seconds since 1970.",
    );
    add(&mut start, &[], started.as_secs_f64());
    let mut memory = gauge("process_resident_memory_bytes", "Resident memory of the host.");
    process::resident()
        .into_iter()
        .for_each(|bytes| add(&mut memory, &[], float(bytes)));
    let mut files = gauge("process_open_fds", "Open file descriptors of the host.");
    let open = process::descriptors().and_then(|n| u64::try_from(n).ok());
    open.into_iter().for_each(|n| add(&mut files, &[], float(n)));
    let mut processor = counter("process_cpu_seconds_total", "Processor time of the host.");
    add(&mut processor, &[], process::processor());
    let mut refused = gauge(
        "devgate_policy_refused",
        "1 while another policy is refused and the one before it is in force, else 0.",
    );
    add(&mut refused, &[], f64::from(u8::from(report.policy.refused.is_some())));
    vec![build, start, memory, files, processor, refused]
}

fn plugins(report: &Report) -> Vec<MetricFamily> {
    let mut state = gauge(
        "devgate_plugin_state",
        "1 for what a plugin is doing, 0 for everything else.",
    );
    let mut devices = gauge("devgate_devices", "Devices, replicas not counted.");
    let mut held = gauge("devgate_devices_held", "Devices that count as handed out.");
    let mut rejected = gauge(
        "devgate_rejected",
        "Pools and units that a component lists and the gate does not let through.",
    );
    let mut allocations = counter("devgate_allocations_total", "Allocations, by how they ended.");
    let mut refusals = counter(
        "devgate_refusals_total",
        "What was asked for and not given: loading a component, capabilities of the node, devices, writes.",
    );
    for plugin in &report.plugins {
        let name = ("plugin", plugin.name.as_str());
        for one in State::ALL {
            let now = if one == plugin.state { 1.0 } else { 0.0 };
            add(&mut state, &[name, ("state", one.as_str())], now);
        }
        for resource in &plugin.resources {
            let of = ("resource", resource.name.as_str());
            let unhealthy = resource
                .devices
                .iter()
                .filter(|device| device.unhealthy.is_some())
                .count();
            let healthy = resource.devices.len() - unhealthy;
            add(&mut devices, &[name, of, ("health", "healthy")], size(healthy));
            add(&mut devices, &[name, of, ("health", "unhealthy")], size(unhealthy));
            let given = resource.devices.iter().filter(|device| device.held).count();
            add(&mut held, &[name, of], size(given));
        }
        add(&mut rejected, &[name], float(plugin.rejected_total));
        for (end, count) in &plugin.allocations {
            add(&mut allocations, &[name, ("result", end.as_str())], float(*count));
        }
        for kind in RefusalKind::ALL {
            let count = plugin.refused.get(&kind).copied().unwrap_or_default();
            add(&mut refusals, &[name, ("kind", kind.as_str())], float(count));
        }
    }
    vec![state, devices, held, rejected, allocations, refusals]
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
            add(&mut memory, &[name, kind], float(call.memory));
            add(&mut limit, &[name, kind], float(call.memory_limit));
        }
        for edge in &plugin.near {
            let labels = [name, ("call", edge.call.as_str()), ("limit", edge.limit.as_str())];
            add(&mut near, &labels, float(edge.used) / float(edge.of.max(1)));
        }
    }
    vec![total, seconds, memory, limit, near]
}

fn kubelet(report: &Report) -> Vec<MetricFamily> {
    let mut registered = gauge(
        "devgate_kubelet_registered",
        "Whether a resource is registered with the kubelet.",
    );
    let mut registrations = counter(
        "devgate_kubelet_registrations_total",
        "Registrations that the kubelet took.",
    );
    let mut streams = gauge(
        "devgate_kubelet_streams",
        "Streams of device lists that the kubelet has open.",
    );
    let mut lists = counter("devgate_kubelet_lists_sent_total", "Device lists that were sent.");
    for resource in &report.kubelet {
        let name = [("resource", resource.resource.as_str())];
        let now = if resource.phase == Phase::Registered { 1.0 } else { 0.0 };
        add(&mut registered, &name, now);
        add(&mut registrations, &name, float(resource.registrations));
        add(&mut streams, &name, float(resource.streams));
        add(&mut lists, &name, float(resource.lists));
    }
    vec![registered, registrations, streams, lists]
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
