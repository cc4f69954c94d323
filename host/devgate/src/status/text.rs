//! What people read: what is wrong first, and no more lines than a screen has where nothing is.

mod device;

use crate::monitoring::{About, Condition, Report, unpublished, unregistered};
use crate::output::{BAD, beyond, columns, count, few, program};
use clap::builder::styling::Style;
use devgate_core::status::{DeviceStatus, Edge, PluginStatus, ResourceStatus, State, When};
use devgate_device_plugin::Phase;
use devgate_dra::DriverStatus;
use std::fmt::Write;
use std::time::Duration;

/// Devices of one resource, or lines of one list, beyond which it says how many more there are.
const SHOWN: usize = 16;

/// The whole report.
pub(crate) fn of(report: &Report) -> String {
    let mut text = format!("devgate {}, up {}\n", report.version, short(report.started.ago(report.now)));
    let since = short(report.policy.since.ago(report.now));
    if let Some(refused) = &report.policy.refused {
        let _ = writeln!(
            text,
            "policy: another one is {BAD}REFUSED{BAD:#} for {}; the one of {since} ago is in force:\n  {}",
            short(refused.since.ago(report.now)),
            refused.why.replace('\n', "\n  ")
        );
    }
    for found in report.conditions.iter().filter(|found| !is_told_below(found.condition)) {
        let _ = writeln!(text, "{}: {}", found.of, found.why);
    }
    if let Some(why) = &report.landlock.why {
        let _ = writeln!(text, "landlock: {BAD}NOT{BAD:#} in force, seccomp alone fences devgate: {why}");
    }
    if !report.policy.fewer.is_empty() {
        text += &format!("policy: there were more devices before it was put in force {since} ago:\n");
    }
    let fewer = report.policy.fewer.iter().map(|fewer| format!("  {fewer}"));
    list(&mut text, fewer, "  … and", "more resources");
    let (failing, others): (Vec<_>, Vec<_>) = report.plugins.iter().partition(|plugin| fails(plugin));
    for plugin in failing.into_iter().chain(others) {
        block(&mut text, plugin, report);
    }
    match report.summary.strip_prefix("NOT ") {
        Some(how) => text += &format!("\n{BAD}NOT{BAD:#} {how}\n"),
        None => text += &format!("\n{}\n", report.summary),
    }
    if let Some(first) = report.conditions.first() {
        let _ = writeln!(text, "next: {} help {}", program(), first.condition.as_str());
    }
    text
}

const fn fails(plugin: &PluginStatus) -> bool {
    matches!(plugin.state, State::Failing | State::Quarantined)
}

/// Lines of a list, as many as a screen has room for.
fn list(text: &mut String, lines: impl ExactSizeIterator<Item = String>, and: &str, more: &str) {
    few(lines, SHOWN, |left| format!("{and} {left} {more}")).for_each(|line| *text += &(line + "\n"));
}

/// Whether the lines about the policy, its plugins and what these offer say it.
fn is_told_below(condition: Condition) -> bool {
    use Condition as C;
    match condition {
        C::AllRejected | C::NothingDescribed | C::NothingListed | C::AllocationsFail | C::ListNotSent => false,
        C::PolicyRefused => true,
        other => other.about() != About::Host,
    }
}

