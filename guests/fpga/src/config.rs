//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use devgate_sdk::fields::Fields;

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
    let mut fields = Fields::parse(json)?;
    let default = Config::default();
    let dfl = [("af", Dfl::Function), ("region", Dfl::Region), ("none", Dfl::Off)];
    let xrt = [("card", Xrt::Card), ("function", Xrt::Function), ("none", Xrt::Off)];
    let config = Config {
        dfl: fields.choice("dfl", &dfl)?.unwrap_or(default.dfl),
        dfl_domain: domain(&mut fields, "dfl-domain")?.unwrap_or(default.dfl_domain),
        xrt: fields.choice("xrt", &xrt)?.unwrap_or(default.xrt),
        xrt_domain: domain(&mut fields, "xrt-domain")?.unwrap_or(default.xrt_domain),
        serial: fields.switch("serial")?.unwrap_or(default.serial),
    };
    fields.end()?;
    Ok(config)
}

/// The host says what else is wrong with a name, when it is offered.
fn domain(fields: &mut Fields, key: &str) -> Result<Option<String>, Error> {
    let Some(field) = fields.take(key) else {
        return Ok(None);
    };
    let domain = field.text()?;
    if domain.is_empty() || domain.contains('/') {
        return Err(field.refused("must be a domain, such as vendor.com"));
    }
    Ok(Some(domain.to_owned()))
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
            ("[]", "config: must be a mapping, is a list"),
            (r#"{"dfl": "regiondevel"}"#, "config dfl: must be af, region or none"),
            (r#"{"xrt": true}"#, "config xrt: must be card, function or none, is true or false"),
            (r#"{"xrt-domain": "amd.com/x"}"#, "config xrt-domain: must be a domain, such as vendor.com"),
            (r#"{"serial": "yes"}"#, "config serial: must be true or false, is text"),
            (r#"{"mode": "af"}"#, "config: unknown key `mode`; known here: dfl, dfl-domain, xrt, xrt-domain, serial"),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
