//! Where in a file configurations are: as the file itself, or in it at any depth, as a ConfigMap, a chart's values, a custom resource
//! or a DaemonSet's arguments have them.

use super::draft::Draft;
use super::nvidia::given;
use crate::cli::Peer;
use regex::Regex;
use serde_json::{Map, Value, json};
use serde_saphyr::{MessageFormatter, UserMessageFormatter};

/// Words of which one is in every configuration: a text with one that cannot be read is one that is lost.
const MARKS: [&str; 7] =
    ["resourceList", "configList", "timeSlicing", "migStrategy", "groups:", "devicematch", "udevRules"];
/// The deepest that is looked: a file, a ConfigMap in a list, a configuration in it.
const MAX_DEPTH: usize = 64;

/// Something that a plugin is told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) what: What,
    /// The file and the keys that lead to it.
    pub(super) at: String,
    /// Under which key a text is that it was read from, where it is in one.
    pub(super) key: Option<String>,
    pub(super) value: Value,
}

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Of the generic plugin's flags `domain` and `devices` are made, as its file has them.
    Config(Peer),
    /// Arguments of the SR-IOV plugin, which say what its file does not.
    SriovFlags,
    /// Variables, arguments or a chart's values of NVIDIA's plugin, as `flags` of its file.
    NvidiaFlags,
}

impl What {
    pub(super) fn is_of(self, peer: Peer) -> bool {
        match self {
            Self::Config(of) => of == peer,
            Self::SriovFlags => peer == Peer::Sriov,
            Self::NvidiaFlags => peer == Peer::Nvidia,
        }
    }
}

/// All that is in a file.
///
/// # Errors
/// Where the file is neither YAML nor JSON.
pub(super) fn in_file(name: &str, text: &str, draft: &mut Draft) -> Result<Vec<Found>, String> {
    let mut search = Search { found: Vec::new(), draft };
    for document in documents(text)? {
        search.walk(&document, name, None, 0);
    }
    Ok(search.found)
}

/// A text's documents. JSON may be indented by tabs, which YAML may not.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    if let Ok(json) = serde_json::from_str(text) {
        return Ok(vec![json]);
    }
    // What Go reads as an alias that is a key (`*app:`) is an alias with a colon in its name since YAML 1.2.
    let spaced = Regex::new(r"(?m)^([ \t]*\*[\w-]+):").map_err(|error| error.to_string())?.replace_all(text, "$1 :");
    serde_saphyr::from_multiple(&spaced).map_err(|error| {
        let line = error.location().map_or(0, |at| at.line());
        format!("line {line}: cannot be read as YAML: {}", UserMessageFormatter.format_message(error.without_snippet()))
    })
}

struct Search<'a> {
    found: Vec<Found>,
    draft: &'a mut Draft,
}

