//! Names under which something stands that is of one very device.

use anyhow::Context;
use regex::Regex;

/// What is written where nothing was.
const NOTHING: &str = "none|n/a|na|unknown|null|default string|not specified|not available|not applicable|\
                       to be filled by o.e.m.|system serial number|empty";

pub(super) struct Keys {
    key: Regex,
    line: Regex,
    place: Regex,
    /// Serial numbers within other texts.
    within: Regex,
}

impl Keys {
    pub(super) fn new() -> anyhow::Result<Self> {
        let key = r"(?i)(^|[_ .-])(i?serial([_ -]?(no|num|number|nr))?|serialnumber|sn|psn|uniq|unique[_ -]?id|hive[_ -]?id|uuid|guid|wwid|wwn|wwpn|wwnn|eui|nguid|asset[_ -]?tag|machine[_ -]?id|host[_ -]?id|hostname|nodename|cid|node_desc|phys_port_id|phys_switch_id|ppid|psid_sn|[a-z]+_identifier|slave_id)$|^(sas_address|port_name|node_name|fabric_name)$";
        let compile = |text: &str| Regex::new(text).context("a built-in pattern");
        Ok(Self {
            key: compile(key)?,
            line: compile(
                r"^\s*(?:([A-Za-z][A-Za-z0-9_ .-]*?)\s*[=:]\s*(\S.*)|([A-Za-z][A-Za-z0-9_.-]*)\s+(\S+)\s*)$",
            )?,
            place: compile(r"^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$")?,
            // How the kernel makes the name of a disk that has none: two ids of makers, then 20 characters, then the model.
            within: compile(r"nqn\.2014\.08\.org\.nvmexpress:[0-9a-f]{8}([!-~]{4,20})")?,
        })
    }

    /// The values in a file that are one's own, each with its kind: all of it, or of lines that say a key first.
    pub(super) fn own(&self, path: &str, content: &str) -> Vec<(String, &'static str)> {
        let name = path.rsplit('/').next().unwrap_or_default();
        if self.key.is_match(name) || (name == "id" && path.contains("/w1_bus_master")) {
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
        let within = self.within.captures_iter(content).filter_map(|found| found.get(1));
        let within = within.filter_map(|found| self.value("serial", found.as_str()));
        said.chain(within).collect()
    }

    fn value(&self, key: &str, value: &str) -> Option<(String, &'static str)> {
        let value = value.trim_matches(|c: char| c.is_whitespace() || c == '"' || c == '\0');
        let digits: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
        let first = digits.chars().next()?;
        let plain = value
            .trim_matches(|c: char| !c.is_alphanumeric() && c != '.')
            .to_ascii_lowercase();
        let nothing = NOTHING.split('|').any(|nothing| nothing == plain) || digits.chars().all(|c| c == first);
        // What several have: a host controller's serial number is its place.
        if nothing || digits.len() < super::SHORTEST || self.place.is_match(value) || value.lines().count() > 1 {
            return None;
        }
        // The kernel writes a 1-Wire id of 12 digits with 24, and with 12 elsewhere.
        let value = match key.to_ascii_lowercase().ends_with("slave_id") {
            true => value.get(value.len().saturating_sub(12)..).unwrap_or(value),
            false => value,
        };
        let serial = key.to_ascii_lowercase().contains("serial");
        Some((value.to_owned(), if serial { "serial numbers" } else { "ids" }))
    }
}
