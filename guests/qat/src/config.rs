//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use devgate_sdk::fields::Fields;

/// The whole configuration; every key has a default.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    /// How many addresses a container is told, in `QAT0` and so on.
    pub(crate) variables: u64,
    /// Whether a fatal error of a physical function counts against its virtual ones.
    pub(crate) fatal_errors: bool,
}

/// Parses the configuration as the host gives it; `null` is all defaults.
///
/// # Errors
/// `invalid`, naming the key and what would be right there.
pub(crate) fn parse(json: &str) -> Result<Config, Error> {
    let mut fields = Fields::parse(json)?;
    let config = Config {
        variables: fields.number("variables")?.unwrap_or_default(),
        fatal_errors: fields.choice("fatal-errors", &[("watch", true), ("ignore", false)])?.unwrap_or(true),
    };
    fields.end()?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_has_its_default() {
        assert_eq!(parse("null").unwrap(), Config { variables: 0, fatal_errors: true });
        let config = parse(r#"{"variables": 4, "fatal-errors": "ignore"}"#).unwrap();
        assert_eq!(config, Config { variables: 4, fatal_errors: false });
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        for (json, message) in [
            ("[]", "config: must be a mapping, is a list"),
            (r#"{"variables": "all"}"#, "config variables: must be a whole number, 0 or more, is text"),
            (r#"{"fatal-errors": true}"#, "config fatal-errors: must be watch or ignore, is true or false"),
            (
                r#"{"dpdk-driver": "vfio-pci"}"#,
                "config: unknown key `dpdk-driver`; known here: variables, fatal-errors",
            ),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
    }
}
