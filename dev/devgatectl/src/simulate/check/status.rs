//! What the host says of itself, of which a part is expected.

use super::{Mismatch, matches};
use crate::simulate::scenario::Expect;
use crate::simulate::text::cut;
use devgate::monitoring::Report;
use devgate_policy::yaml::{Node, Value};
use serde_json::Value as Json;

/// The longest value that is shown, in characters.
const SHOWN: usize = 400;

pub(super) fn check(expect: &Expect, host: Option<&Report>, wrong: &mut Vec<Mismatch>) {
    if expect.plugins.is_empty() && expect.status.is_none() {
        return;
    }
    let Some(Ok(status)) = host.map(serde_json::to_value) else {
        wrong.push(Mismatch::new("status", "an answer", "a host that does not answer"));
        return;
    };
    for (name, expected) in &expect.plugins {
        let plugins = status.get("plugins").and_then(Json::as_array).into_iter().flatten();
        let mut named = plugins.filter(|plugin| plugin.get("name").and_then(Json::as_str) == Some(name));
        match (named.next(), &expected.value) {
            (None, _) => wrong.push(Mismatch::new(format!("plugin {name}"), "to be there", "no such plugin")),
            // Only its state.
            (Some(plugin), Value::Text(_)) => {
                let state = plugin.get("state").unwrap_or(&Json::Null);
                let before = wrong.len();
                part(expected, state, &format!("plugin {name} state"), wrong);
                if let (Some(mismatch), Some(reason)) =
                    (wrong.get_mut(before), plugin.get("reason").and_then(Json::as_str))
                {
                    mismatch.found = format!("{}: {reason}", mismatch.found);
                }
            }
            (Some(plugin), _) => part(expected, plugin, &format!("plugin {name}"), wrong),
        }
    }
    if let Some(expected) = &expect.status {
        part(expected, &status, "status", wrong);
    }
}

/// Whether `expected` is a part of what is found: of a mapping some keys, of a list some entries, of text a pattern.
fn part(expected: &Node, found: &Json, what: &str, wrong: &mut Vec<Mismatch>) {
    let holds = match (&expected.value, found) {
        (Value::Map(map), Json::Object(there)) => {
            for (key, value) in map {
                let found = there.get(&key.text).unwrap_or(&Json::Null);
                part(value, found, &format!("{what} {}", key.text), wrong);
            }
            return;
        }
        (Value::List(list), Json::Array(there)) => {
            for expected in list {
                let is = |found: &Json| {
                    let mut wrong = Vec::new();
                    part(expected, found, "", &mut wrong);
                    wrong.is_empty()
                };
                if !there.iter().any(is) {
                    let wanted = format!("{} among them", shown(&expected.to_json()));
                    wrong.push(Mismatch::new(what, wanted, shown(found)));
                }
            }
            return;
        }
        (Value::Text(pattern), Json::String(text)) => matches(pattern, text),
        (_, found) => expected.to_json() == *found,
    };
    if !holds {
        wrong.push(Mismatch::new(what, shown(&expected.to_json()), shown(found)));
    }
}

fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => cut(text, SHOWN),
        Json::Null => "nothing".to_owned(),
        other => cut(&other.to_string(), SHOWN),
    }
}
