//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use crate::xid::Action;
use devgate_sdk::Error;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

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
    /// Whether GPUs of NVIDIA's driver are offered, whole or in parts.
    pub(crate) gpus: bool,
    /// What instances of GPUs in MIG mode are offered as; they are not looked for where there is nothing.
    pub(crate) mig: Option<String>,
    /// What GPUs that are bound to vfio are offered as; they are not where there is nothing.
    pub(crate) vfio: Option<String>,
    /// The CDI specification that names GPUs and instances, if there is one.
    pub(crate) cdi_spec: Option<String>,
    /// What Xids ask for, where the admin knows better than the catalogue.
    pub(crate) xid: BTreeMap<u32, Action>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ids: Ids::default(),
            fatal_errors: 0,
            link_width: 0,
            modeset: false,
            gpus: true,
            mig: None,
            vfio: None,
            cdi_spec: None,
            xid: BTreeMap::new(),
        }
    }
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
            "modeset" | "gpus" => {
                let switch = value.as_bool();
                let switch = switch.ok_or_else(|| refused(&format!(" {key}: must be true or false")))?;
                match key.as_str() {
                    "gpus" => config.gpus = switch,
                    _ => config.modeset = switch,
                }
            }
            "mig" | "vfio" | "cdi-spec" => {
                let text = value.as_str().filter(|text| text.contains('/'));
                let what = if key == "cdi-spec" {
                    "an absolute path"
                } else {
                    "a resource's name"
                };
                let text = text.ok_or_else(|| refused(&format!(" {key}: must be {what}")))?;
                let into = match key.as_str() {
                    "mig" => &mut config.mig,
                    "vfio" => &mut config.vfio,
                    _ => &mut config.cdi_spec,
                };
                *into = Some(text.to_owned());
            }
            "xid" => {
                let words = value.as_object().ok_or_else(|| refused(" xid: must be a mapping"))?;
                config.xid = xids(words).map_err(|problem| refused(&problem))?;
            }
            _ => {
                let known = "known here: ids, fatal-errors, link-width, modeset, gpus, mig, vfio, cdi-spec, xid";
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
            gpus: true,
            mig: None,
            vfio: None,
            cdi_spec: None,
            xid: BTreeMap::new(),
        };
        assert_eq!(parse("null").unwrap(), defaults);
        assert_eq!(parse("{}").unwrap(), defaults);
        let json = r#"{"ids": "pci", "fatal-errors": 2, "link-width": 16, "modeset": true,
            "gpus": false, "mig": "nvidia.com/mig", "vfio": "nvidia.com/vfio", "cdi-spec": "/var/run/cdi/nvidia.yaml", "xid": {"94": "ignore", "13": "reset"}}"#;
        let all = parse(json).unwrap();
        let expected = Config {
            ids: Ids::Pci,
            fatal_errors: 2,
            link_width: 16,
            modeset: true,
            gpus: false,
            mig: Some("nvidia.com/mig".to_owned()),
            vfio: Some("nvidia.com/vfio".to_owned()),
            cdi_spec: Some("/var/run/cdi/nvidia.yaml".to_owned()),
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
                "config: unknown key `xids`; known here: ids, fatal-errors, link-width, modeset, gpus, mig, vfio, cdi-spec, xid",
            ),
            (r#"{"mig": true}"#, "config mig: must be a resource's name"),
            (r#"{"vfio": "gpu"}"#, "config vfio: must be a resource's name"),
            (r#"{"cdi-spec": 1}"#, "config cdi-spec: must be an absolute path"),
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
