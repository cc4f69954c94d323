//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use devgate_sdk::fields::Fields;

/// The whole configuration; every key has a default.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Config {
    /// What whole accelerators on vfio are offered as; none are without it.
    pub(crate) vfio: Option<String>,
    /// How many addresses of those a container is told, in `VFIO_BDF0` and so on.
    pub(crate) variables: u64,
}

impl Config {
    /// Whether a resource is the one of accelerators on vfio.
    pub(crate) fn is_vfio(&self, resource: &str) -> bool {
        self.vfio.as_deref() == Some(resource)
    }
}

/// Parses the configuration as the host gives it; `null` is all defaults.
///
/// # Errors
/// `invalid`, naming the key and what would be right there.
pub(crate) fn parse(json: &str) -> Result<Config, Error> {
    let mut fields = Fields::parse(json)?;
    let (vfio, variables) = (fields.resource("vfio")?, fields.number("variables")?);
    fields.end()?;
    if variables.is_some() && vfio.is_none() {
        return Err(Error::invalid("config variables: are of accelerators on vfio, and `vfio` names no resource"));
    }
    Ok(Config { vfio, variables: variables.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_need_be_said() {
        assert_eq!(parse("null").unwrap(), Config::default());
        let config = parse(r#"{"vfio": "dsa.intel.com/vfio", "variables": 2}"#).unwrap();
        assert!(config.is_vfio("dsa.intel.com/vfio") && !config.is_vfio("dsa.intel.com/wq-user-shared"));
        assert_eq!(config.variables, 2);
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        for (json, message) in [
            ("[]", "config: must be a mapping, is a list"),
            (
                r#"{"vfio": true}"#,
                "config vfio: must be a resource's name, such as vendor.com/device, is true or false",
            ),
            (r#"{"variables": 0}"#, "config variables: are of accelerators on vfio, and `vfio` names no resource"),
            (r#"{"shared-dev-num": 4}"#, "config: unknown key `shared-dev-num`; known here: vfio, variables"),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
    }
}
