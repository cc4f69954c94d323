//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use devgate_sdk::fields::{Field, Fields};

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
    let mut fields = Fields::parse(json)?;
    let monitoring = [("none", Monitoring::None), ("cards", Monitoring::Cards), ("all", Monitoring::All)];
    let config = Config {
        allow: fields.take("allow").map(ids).transpose()?.unwrap_or_default(),
        deny: fields.take("deny").map(ids).transpose()?.unwrap_or_default(),
        monitoring: fields.choice("monitoring", &monitoring)?.unwrap_or_default(),
        strict: fields.switch("strict")?.unwrap_or(false),
    };
    fields.end()?;
    Ok(config)
}

/// Four hexadecimal digits each, as the kernel writes them. A part of an id is none: `56c` would be several.
fn ids(list: Field) -> Result<Vec<String>, Error> {
    let id = |field: Field| {
        let text = field.text()?.to_ascii_lowercase();
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        if digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(format!("0x{digits}"));
        }
        Err(field.refused("must be a PCI device id, such as \"0x56c0\""))
    };
    list.list()?.into_iter().map(id).collect()
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
        assert_eq!(parse(r#"{"monitoring": "cards"}"#).unwrap().monitoring, Monitoring::Cards);
    }

    #[test]
    fn mistakes_are_named() {
        for (json, message) in [
            ("1", "config: must be a mapping, is a number"),
            (r#"{"allow": "0x56c0"}"#, "config allow: must be a list, is text"),
            (r#"{"allow": []}"#, "config allow: must not be empty"),
            (r#"{"deny": ["0x4680", "0x56c"]}"#, "config deny[1]: must be a PCI device id, such as \"0x56c0\""),
            (r#"{"deny": [22208]}"#, "config deny[0]: must be text in quotes, is a number"),
            (r#"{"monitoring": true}"#, "config monitoring: must be none, cards or all, is true or false"),
            (r#"{"strict": 1}"#, "config strict: must be true or false, is a number"),
            (r#"{"allow-ids": []}"#, "config: unknown key `allow-ids`; known here: allow, deny, monitoring, strict"),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
    }
}
