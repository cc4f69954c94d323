//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use crate::drivers;
use devgate_sdk::Error;
use devgate_sdk::fields::Fields;

/// The whole configuration; every key has a default.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Config {
    /// By driver, what its devices are offered as.
    resources: Vec<(String, String)>,
    /// The most errors that are not corrected which a healthy device may have had; without it they are not looked at.
    pub(crate) uncorrectable_errors: Option<u64>,
}

impl Config {
    /// What devices of a driver are offered as; nothing for a driver that nobody named.
    pub(crate) fn resource(&self, driver: &str) -> Option<&str> {
        let known = || drivers::of(driver).map(|driver| driver.resource);
        let named = self.resources.iter().find(|(name, _)| name == driver);
        named.map(|(_, resource)| resource.as_str()).or_else(known)
    }
}

/// Parses the configuration as the host gives it; `null` is all defaults.
///
/// # Errors
/// `invalid`, naming the key and what would be right there.
pub(crate) fn parse(json: &str) -> Result<Config, Error> {
    let mut fields = Fields::parse(json)?;
    let mut config = Config::default();
    if let Some(resources) = fields.take("resources") {
        for (driver, name) in resources.entries()? {
            config.resources.push((driver, name.resource()?.to_owned()));
        }
    }
    config.uncorrectable_errors = fields.number("uncorrectable-errors")?;
    fields.end()?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_have_names_by_themselves_and_by_configuration() {
        let config = parse("null").unwrap();
        assert_eq!((config.resource("intel_vpu"), config.resource("acme_npu")), (Some("npu.intel.com/accel"), None));
        let config = parse(r#"{"resources": {"intel_vpu": "example.com/npu", "acme_npu": "acme.com/npu"}}"#).unwrap();
        assert_eq!(config.resource("intel_vpu"), Some("example.com/npu"));
        assert_eq!(
            (config.resource("acme_npu"), config.resource("qaic")),
            (Some("acme.com/npu"), Some("qualcomm.com/qaic"))
        );
    }

    #[test]
    fn mistakes_are_named() {
        let name = "must be a resource's name, such as vendor.com/device";
        for (json, message) in [
            ("[]", "config: must be a mapping, is a list".to_owned()),
            (r#"{"resources": []}"#, "config resources: must be a mapping, is a list".to_owned()),
            (r#"{"resources": {"qaic": "npu"}}"#, format!("config resources.qaic: {name}")),
            (r#"{"resources": {"qaic": 1}}"#, format!("config resources.qaic: {name}, is a number")),
            (
                r#"{"uncorrectable-errors": "0"}"#,
                "config uncorrectable-errors: must be a whole number, 0 or more, is text".to_owned(),
            ),
            (
                r#"{"resource": 1}"#,
                "config: unknown key `resource`; known here: resources, uncorrectable-errors".to_owned(),
            ),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
    }
}
