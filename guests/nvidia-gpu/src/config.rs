//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use serde_json::Value;

/// The whole configuration; every key has a default.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) ids: Ids,
    /// The most fatal PCIe errors since boot that a healthy GPU may have.
    pub(crate) fatal_errors: u64,
    /// The fewest lanes that a healthy GPU's link may have; 0 does not look.
    pub(crate) link_width: u64,
    /// Whether containers get `/dev/nvidia-modeset`, for graphics.
    pub(crate) modeset: bool,
}

/// What the id of a GPU is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// The GPU's own, which stays with it in whatever slot it is.
    Uuid,
    /// Its PCI address, which stays with the slot whatever GPU is in it.
    Pci,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ids: Ids::Uuid,
            fatal_errors: 0,
            link_width: 0,
            modeset: false,
        }
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
            _ => {
                let known = "known here: ids, fatal-errors, link-width, modeset";
                return Err(refused(&format!(": unknown key `{key}`; {known}")));
            }
        }
    }
    Ok(config)
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
        };
        assert_eq!(parse("null").unwrap(), defaults);
        assert_eq!(parse("{}").unwrap(), defaults);
        let all = parse(r#"{"ids": "pci", "fatal-errors": 2, "link-width": 16, "modeset": true}"#).unwrap();
        let expected = Config {
            ids: Ids::Pci,
            fatal_errors: 2,
            link_width: 16,
            modeset: true,
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
                r#"{"xid": {}}"#,
                "config: unknown key `xid`; known here: ids, fatal-errors, link-width, modeset",
            ),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