fn block(text: &mut String, plugin: &PluginStatus, report: &Report) {
    let now = report.now;
    let style = if fails(plugin) { BAD } else { Style::new() };
    let _ = writeln!(
        text,
        "\n{}  {style}{}{style:#} for {}",
        plugin.name,
        plugin.state.as_str(),
        short(plugin.since.ago(now))
    );
    if let Some(reason) = &plugin.reason {
        let _ = writeln!(text, "  {}", reason.replace('\n', "\n  "));
    }
    if let Some(retry) = plugin.retry_at {
        let _ = writeln!(text, "  tried again in {}", short(now.ago(retry)));
    }
    component(text, plugin);
    for resource in &plugin.resources {
        devices(text, resource, report);
    }
    labels(text, plugin);
    *text += &calls(plugin);
    if plugin.hanging > 0 {
        let hanging = count_u64(plugin.hanging, "call", "calls");
        let _ = writeln!(text, "  {BAD}HANGING{BAD:#}   {hanging} the host gave up on, and not returned");
    }
    if plugin.runner_restarts > 0 {
        let times = count_u64(plugin.runner_restarts, "time", "times");
        let _ = writeln!(text, "  runner    restarted {times}: it had ended, the log says why");
    }
    for edge in &plugin.near {
        let _ = writeln!(text, "  near      {}", near(edge, now));
    }
    kernel_log(text, plugin);
    if plugin.rejected_total > 0 {
        let _ = writeln!(text, "  rejected  {}", count_u64(plugin.rejected_total, "pool or unit", "pools and units"));
        for rejected in plugin.rejected.iter().take(SHOWN) {
            let _ = writeln!(text, "    {}: {}", rejected.what, rejected.why);
        }
    }
    for refusal in plugin.refusals.iter().rev().take(SHOWN) {
        let last = short(refusal.last.ago(now));
        let _ =
            writeln!(text, "  refused   {}x, last {last} ago: {}", refusal.times, refusal.text.replace('\n', "\n    "));
    }
}

/// Only what is wrong with it.
fn kernel_log(text: &mut String, plugin: &PluginStatus) {
    let Some(log) = &plugin.kernel_log else { return };
    if let Some(why) = &log.off {
        let _ = writeln!(text, "  kernel log  {BAD}NOT{BAD:#} read: {why}");
    }
    if log.gaps > 0 {
        let gaps = count_u64(log.gaps, "gap", "gaps");
        let _ = writeln!(text, "  kernel log  {gaps}: lines were lost before they were read");
    }
}

fn component(text: &mut String, plugin: &PluginStatus) {
    let component = &plugin.component;
    let digest = match &component.sha256 {
        Some(digest) => format!("  sha256 {}", digest.get(..12).unwrap_or(digest)),
        None => "  not loaded".to_owned(),
    };
    let pinned = if component.pinned { ", pinned" } else { ", not pinned" };
    let _ = writeln!(text, "  component {}{digest}{pinned}", component.file);
}

fn devices(text: &mut String, resource: &ResourceStatus, report: &Report) {
    let is_held = |device: &&DeviceStatus| device.held || !device.holders.is_empty();
    let held = resource.devices.iter().filter(is_held).count();
    let unhealthy = resource.devices.iter().filter(|device| device.unhealthy.is_some());
    let unhealthy = unhealthy.count();
    let replicas = match resource.replicas {
        0 | 1 => String::new(),
        n => format!(" of {n} replicas"),
    };
    let _ = writeln!(
        text,
        "  {}  {}{replicas}, {unhealthy} unhealthy, {held} handed out; {}",
        resource.name,
        count(resource.devices.len(), "device"),
        kubelet(&resource.name, report)
    );
    // What is wrong, then who has what; the rest is only counted.
    let (bad, good): (Vec<_>, Vec<_>) = resource.devices.iter().partition(|device| device::is_odd(device));
    let told: Vec<_> = bad.into_iter().chain(good.into_iter().filter(is_held)).collect();
    let rows = told.iter().take(SHOWN).map(|device| device::row(device, report.now));
    *text += &columns(4, &rows.collect::<Vec<_>>());
    if let Some(more) = beyond(told.len(), SHOWN) {
        let _ = writeln!(text, "    … and {more} more (--output json has all)");
    }
    // What the kubelet is told something else of.
    let hidden = report.registration(&resource.name).map_or(&[][..], |known| &known.hidden);
    let hidden = hidden.iter().map(|one| {
        let left = short(report.now.ago(one.until));
        format!("    {}  comes and goes: the kubelet is shown it as unhealthy for another {left}", one.id)
    });
    list(text, hidden, "    … and", "more that come and go");
}

