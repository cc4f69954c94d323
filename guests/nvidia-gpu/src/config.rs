//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use crate::xid::Action;
use devgate_sdk::Error;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The whole configuration; every key has a default.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Config {
    pub(crate) ids: Ids,
    /// The most fatal PCIe errors since boot that a healthy GPU may have.
    pub(crate) fatal_errors: u64,
    /// The fewest lanes that a healthy GPU's link may have; 0 does not look.
    pub(crate) link_width: u64,
    /// Whether containers get `/dev/nvidia-modeset`, for graphics.
    pub(crate) modeset: bool,
    /// What Xids ask for, where the admin knows better than the catalogue.
    pub(crate) xid: BTreeMap<u32, Action>,
}

/// What the id of a GPU is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ids {
    /// The GPU's own, which stays with it in whatever slot it is.
    #[default]
    Uuid,
    /// Its PCI address, which stays with the slot whatever GPU is in it.
    Pci,
}

/// Parses the configuration as the host gives it; `null` is all defaults.
///
/// # Errors
/// `invalid`, naming the key and what would be right there.
pub(crate) fn parse(json: &str) -> Result<Config, Error> {
    let refused = |problem: &str| Error::invalid(format!("config{problem}"));
    let value = serde_json::from_str(json).map_err(|error| refused(&format!(": not JSON: {error}")))?;
    let mut config = Config::default();
    let fields = match value {
        Value::Null => return Ok(config),
        Value::Object(fields) => fields,
        _ => return Err(refused(": must be a mapping")),
    };
    for (key, value) in &fields {
        let number = || {
            let number = value.as_u64();
            number.ok_or_else(|| refused(&format!(" {key}: must be a whole number, 0 or more")))
        };
        match key.as_str() {
            "ids" => {
                config.ids = match value.as_str() {
                    Some("uuid") => Ids::Uuid,
                    Some("pci") => Ids::Pci,
                    _ => return Err(refused(" ids: must be uuid or pci")),
                }
            }
            "fatal-errors" => config.fatal_errors = number()?,
            "link-width" => {
                config.link_width = number()?;
                if config.link_width > 32 {
                    return Err(refused(" link-width: must be at most 32"));
                }
            }
            "modeset" => {
                let switch = value.as_bool();
                config.modeset = switch.ok_or_else(|| refused(" modeset: must be true or false"))?;
            }
            "xid" => {
                let words = value.as_object().ok_or_else(|| refused(" xid: must be a mapping"))?;
                config.xid = xids(words).map_err(|problem| refused(&problem))?;
            }
            _ => {
                let known = "known here: ids, fatal-errors, link-width, modeset, xid";
                return Err(refused(&format!(": unknown key `{key}`; {known}")));
            }
        }
    }
    Ok(config)
}

/// The admin's words for codes.
fn xids(words: &Map<String, Value>) -> Result<BTreeMap<u32, Action>, String> {
    let word = |(code, word): (&String, &Value)| {
        let number = code
            .parse()
            .ok()
            .filter(|number: &u32| number.to_string() == *code && *number < 1_000);
        let number = number.ok_or_else(|| format!(" xid: `{code}` must be a code, such as \"94\""))?;
        let action = word.as_str().and_then(Action::from_word);
        let action = action.ok_or_else(|| format!(" xid {code}: must be ignore, restart-app, reset or restart"))?;
        Ok((number, action))
    };
    words.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_has_its_default() {
        let defaults = Config {
            ids: Ids::Uuid,
            fatal_errors: 0,
            link_width: 0,
            modeset: false,
            xid: BTreeMap::new(),
        };
        assert_eq!(parse("null").unwrap(), defaults);
        assert_eq!(parse("{}").unwrap(), defaults);
        let json = r#"{"ids": "pci", "fatal-errors": 2, "link-width": 16, "modeset": true, "xid": {"94": "ignore", "13": "reset"}}"#;
        let all = parse(json).unwrap();
        let expected = Config {
            ids: Ids::Pci,
            fatal_errors: 2,
            link_width: 16,
            modeset: true,
            xid: BTreeMap::from([(94, Action::Ignore), (13, Action::Reset)]),
        };
        assert_eq!(all, expected);
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        for (json, message) in [
            ("[]", "config: must be a mapping"),
            (r#"{"ids": "index"}"#, "config ids: must be uuid or pci"),
            (
                r#"{"fatal-errors": -1}"#,
                "config fatal-errors: must be a whole number, 0 or more",
            ),
            (
                r#"{"link-width": "16"}"#,
                "config link-width: must be a whole number, 0 or more",
            ),
            (r#"{"link-width": 33}"#, "config link-width: must be at most 32"),
            (r#"{"modeset": 1}"#, "config modeset: must be true or false"),
            (
                r#"{"xids": {}}"#,
                "config: unknown key `xids`; known here: ids, fatal-errors, link-width, modeset, xid",
            ),
            (r#"{"xid": ["94"]}"#, "config xid: must be a mapping"),
            (
                r#"{"xid": {"094": "ignore"}}"#,
                "config xid: `094` must be a code, such as \"94\"",
            ),
            (
                r#"{"xid": {"all": "ignore"}}"#,
                "config xid: `all` must be a code, such as \"94\"",
            ),
            (
                r#"{"xid": {"94": "Ignore"}}"#,
                "config xid 94: must be ignore, restart-app, reset or restart",
            ),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
