//! The text of a feature file, written and read back.
//!
//! A section for each plugin, with its own time of expiry: what a plugin told before a restart stands until that time, or until the
//! plugin tells something again.

use crate::when::When;
use devgate_types::PluginName;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// The largest file: Node Feature Discovery ignores a larger one whole.
pub(super) const MAX_BYTES: usize = 64 << 10;
/// The first line of the file, and what makes it devgate's own.
pub(crate) const HEADER: &str = "# Written by devgate, and replaced when its labels change: the policy has them.\n";
/// What a plugin's section begins with.
const PLUGIN: &str = "# plugin ";
/// What says until when the lines behind it hold.
const EXPIRY: &str = "# +expiry-time=";

/// One plugin's labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) until: SystemTime,
    pub(super) labels: BTreeMap<String, String>,
}

pub(super) type Sections = BTreeMap<PluginName, Section>;

/// The file's text, and the plugins for whose labels there was no room. Empty where there are no labels.
pub(super) fn write(sections: &Sections) -> (String, Vec<&PluginName>) {
    let (mut text, mut left_out) = (HEADER.to_owned(), Vec::new());
    for (plugin, section) in sections.iter().filter(|(_, section)| !section.labels.is_empty()) {
        let mut lines = format!("{PLUGIN}{plugin}\n{EXPIRY}{}\n", When(section.until));
        for (name, value) in &section.labels {
            lines += &format!("{name}={value}\n");
        }
        if text.len() + lines.len() > MAX_BYTES {
            left_out.push(plugin);
        } else {
            text += &lines;
        }
    }
    if text.len() == HEADER.len() {
        text.clear();
    }
    (text, left_out)
}

/// What an earlier host's file says, as far as the policy in force grants it (plugin, name, value) and it has not expired. What is odd
/// is left out. No time is later than `lease` from now.
pub(super) fn read(
    text: &str,
    now: SystemTime,
    lease: Duration,
    is_granted: impl Fn(&PluginName, &str, &str) -> bool,
) -> Sections {
    let mut sections = Sections::new();
    let (mut plugin, mut until) = (None, None);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix(PLUGIN) {
            plugin = PluginName::try_new(name).ok();
            until = None;
        } else if let Some(time) = line.strip_prefix(EXPIRY) {
            until = humantime::parse_rfc3339(time).ok();
        } else if let (Some(plugin), Some(until), Some((name, value))) = (&plugin, until, line.split_once('='))
            && until > now
            && is_granted(plugin, name, value)
        {
            let until = until.min(now + lease);
            let section = sections.entry(plugin.clone()).or_insert_with(|| Section { until, labels: BTreeMap::new() });
            section.labels.insert(name.to_owned(), value.to_owned());
        }
    }
    sections
}