/// What is told of the node, what is not, and whether anybody is told.
fn labels(text: &mut String, plugin: &PluginStatus) {
    let labels = &plugin.labels;
    for (name, value) in &labels.given {
        let _ = writeln!(text, "  label     {name}={value}");
    }
    for missing in &labels.missing {
        let _ = writeln!(text, "  no label  {}: {}", missing.name, missing.why);
    }
    if let Some(problem) = &labels.problem {
        let _ = writeln!(text, "  labels {BAD}NOT{BAD:#} told: {problem}");
    }
}

fn kubelet(resource: &str, report: &Report) -> String {
    if report.no_kubelet {
        return "for leases".to_owned();
    }
    if let Some(driver) = report.driver(resource) {
        return claims(driver, report);
    }
    let Some(registration) = report.registration(resource) else {
        return "the kubelet has not been told yet".to_owned();
    };
    let since = short(registration.since.ago(report.now));
    let why = registration.error.as_ref().map(|error| format!(": {error}"));
    let why = why.unwrap_or_default();
    match registration.phase {
        Phase::Registered => format!("registered for {since}"),
        Phase::Registering => format!("{BAD}NOT{BAD:#} registered for {since}{why}"),
        Phase::Refused => format!("{BAD}REFUSED{BAD:#} by the kubelet for {since}{why}"),
        Phase::Waiting => format!("waiting for the kubelet for {since}{why}"),
    }
}

/// Where a driver is with the kubelet, and what of it the cluster's scheduler knows.
fn claims(driver: &DriverStatus, report: &Report) -> String {
    let since = short(driver.since.ago(report.now));
    let registered = match (driver.phase, unregistered(driver)) {
        (_, None) => format!("registered for {since},"),
        (devgate_dra::Phase::Refused, Some(why)) => format!("{BAD}REFUSED{BAD:#} by the kubelet for {since}: {why};"),
        (_, Some(why)) => format!("{BAD}NOT{BAD:#} registered for {since}: {why};"),
    };
    let published = match (unpublished(driver, report), driver.generation) {
        (Some(why), _) => format!("{BAD}NOT{BAD:#} published: {why}"),
        (None, Some(generation)) => format!("published, generation {generation}"),
        (None, None) => "not published yet".to_owned(),
    };
    let dropped = match driver.dropped.as_slice() {
        [] => String::new(),
        dropped => format!(" (the API server does not keep {})", dropped.join(", ")),
    };
    format!("driver {} {registered} {published}{dropped}, {}", driver.driver, count(driver.claims, "claim"))
}

fn calls(plugin: &PluginStatus) -> String {
    let rows = plugin.calls.iter().map(|call| {
        let bad = call.failed + call.guest + call.host;
        [
            call.call.as_str().to_owned(),
            format!("{} calls, {bad} failed", call.count),
            format!("last {}, longest {}", micros(call.last_us), micros(call.longest_us)),
            format!("{} of {}", size(call.memory), size(call.memory_limit)),
        ]
    });
    columns(2, &rows.collect::<Vec<_>>())
}

fn near(edge: &Edge, now: When) -> String {
    let (used, of) = match edge.limit.as_str() {
        "limits.memory" | "limits.read" | "limits.transfer" => (size(edge.used), size(edge.of)),
        "limits.deadline" | "limits.cpu" => (micros(edge.used), micros(edge.of)),
        _ => (edge.used.to_string(), edge.of.to_string()),
    };
    let call = edge.call.as_str();
    format!("{}: {call} used {used} of {of}, {} ago", edge.limit, short(edge.at.ago(now)))
}

/// The two largest units of a time.
pub(crate) fn short(time: Duration) -> String {
    let s = time.as_secs();
    match s {
        0..=119 => format!("{s}s"),
        120..=7_199 => format!("{}m", s / 60),
        7_200..=172_799 => format!("{}h {}m", s / 3_600, s / 60 % 60),
        _ => format!("{}d {}h", s / 86_400, s / 3_600 % 24),
    }
}

fn micros(n: u64) -> String {
    match n {
        0..=999 => format!("{n}µs"),
        1_000..=999_999 => format!("{}.{}ms", n / 1_000, n / 100 % 10),
        _ => format!("{}.{}s", n / 1_000_000, n / 100_000 % 10),
    }
}

