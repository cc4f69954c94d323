//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use serde_json::Value;

/// The whole configuration; every key has a default.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Config {
    /// PCI device ids as the kernel writes them (`0x56c0`). Empty: all that `deny` does not have.
    allow: Vec<String>,
    deny: Vec<String>,
    pub(crate) monitoring: Monitoring,
    /// Whether a GPU whose driver warns of it is unhealthy.
    pub(crate) strict: bool,
}

/// What the unit for monitoring has.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Monitoring {
    /// It is not offered.
    #[default]
    None,
    /// The nodes `cardN` of all GPUs, which the policy marks shared.
    Cards,
    /// All nodes of all GPUs, which takes `shares-hardware`.
    All,
}

impl Config {
    /// Whether GPUs of this PCI device id are offered.
    pub(crate) fn wants(&self, id: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|known| known == id);
        !listed(&self.deny) && (self.allow.is_empty() || listed(&self.allow))
    }
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
        let list = || {
            ids(value).ok_or_else(|| refused(&format!(" {key}: must be a list of PCI device ids such as \"0x56c0\"")))
        };
        match key.as_str() {
            "allow" => config.allow = list()?,
            "deny" => config.deny = list()?,
            "monitoring" => {
                config.monitoring = match value.as_str() {
                    Some("none") => Monitoring::None,
                    Some("cards") => Monitoring::Cards,
                    Some("all") => Monitoring::All,
                    _ => return Err(refused(" monitoring: must be none, cards or all")),
                }
            }
            "strict" => {
                config.strict = value
                    .as_bool()
                    .ok_or_else(|| refused(" strict: must be true or false"))?
            }
            _ => {
                let known = "known here: allow, deny, monitoring, strict";
                return Err(refused(&format!(": unknown key `{key}`; {known}")));
            }
        }
    }
    Ok(config)
}

/// Four hexadecimal digits each, as the kernel writes them. A part of an id is none: `56c` would be several.
fn ids(value: &Value) -> Option<Vec<String>> {
    let id = |value: &Value| {
        let text = value.as_str()?.to_ascii_lowercase();
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        let whole = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        whole.then(|| format!("0x{digits}"))
    };
    let ids: Option<Vec<String>> = value.as_array()?.iter().map(id).collect();
    ids.filter(|ids| !ids.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_all_defaults() {
        assert_eq!(parse("null").unwrap(), Config::default());
        assert!(Config::default().wants("0x56c0"));
    }

    #[test]
    fn ids_are_exact() {
        let config = parse(r#"{"allow": ["0x56C0", "56c1"], "deny": ["0x56c1"]}"#).unwrap();
        assert!(config.wants("0x56c0"));
        for other in ["0x56c1", "0x56c", "0x6c05", "", "0xe20b"] {
            assert!(!config.wants(other), "{other}");
        }
        let config = parse(r#"{"deny": ["0x4680"]}"#).unwrap();
        assert!(config.wants("0x56c0") && !config.wants("0x4680"));
    }

    #[test]
    fn every_key_is_understood() {
        let config = parse(r#"{"monitoring": "all", "strict": true}"#).unwrap();
        assert_eq!((config.monitoring, config.strict), (Monitoring::All, true));
        assert_eq!(
            parse(r#"{"monitoring": "cards"}"#).unwrap().monitoring,
            Monitoring::Cards
        );
    }

    #[test]
    fn mistakes_are_named() {
        let ids = "must be a list of PCI device ids such as \"0x56c0\"";
        for (json, message) in [
            ("1", "config: must be a mapping".to_owned()),
            (r#"{"allow": "0x56c0"}"#, format!("config allow: {ids}")),
            (r#"{"allow": []}"#, format!("config allow: {ids}")),
            (r#"{"deny": ["0x56c"]}"#, format!("config deny: {ids}")),
            (r#"{"deny": [22208]}"#, format!("config deny: {ids}")),
            (
                r#"{"monitoring": true}"#,
                "config monitoring: must be none, cards or all".to_owned(),
            ),
            (r#"{"strict": 1}"#, "config strict: must be true or false".to_owned()),
            (
                r#"{"allow-ids": []}"#,
                "config: unknown key `allow-ids`; known here: allow, deny, monitoring, strict".to_owned(),
            ),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
    }
}
