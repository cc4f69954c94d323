//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use serde_json::Value;

/// What the keys are, for a message about one that is not.
const KNOWN: &str = "known here: dfl, dfl-domain, xrt, xrt-domain, serial";

/// The whole configuration; every key has a default.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) dfl: Dfl,
    /// The domain of the resources' names.
    pub(crate) dfl_domain: String,
    pub(crate) xrt: Xrt,
    /// The domain of the resources' names.
    pub(crate) xrt_domain: String,
    /// Whether cards' serial numbers are told.
    pub(crate) serial: bool,
}

/// How FPGAs of the DFL drivers are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dfl {
    /// Each accelerator function, by what is programmed into it.
    Function,
    /// Each card with all its functions, by what may be programmed into it.
    Region,
    Off,
}

/// How FPGAs of XRT are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Xrt {
    /// The functions of one card together.
    Card,
    /// Each user function by itself.
    Function,
    Off,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            dfl: Dfl::Function,
            dfl_domain: "fpga.intel.com".to_owned(),
            xrt: Xrt::Card,
            xrt_domain: "amd.com".to_owned(),
            serial: false,
        }
    }
}

/// Parses the configuration as the host gives it; `null` is all defaults.
///
/// # Errors
/// `invalid`, naming the key and what would be right there.
pub(crate) fn parse(json: &str) -> Result<Config, Error> {
    let value = serde_json::from_str(json).map_err(|error| refused(&format!(": not JSON: {error}")))?;
    let mut config = Config::default();
    let fields = match value {
        Value::Null => return Ok(config),
        Value::Object(fields) => fields,
        _ => return Err(refused(": must be a mapping")),
    };
    for (key, value) in &fields {
        match key.as_str() {
            "dfl" => {
                config.dfl = match value.as_str() {
                    Some("af") => Dfl::Function,
                    Some("region") => Dfl::Region,
                    Some("none") => Dfl::Off,
                    _ => return Err(refused(" dfl: must be af, region or none")),
                }
            }
            "xrt" => {
                config.xrt = match value.as_str() {
                    Some("card") => Xrt::Card,
                    Some("function") => Xrt::Function,
                    Some("none") => Xrt::Off,
                    _ => return Err(refused(" xrt: must be card, function or none")),
                }
            }
            "dfl-domain" => config.dfl_domain = domain(key, value)?,
            "xrt-domain" => config.xrt_domain = domain(key, value)?,
            "serial" => {
                let switch = value.as_bool();
                config.serial = switch.ok_or_else(|| refused(" serial: must be true or false"))?;
            }
            _ => return Err(refused(&format!(": unknown key `{key}`; {KNOWN}"))),
        }
    }
    Ok(config)
}

fn refused(problem: &str) -> Error {
    Error::invalid(format!("config{problem}"))
}

/// The host says what else is wrong with a name, when it is offered.
fn domain(key: &str, value: &Value) -> Result<String, Error> {
    let text = value.as_str().filter(|text| !text.is_empty() && !text.contains('/'));
    let wrong = || refused(&format!(" {key}: must be a domain, such as vendor.com"));
    Ok(text.ok_or_else(wrong)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_has_its_default() {
        for json in ["null", "{}"] {
            assert_eq!(parse(json).unwrap(), Config::default());
        }
        let json = r#"{"dfl": "region", "dfl-domain": "a.b", "xrt": "function", "xrt-domain": "c.d", "serial": true}"#;
        let expected = Config {
            dfl: Dfl::Region,
            dfl_domain: "a.b".to_owned(),
            xrt: Xrt::Function,
            xrt_domain: "c.d".to_owned(),
            serial: true,
        };
        assert_eq!(parse(json).unwrap(), expected);
        let off = parse(r#"{"dfl": "none", "xrt": "none"}"#).unwrap();
        assert_eq!((off.dfl, off.xrt), (Dfl::Off, Xrt::Off));
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        for (json, message) in [
            ("[]", "config: must be a mapping"),
            (r#"{"dfl": "regiondevel"}"#, "config dfl: must be af, region or none"),
            (r#"{"xrt": true}"#, "config xrt: must be card, function or none"),
            (
                r#"{"xrt-domain": "amd.com/x"}"#,
                "config xrt-domain: must be a domain, such as vendor.com",
            ),
            (r#"{"serial": "yes"}"#, "config serial: must be true or false"),
            (
                r#"{"mode": "af"}"#,
                "config: unknown key `mode`; known here: dfl, dfl-domain, xrt, xrt-domain, serial",
            ),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