impl Search<'_> {
    fn walk(&mut self, value: &Value, at: &str, key: Option<&str>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Object(map) if given::is_of_another(map) => {}
            Value::Object(map) => match of_map(map) {
                Some(peer) => self.add(What::Config(peer), at, key, value.clone()),
                None => {
                    given::by_values(map).into_iter().for_each(|given| self.add(What::NvidiaFlags, at, key, given));
                    map.iter().for_each(|(name, value)| self.walk(value, &format!("{at}: {name}"), key, depth + 1));
                }
            },
            Value::Array(list) if is_smarters(list) => self.add(What::Config(Peer::Smarter), at, key, value.clone()),
            Value::Array(list) => {
                given::by_variables(list).into_iter().for_each(|given| self.add(What::NvidiaFlags, at, key, given));
                let of_program = self.flags(list, at, key);
                let items = list.iter().enumerate().filter(|_| !of_program);
                items.for_each(|(n, value)| self.walk(value, &format!("{at}[{n}]"), key, depth + 1));
            }
            Value::String(text) if text.contains(['\n', '{']) => match documents(text) {
                Ok(parts) => {
                    let key = at.rsplit(": ").next();
                    let parts = parts.iter().filter(|part| !part.is_string());
                    parts.for_each(|part| self.walk(part, at, key, depth + 1));
                }
                Err(why) if MARKS.iter().any(|mark| text.contains(mark)) => self.draft.lose(at, why),
                Err(_) => {}
            },
            _ => {}
        }
    }

    fn add(&mut self, what: What, at: &str, key: Option<&str>, value: Value) {
        let key = key.map(str::to_owned);
        self.found.push(Found { what, at: at.to_owned(), key, value: without_nothing(value) });
    }

    /// Takes a program's arguments, if they are any plugin's.
    fn flags(&mut self, list: &[Value], at: &str, key: Option<&str>) -> bool {
        let words: Vec<_> = list.iter().filter_map(Value::as_str).collect();
        let named: Vec<_> = flags(&words).collect();
        let values = |name: &'static str| named.iter().filter(move |(flag, _)| *flag == name).map(|(_, value)| *value);
        let mut devices = Vec::new();
        for text in values("device") {
            match documents(text) {
                Ok(parts) => devices.extend(parts.into_iter().filter(Value::is_object)),
                Err(why) => self.draft.lose(format!("{at}: --device {text}"), why),
            }
        }
        let is_generic = !devices.is_empty();
        if is_generic {
            let domain = values("domain").next_back();
            self.add(What::Config(Peer::Generic), at, key, json!({"domain": domain, "devices": devices}));
        }
        let is_sriov = values("resource-prefix").next().is_some() || values("use-cdi").next().is_some();
        if is_sriov {
            let prefix = values("resource-prefix").next_back();
            let cdi = values("use-cdi").any(|value| value != "false");
            self.add(What::SriovFlags, at, key, json!({"prefix": prefix, "cdi": cdi}));
        }
        let of_nvidia = given::by_flags(named.iter().copied());
        let is_nvidia = of_nvidia.is_some();
        of_nvidia.into_iter().for_each(|given| self.add(What::NvidiaFlags, at, key, given));
        is_generic || is_sriov || is_nvidia
    }
}

/// Without keys that have no value: to Go they are not there.
fn without_nothing(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let said = map.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(said.map(|(key, value)| (key, without_nothing(value))).collect())
        }
        Value::Array(list) => list.into_iter().map(without_nothing).collect(),
        other => other,
    }
}

/// Flags and their values, as Go's programs take them: `-a=b`, `--a b`.
fn flags<'a>(words: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    words.iter().enumerate().filter_map(|(n, word)| {
        let flag = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
        Some(flag.split_once('=').unwrap_or_else(|| {
            let next = words.get(n + 1).filter(|next| !next.starts_with('-'));
            (flag, next.copied().unwrap_or_default())
        }))
    })
}

/// Whether each entry names nodes by an expression.
fn is_smarters(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(|entry| entry.get("devicematch").is_some())
}

/// Whether it is an object of Akri's, or what its chart makes one of.
fn is_akris(map: &Map<String, Value>) -> bool {
    let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default();
    let has_rules =
        map.get("discoveryDetails").and_then(|details| details.get("udevRules")).is_some_and(Value::is_array);
    (text("kind") == "Configuration" && text("apiVersion").starts_with("akri.sh/")) || has_rules
}

/// Whose configuration a mapping is.
fn of_map(map: &Map<String, Value>) -> Option<Peer> {
    let list = |key: &str| map.get(key).and_then(Value::as_array);
    let has = |key: &str, part: &str| map.get(key).and_then(|value| value.get(part)).is_some();
    if list("resourceList").is_some() {
        return Some(Peer::Sriov);
    }
    if list("configList").is_some() {
        return Some(Peer::RdmaShared);
    }
    if is_akris(map) {
        return Some(Peer::Akri);
    }
    let devices = list("devices").or_else(|| list("device"));
    if devices.is_some_and(|devices| devices.iter().any(|device| device.get("groups").is_some())) {
        return Some(Peer::Generic);
    }
    let is_versioned = map.get("version").is_some_and(|version| version == "v1");
    let is_known = ["flags", "sharing", "imex"].iter().any(|key| map.contains_key(*key)) || has("resources", "gpus");
    let is_shared = has("sharing", "timeSlicing") || has("sharing", "mps") || has("flags", "migStrategy");
    ((is_versioned && is_known) || is_shared).then_some(Peer::Nvidia)
}