fn size(n: u64) -> String {
    match n {
        0..=1_048_575 => format!("{}KiB", n / 1_024),
        _ => format!("{}.{}MiB", n >> 20, ((n & 0xf_ffff) * 10) >> 20),
    }
}

fn count_u64(n: u64, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitoring::tests::one;
    use devgate_core::status::KernelLogStatus;

    /// Without colours, and called as the program is.
    fn of(report: &Report) -> String {
        crate::output::plain(&super::of(report)).replace(&program(), "devgate")
    }

    #[test]
    fn a_host_is_told_as_people_read_it() {
        insta::assert_snapshot!(of(&one()));
    }

    #[test]
    fn a_host_without_plugins_and_one_that_waits_are_told() {
        let mut report = Report { plugins: Vec::new(), kubelet: Vec::new(), ..one() };
        let nothing = of(&report.clone().judged());
        report.waits = Some("/var/lib/devgate is held by another devgate".into());
        insta::assert_snapshot!(format!("{nothing}\n{}", of(&report.judged())));
    }

    #[test]
    fn what_fails_and_what_the_kubelet_does_not_know_is_told_with_the_reason() {
        let mut report = one();
        let plugin = &mut report.plugins[0];
        plugin.state = State::Quarantined;
        plugin.reason = Some("plugin edge: health exceeded its 500ms deadline (limits.deadline)".into());
        plugin.retry_at = Some(When(report.now.0 + Duration::from_secs(40)));
        plugin.component.sha256 = None;
        plugin.near.clear();
        report.kubelet[0].phase = Phase::Registering;
        report.kubelet[0].error = Some("kubelet refused: no".into());
        report.kubelet[0].hidden.clear();
        plugin.kernel_log = Some(KernelLogStatus {
            off: Some("syslog(2) is refused; CAP_SYSLOG lets the host read it".into()),
            gaps: 0,
        });
        let mut idle = one().plugins.remove(0);
        idle.name = "gpus".into();
        idle.state = State::Idle;
        (idle.resources, idle.calls, idle.near) = (Vec::new(), Vec::new(), Vec::new());
        (idle.refusals, idle.rejected_total) = (Vec::new(), 0);
        report.plugins.push(idle);
        insta::assert_snapshot!(of(&report.judged()));
    }

    #[test]
    fn what_a_reload_took_is_told_before_the_plugins() {
        let mut report = one();
        let fewer = devgate_core::Fewer {
            resource: "example.com/gpu".into(),
            before: 8,
            now: 0,
            look: "check the selectors of plugin gpus".into(),
        };
        report.policy.fewer = vec![fewer; 20];
        let text = of(&report.judged());
        let lines: Vec<_> = text.lines().take(4).chain(text.lines().skip(18).take(2)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        devgate 0.1.0, up 60m
        policy: there were more devices before it was put in force 58m ago:
          resource example.com/gpu: 8 devices before, none now (check the selectors of plugin gpus)
          resource example.com/gpu: 8 devices before, none now (check the selectors of plugin gpus)
          … and 4 more resources
        ");
    }

    #[test]
    fn labels_are_told_with_those_that_are_not() {
        let mut report = one();
        let labels = &mut report.plugins[0].labels;
        labels.given.insert("example.com/x.count".into(), "2".into());
        labels
            .missing
            .push(devgate_policy::NoLabel { name: "example.com/x.product".into(), why: "the units differ".into() });
        labels.problem = Some("/x: another devgate keeps it".into());
        let text = of(&report.judged());
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("  ") && line.contains("label")).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
          label     example.com/x.count=2
          no label  example.com/x.product: the units differ
          labels NOT told: /x: another devgate keeps it
        ");
    }

    #[test]
    fn many_devices_fit_a_screen() {
        let mut report = one();
        let bad = report.plugins[0].resources[0].devices[1].clone();
        report.plugins[0].resources[0].devices.extend(vec![bad; 10_000]);
        let hidden = report.kubelet[0].hidden[0].clone();
        report.kubelet[0].hidden.extend(vec![hidden; 10_000]);
        let text = of(&report.judged());
        assert!(text.lines().count() < 60, "{text}");
    }
}
