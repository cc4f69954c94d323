//! Names under which something stands that is of one very device.

use anyhow::Context;
use regex::Regex;

/// What is written where nothing was.
const NOTHING: [&str; 12] = [
    "none",
    "n/a",
    "na",
    "unknown",
    "null",
    "default string",
    "not specified",
    "not available",
    "not applicable",
    "to be filled by o.e.m.",
    "system serial number",
    "empty",
];

pub(super) struct Keys {
    key: Regex,
    line: Regex,
    place: Regex,
}

impl Keys {
    pub(super) fn new() -> anyhow::Result<Self> {
        let key = r"(?i)(^|[_ .-])(i?serial([_ -]?(no|num|number|nr))?|serialnumber|sn|psn|uniq|unique[_ -]?id|hive[_ -]?id|uuid|guid|wwid|wwn|wwpn|wwnn|eui|nguid|asset[_ -]?tag|machine[_ -]?id|host[_ -]?id|hostname|nodename|cid|node_desc|phys_port_id|phys_switch_id|ppid|psid_sn)$";
        let compile = |text: &str| Regex::new(text).context("a built-in pattern");
        Ok(Self {
            key: compile(key)?,
            line: compile(
                r"^\s*(?:([A-Za-z][A-Za-z0-9_ .-]*?)\s*[=:]\s*(\S.*)|([A-Za-z][A-Za-z0-9_.-]*)\s+(\S+)\s*)$",
            )?,
            place: compile(r"^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$")?,
        })
    }

    /// The values in a file that are one's own, each with its kind: all of it, or of lines that say a key first.
    pub(super) fn own(&self, name: &str, content: &str) -> Vec<(String, &'static str)> {
        if self.key.is_match(name) {
            return self.value(name, content).into_iter().collect();
        }
        let said = content.lines().filter_map(|line| {
            let found = self.line.captures(line)?;
            let (key, value) = (
                found.get(1).or(found.get(3))?.as_str(),
                found.get(2).or(found.get(4))?.as_str(),
            );
            self.key.is_match(key).then(|| self.value(key, value)).flatten()
        });
        said.collect()
    }

    fn value(&self, key: &str, value: &str) -> Option<(String, &'static str)> {
        let value = value.trim_matches(|c: char| c.is_whitespace() || c == '"' || c == '\0');
        let digits: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
        let first = digits.chars().next()?;
        let plain = value
            .trim_matches(|c: char| !c.is_alphanumeric() && c != '.')
            .to_ascii_lowercase();
        let nothing = NOTHING.contains(&&*plain) || digits.chars().all(|c| c == first);
        // What several have: a host controller's serial number is its place.
        if nothing || digits.len() < super::SHORTEST || self.place.is_match(value) || value.lines().count() > 1 {
            return None;
        }
        let kind = if key.to_ascii_lowercase().contains("serial") {
            "serial numbers"
        } else {
            "ids"
        };
        Some((value.to_owned(), kind))
    }
}
