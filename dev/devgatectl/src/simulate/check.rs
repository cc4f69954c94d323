//! Whether what a step expects holds, and what is there instead.

use super::scenario::{Amount, Expect, LogLine, Resource};
use crate::stage::Line;
use devgate::monitoring::Report;
use devgate::output::count;
use devgate_fake_kubelet::StandIn;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

mod choice;
mod container;
mod status;
#[cfg(test)]
mod tests;

pub(super) use container::Started;

/// How many ids are shown before a list says how many more there are.
const SHOWN: usize = 16;

/// One thing that is not as expected.
#[derive(Debug, Serialize)]
pub(super) struct Mismatch {
    pub(super) what: String,
    pub(super) expected: String,
    pub(super) found: String,
}

impl Mismatch {
    pub(super) fn new(what: impl Into<String>, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { what: what.into(), expected: expected.into(), found: found.into() }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, expected, found } = self;
        write!(f, "{what}: expected {expected}, found {found}")
    }
}

/// Where expectations look.
pub(super) struct Seen<'a> {
    pub(super) kubelet: &'a StandIn,
    /// What the host says of itself, where it answers.
    pub(super) host: Option<&'a Report>,
    pub(super) started: &'a [Started],
    /// The host's log since something happened last.
    pub(super) log: &'a [Line],
}

/// Everything that does not hold; nothing where all does.
pub(super) async fn check(expect: &Expect, seen: &Seen<'_>) -> Vec<Mismatch> {
    let mut wrong = Vec::new();
    for (name, resource) in &expect.devices {
        devices(name, resource, seen.kubelet, &mut wrong);
    }
    for (id, text) in &expect.reasons {
        reason(id, text, seen.host, &mut wrong);
    }
    if let Some(pod) = &expect.pod {
        container::look(pod, seen.started, &mut wrong);
    }
    status::check(expect, seen.host, &mut wrong);
    for line in &expect.log {
        logged(line, seen.log, &mut wrong);
    }
    if let Some(choice) = &expect.choice {
        choice::check(choice, seen.kubelet, &mut wrong).await;
    }
    wrong
}

fn devices(name: &str, expected: &Resource, kubelet: &StandIn, wrong: &mut Vec<Mismatch>) {
    let devices = kubelet.devices(name);
    // What its plugin has left is not there any more once the kubelet says 0.
    let gone = kubelet.capacity(name).is_none_or(|capacity| capacity == 0);
    let of = |healthy: bool| -> BTreeSet<String> {
        let those = devices.iter().filter(|(_, (is, _))| !gone && *is == healthy);
        those.map(|(id, _)| id.clone()).collect()
    };
    for (word, healthy, amount) in [("healthy", true, &expected.healthy), ("unhealthy", false, &expected.unhealthy)] {
        let Some(amount) = amount else { continue };
        let there = of(healthy);
        if !amount.holds(&there) {
            let found = match kubelet.capacity(name) {
                None => "no such resource: nothing was registered under this name".to_owned(),
                Some(_) => ids(&there),
            };
            wrong.push(Mismatch::new(format!("{name} {word}"), amount.to_string(), found));
        }
    }
    for (id, nodes) in &expected.numa {
        let there = devices.get(id).filter(|_| !gone).map(|(_, there)| there);
        if there != Some(nodes) {
            let list = |nodes: &BTreeSet<i64>| list(nodes.iter().map(ToString::to_string), " ");
            let found = there.map_or("no such device".to_owned(), list);
            wrong.push(Mismatch::new(format!("{name} NUMA nodes of {id}"), list(nodes), found));
        }
    }
}

fn logged(expected: &LogLine, log: &[Line], wrong: &mut Vec<Mismatch>) {
    let LogLine { text, plugin, level } = expected;
    let holds = |line: &Line| {
        line.message.contains(text.as_str())
            && plugin.as_ref().is_none_or(|plugin| *plugin == line.plugin)
            && level.as_ref().is_none_or(|level| *level == line.level)
    };
    if log.iter().any(holds) {
        return;
    }
    let mut what = "log".to_owned();
    what.extend(plugin.iter().map(|plugin| format!(" of {plugin}")));
    what.extend(level.iter().map(|level| format!(" at {level}")));
    let found = format!("{} without it", count(log.len(), "line"));
    let wanted = format!("a line with \"{text}\" since something happened last");
    wrong.push(Mismatch::new(what, wanted, found));
}

fn reason(pattern: &str, text: &str, host: Option<&Report>, wrong: &mut Vec<Mismatch>) {
    let plugins = host.into_iter().flat_map(|host| &host.plugins);
    let devices = plugins.flat_map(|plugin| &plugin.resources).flat_map(|resource| &resource.devices);
    let devices: Vec<_> = devices.filter(|device| matches(pattern, &device.id)).collect();
    let reasons: BTreeSet<_> = devices.iter().filter_map(|device| device.unhealthy.as_ref()).collect();
    if reasons.iter().any(|reason| reason.contains(text)) {
        return;
    }
    let found = match (host, devices.is_empty(), reasons.is_empty()) {
        (None, ..) => "a host that does not answer".to_owned(),
        (_, true, _) => "no such device".to_owned(),
        (_, _, true) => "a healthy device".to_owned(),
        _ => list(reasons.iter().map(|reason| format!("\"{reason}\"")), ", "),
    };
    let what = format!("{pattern} reason");
    wrong.push(Mismatch::new(what, format!("\"{text}\" in it"), found));
}

impl Amount {
    /// Whether exactly these are as many, or as the patterns say.
    pub(super) fn holds(&self, there: &BTreeSet<String>) -> bool {
        match self {
            Self::Count(count) => there.len() == *count,
            Self::These(patterns) => covers(patterns, there),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(0) => f.write_str("none"),
            Self::Count(count) => write!(f, "{count}"),
            Self::These(list) => write!(f, "{}", list.join(" ")),
        }
    }
}

/// Whether each pattern matches one or more, and each of what is there matches a pattern.
fn covers(patterns: &[String], there: &BTreeSet<String>) -> bool {
    let is_there = |pattern: &String| there.iter().any(|id| matches(pattern, id));
    let is_known = |id: &String| patterns.iter().any(|pattern| matches(pattern, id));
    patterns.iter().all(is_there) && there.iter().all(is_known)
}

/// How many, and which.
fn ids(ids: &BTreeSet<String>) -> String {
    let shown = list(ids.iter().take(SHOWN), " ");
    match (ids.len(), ids.len().saturating_sub(SHOWN)) {
        (0, _) => shown,
        (all, 0) => format!("{all}: {shown}"),
        (all, more) => format!("{all}: {shown} and {more} more"),
    }
}

fn list<T: AsRef<str>>(items: impl IntoIterator<Item = T>, between: &str) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.as_ref().to_owned()).collect();
    match items.as_slice() {
        [] => "none".to_owned(),
        items => items.join(between),
    }
}

/// Whether a text matches a pattern, in which `*` stands for any text.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = rest.split('*').collect();
    let Some((last, middle)) = parts.split_last() else {
        return true;
    };
    for part in middle {
        // The first place leaves the most for the others.
        match text.split_once(part) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    text.ends_with(last)
}
