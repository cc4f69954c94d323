//! What says which very device or machine it is, by its form or by the name that it stands under.

use super::SHORTEST;
use super::pseudonyms::squashed;
use anyhow::Context;
use regex::Regex;

/// Forms by kind: the group is what is replaced. Of two at one place, the first is meant.
const FORMS: [(&str, &str); 13] = [
    ("UUIDs", r"\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"),
    // As in the NVMe qualified name of some disks.
    ("GUIDs", r"\b([0-9a-f]{12}-[0-9a-f]{4}-[0-9a-f]{16})\b"),
    // The address of an interface over InfiniBand ends with its port's id, as the second half of a GID does.
    ("GUIDs", r"\b(?:[0-9a-f]{2}:){12}((?:[0-9a-f]{2}:){7}[0-9a-f]{2})\b"),
    ("GUIDs", r"\b((?:[0-9a-f]{4}:){3}[0-9a-f]{4})\b"),
    ("GUIDs", r"\b((?:[0-9a-f]{2}-){7}[0-9a-f]{2})\b"),
    ("MAC addresses", r"\b([0-9a-f]{2}(?::[0-9a-f]{2}){5,19})\b"),
    ("MAC addresses", r"\b((?:[0-9a-f]{2}-){5}[0-9a-f]{2})\b"),
    ("MAC addresses", r"\benx([0-9a-f]{12})\b"),
    ("WWIDs", r"\b(?:eui|naa)\.([0-9a-f]{16}|[0-9a-f]{32})\b"),
    // As the kernel writes the names of SAS and Fibre Channel: the first digit is the kind of name (NAA).
    ("WWIDs", r"\b0x([1256][0-9a-f]{15})\b"),
    // Family and id, which are the directory and the name of a device on a 1-Wire bus.
    ("1-Wire ids", r"\b[0-9a-f]{2}-([0-9a-f]{12})\b"),
    // How the kernel makes the name of a disk that has none: two ids of makers, then 20 characters, then the model.
    ("serial numbers", r"nqn\.2014\.08\.org\.nvmexpress:[0-9a-f]{8}([!-~]{4,20})"),
    // Where a disk in the network is.
    ("IP addresses", r"traddr=([0-9a-f.:]+)"),
];

const KEY: &str = r"(^|[_ .-])(i?serial([_ -]?(no|num|number|nr))?|serialnumber|sn|psn|uniq|unique[_ -]?id|hive[_ -]?id|uuid|guid|wwid|wwn|wwpn|wwnn|eui|nguid|asset[_ -]?tag|machine[_ -]?id|host[_ -]?id|hostname|nodename|cid|node_desc|phys_port_id|phys_switch_id|ppid|psid_sn|[a-z]+_identifier)$|^(sas_address|port_name|node_name|fabric_name)$";

/// What is written where nothing was, and what several have: a host controller's serial number is its place.
const NOTHING: &str = r"^\W*(none|n/a|na|unknown|null|default string|not specified|not available|not applicable|to be filled by o\.e\.m\.|system serial number|empty)\W*$|^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$";

pub(super) struct Identifiers {
    forms: Regex,
    key: Regex,
    /// A key and its value.
    line: Regex,
    nothing: Regex,
    kinds: Regex,
}

impl Identifiers {
    pub(super) fn new() -> anyhow::Result<Self> {
        let compile = |text: &str| Regex::new(&format!("(?i){text}")).context("a built-in pattern");
        Ok(Self {
            forms: compile(&FORMS.map(|(_, form)| form).join("|"))?,
            key: compile(KEY)?,
            line: compile(r"^\s*([a-z][a-z0-9_ .-]*?)(?:\s*[=:]\s*(\S.*)|\s+(\S+)\s*)$")?,
            nothing: compile(NOTHING)?,
            kinds: compile("[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")?,
        })
    }

    /// UUIDs that say the kind of a device, by their digits.
    pub(super) fn public(&self, path: &str, text: &str) -> Vec<String> {
        let lines = text.lines().filter(|line| path.ends_with("/modalias") || line.starts_with("MODALIAS="));
        lines.flat_map(|line| self.kinds.find_iter(line)).map(|found| squashed(found.as_str())).collect()
    }

    /// What identifies in a text, each with its kind: what has the form of an address or id; and all of a file with the name of a
    /// key, or else the values of lines that say a key first.
    pub(super) fn own<'t>(&self, path: &str, text: &'t str) -> Vec<(&'t str, &'static str)> {
        let mut own: Vec<_> = self.forms_in(text).map(|(_, own)| own).collect();
        let name = path.rsplit('/').next().unwrap_or_default();
        if self.key.is_match(name) || (name == "id" && path.contains("/w1_bus_master")) {
            own.extend(self.value(name, text));
            return own;
        }
        for found in text.lines().filter_map(|line| self.line.captures(line)) {
            let key = found.get(1).map_or("", |key| key.as_str());
            let value = found.get(2).or(found.get(3)).filter(|_| self.key.is_match(key));
            own.extend(value.and_then(|value| self.value(key, value.as_str())));
        }
        own
    }

    /// What has a form, but for what identifies nothing: zeros and masks. With where it ends.
    fn forms_in<'t>(&self, text: &'t str) -> impl Iterator<Item = (usize, (&'t str, &'static str))> {
        self.forms.captures_iter(text).filter_map(|found| {
            let (group, (kind, _)) = found.iter().skip(1).zip(FORMS).find_map(|(group, form)| Some((group?, form)))?;
            let is_open = squashed(group.as_str()).bytes().skip(6).all(|b| b == b'0');
            (self.is_own(group.as_str()) && !is_open).then_some((group.end(), (group.as_str(), kind)))
        })
    }

    fn value<'t>(&self, key: &str, value: &'t str) -> Option<(&'t str, &'static str)> {
        let value = value.trim_matches(|c: char| c.is_whitespace() || c == '"' || c == '\0');
        let value = value.strip_prefix("0x").unwrap_or(value);
        // What is an address or id but for `uuid:` or `GPU-` is found by its form.
        let has_form = self.forms_in(value).any(|(end, (form, _))| {
            let before = value.strip_suffix(form).filter(|_| end == value.len());
            before.is_some_and(|before| before.len() <= 8 && !before.contains(|c: char| c.is_ascii_digit()))
        });
        let kind = if key.to_ascii_lowercase().contains("serial") { "serial numbers" } else { "ids" };
        (!has_form && self.is_own(value) && value.lines().count() == 1).then_some((value, kind))
    }

    fn is_own(&self, text: &str) -> bool {
        let text_alone = squashed(text);
        let is_one = text_alone.chars().all(|c| text_alone.starts_with(c));
        !is_one && text_alone.len() >= SHORTEST && !self.nothing.is_match(text)
    }
}
