//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use serde_json::Value;

/// The whole configuration; every key has a default.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) naming: Naming,
    /// The most uncorrectable memory errors that a healthy GPU may have had.
    pub(crate) uncorrectable_errors: u64,
    /// The most pages of memory that a healthy GPU may have lost to errors; nothing does not look.
    pub(crate) bad_pages: Option<u64>,
    /// Whether a GPU that KFD does not list counts as well, for graphics and video.
    pub(crate) graphics: bool,
}

/// Which resource a part is offered as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// `amd.com/gpu`, whatever it is.
    Single,
    /// By its mode, such as `amd.com/cpx_nps4`.
    Mixed,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            naming: Naming::Single,
            uncorrectable_errors: 0,
            bad_pages: None,
            graphics: false,
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
            "naming" => {
                config.naming = match value.as_str() {
                    Some("single") => Naming::Single,
                    Some("mixed") => Naming::Mixed,
                    _ => return Err(refused(" naming: must be single or mixed")),
                }
            }
            "uncorrectable-errors" => config.uncorrectable_errors = number()?,
            "bad-pages" => config.bad_pages = Some(number()?),
            "graphics" => {
                let switch = value.as_bool();
                config.graphics = switch.ok_or_else(|| refused(" graphics: must be true or false"))?;
            }
            _ => {
                let known = "known here: naming, uncorrectable-errors, bad-pages, graphics";
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
    fn nothing_is_all_defaults() {
        assert_eq!(parse("null").unwrap(), Config::default());
        assert_eq!(parse("{}").unwrap(), Config::default());
    }

    #[test]
    fn every_key_is_understood() {
        let json = r#"{"naming": "mixed", "uncorrectable-errors": 2, "bad-pages": 64, "graphics": true}"#;
        let expected = Config {
            naming: Naming::Mixed,
            uncorrectable_errors: 2,
            bad_pages: Some(64),
            graphics: true,
        };
        assert_eq!(parse(json).unwrap(), expected);
        assert_eq!(parse(r#"{"naming": "single"}"#).unwrap(), Config::default());
    }

    #[test]
    fn mistakes_are_named() {
        for (json, message) in [
            ("[]", "config: must be a mapping"),
            (r#"{"naming": "both"}"#, "config naming: must be single or mixed"),
            (
                r#"{"bad-pages": -1}"#,
                "config bad-pages: must be a whole number, 0 or more",
            ),
            (r#"{"graphics": "yes"}"#, "config graphics: must be true or false"),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
        let unknown = parse(r#"{"names": "mixed"}"#).unwrap_err().message;
        assert!(
            unknown.starts_with("config: unknown key `names`; known here: naming,"),
            "{unknown}"
        );
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
