//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use crate::xid::{self, Action};
use devgate_sdk::Error;
use devgate_sdk::fields::{Field, Fields};
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
    let mut fields = Fields::parse(json)?;
    let default = Config::default();
    let ids = [("uuid", Ids::Uuid), ("pci", Ids::Pci)];
    let config = Config {
        ids: fields.choice("ids", &ids)?.unwrap_or(default.ids),
        fatal_errors: fields.number("fatal-errors")?.unwrap_or(default.fatal_errors),
        link_width: fields.take("link-width").map_or(Ok(default.link_width), lanes)?,
        modeset: fields.switch("modeset")?.unwrap_or(default.modeset),
        gpus: fields.switch("gpus")?.unwrap_or(default.gpus),
        mig: fields.resource("mig")?,
        vfio: fields.resource("vfio")?,
        cdi_spec: fields.take("cdi-spec").map(path).transpose()?,
        xid: fields.take("xid").map_or(Ok(default.xid), xids)?,
    };
    fields.end()?;
    Ok(config)
}

fn lanes(field: Field) -> Result<u64, Error> {
    match field.number()? {
        number @ 0..=32 => Ok(number),
        _ => Err(field.refused("must be at most 32")),
    }
}

fn path(field: Field) -> Result<String, Error> {
    let path = field.text()?;
    if !path.starts_with('/') {
        return Err(field.refused("must be an absolute path"));
    }
    Ok(path.to_owned())
}

/// The admin's words for codes.
fn xids(field: Field) -> Result<BTreeMap<u32, Action>, Error> {
    let word = |(code, word): (String, Field)| {
        let number = code.parse().ok();
        let number = number.filter(|number: &u32| number.to_string() == code && *number < 1_000);
        let number = number.ok_or_else(|| word.refused("its key must be a code, such as \"94\""))?;
        Ok((number, word.choice(&xid::WORDS)?))
    };
    field.entries()?.into_iter().map(word).collect()
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
            ("[]", "config: must be a mapping, is a list"),
            (r#"{"ids": "index"}"#, "config ids: must be uuid or pci"),
            (r#"{"fatal-errors": -1}"#, "config fatal-errors: must be a whole number, 0 or more"),
            (r#"{"link-width": "16"}"#, "config link-width: must be a whole number, 0 or more, is text"),
            (r#"{"link-width": 33}"#, "config link-width: must be at most 32"),
            (r#"{"modeset": 1}"#, "config modeset: must be true or false, is a number"),
            (
                r#"{"xids": {}}"#,
                "config: unknown key `xids`; known here: ids, fatal-errors, link-width, modeset, gpus, mig, vfio, cdi-spec, xid",
            ),
            (r#"{"mig": true}"#, "config mig: must be a resource's name, such as vendor.com/device, is true or false"),
            (r#"{"vfio": "gpu"}"#, "config vfio: must be a resource's name, such as vendor.com/device"),
            (r#"{"cdi-spec": "nvidia.yaml"}"#, "config cdi-spec: must be an absolute path"),
            (r#"{"xid": ["94"]}"#, "config xid: must be a mapping, is a list"),
            (r#"{"xid": {"094": "ignore"}}"#, "config xid.094: its key must be a code, such as \"94\""),
            (r#"{"xid": {"all": "ignore"}}"#, "config xid.all: its key must be a code, such as \"94\""),
            (r#"{"xid": {"94": "Ignore"}}"#, "config xid.94: must be ignore, restart-app, reset or restart"),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
