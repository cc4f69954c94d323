//! The last line of `devgate status`, which the service manager and the page have as well.

use super::{About, ActiveCondition, resources};
use crate::monitoring::Report;
use crate::output::count;

/// How all is, in one line.
pub(crate) fn of(report: &Report) -> String {
    let plugins = report.plugins.len();
    let listed = report.plugins.iter().flat_map(|plugin| &plugin.resources);
    let devices: usize = listed.map(|resource| resource.devices.len()).sum();
    let resources = resources(report).len();
    if report.conditions.is_empty() && plugins == 0 {
        return "all is well: the policy has no plugin, so nothing is served".to_owned();
    }
    if report.conditions.is_empty() {
        return format!(
            "all is well: {}, {}, {}",
            count(plugins, "plugin"),
            count(devices, "device"),
            count(resources, "resource")
        );
    }
    let same = report.conditions.chunk_by(|a, b| a.condition == b.condition);
    let parts = same.filter_map(|same| {
        let (_, about, _, says) = same.first()?.condition.facts();
        let n: usize = same.iter().map(|found: &ActiveCondition| found.count).sum();
        let part = |all, what| format!("{n} of {} {says}", count(all, what));
        Some(match about {
            About::Host => says.to_owned(),
            About::Plugin => part(plugins, "plugin"),
            About::Device => part(devices, "device"),
            About::Resource => part(resources, "resource"),
        })
    });
    format!("NOT well: {}", parts.collect::<Vec<_>>().join("; "))
}
