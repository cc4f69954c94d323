//! smarter-device-manager's list of nodes, for the component `generic`.

use super::draft::Draft;
use super::find::Found;
use super::generic::{self, Entry};
use super::pattern;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

/// What resources are called before the `/`.
const DOMAIN: &str = "smarter-devices";
/// The most containers that may share a unit.
const MAX_REPLICAS: u32 = 4096;
/// What stands for the GPUs of a Jetson.
const JETSON: &str = "nvidia-gpu";

/// An entry of their list.
#[derive(Debug, Deserialize)]
struct Wanted {
    devicematch: String,
    #[serde(default)]
    nummaxdevices: u32,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Takes a list over.
pub(super) fn take_over(found: &Found, draft: &mut Draft) {
    let mut resources = Vec::new();
    for (n, entry) in found.value.as_array().into_iter().flatten().enumerate() {
        let at = format!("{}[{n}]", found.at);
        match Wanted::deserialize(entry) {
            Ok(wanted) => resources.extend(offered(&wanted, &format!("{at}: {}", wanted.devicematch), draft)),
            Err(why) => draft.lose(at, why),
        }
    }
    generic::offer(&found.at, resources, draft);
}

/// The resources of an entry, each with how often it is offered.
fn offered(wanted: &Wanted, at: &str, draft: &mut Draft) -> Vec<(u32, Vec<Entry>)> {
    draft.lose_unknown(at, wanted.rest.keys());
    let mut paths = Vec::new();
    match (wanted.devicematch.as_str(), wanted.nummaxdevices) {
        (JETSON, _) => draft.lose(at, "is the GPU of a Jetson, which no component offers: keep theirs there"),
        (_, 0) => draft.lose(at, "nummaxdevices 0 offers nothing"),
        (expression, _) => match patterns(expression) {
            Ok((known, why)) => {
                why.into_iter().for_each(|why| draft.lose(at, why));
                paths = known;
            }
            Err(why) => draft.lose(at, why),
        },
    }
    let replicas = wanted.nummaxdevices.clamp(1, MAX_REPLICAS);
    if wanted.nummaxdevices > MAX_REPLICAS {
        draft.lose(format!("{at}: nummaxdevices {}", wanted.nummaxdevices), format!("at most {MAX_REPLICAS}"));
    }
    paths.iter().filter_map(|path| Some((replicas, vec![entry(path, at, draft)?]))).collect()
}

/// Paths under `/dev` that an expression means, and what they leave out.
fn patterns(expression: &str) -> Result<(Vec<String>, Option<String>), &'static str> {
    let why = match pattern::from_beginning(expression) {
        Ok(patterns) => return Ok((patterns, None)),
        Err(why) => why,
    };
    let regex = Regex::new(expression).map_err(|_| why)?;
    let known: Vec<_> = generic::single_nodes().filter(|name| regex.is_match(name)).map(str::to_owned).collect();
    let only = format!("{why}; of the nodes that it may mean, these are in the policy: {}", known.join(", "));
    if known.is_empty() { Err(why) } else { Ok((known, Some(only))) }
}

fn entry(path: &str, at: &str, draft: &mut Draft) -> Option<Entry> {
    let begins = path.split(['*', '?', '[']).next().unwrap_or_default();
    let is_pattern = begins != path;
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = begins.chars().map(safe).collect();
    let name = if is_pattern { name.trim_end_matches(['-', '_']) } else { &name };
    if name.is_empty() {
        draft.lose(at, "means any node; write the names of those that are wanted");
        return None;
    }
    let resource = format!("{DOMAIN}/{name}");
    match Entry::of_path(&resource, &format!("/dev/{path}")) {
        Ok(entry) => {
            if is_pattern {
                let why = "there each node is a resource; here all of them are one, and pods ask for";
                draft.lose(at, format!("{why} {resource}; write an entry for each to keep the names"));
            }
            Some(entry)
        }
        Err(why) => {
            draft.lose(at, why);
            None
        }
    }
}

#[cfg(test)]
mod tests;
