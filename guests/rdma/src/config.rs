//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use devgate_sdk::fields::{Field, Fields};
use std::ops::RangeInclusive;

/// The whole configuration; every key has a default.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) resource: String,
    /// The RDMA devices that are meant, by their exact names; all where there is none.
    pub(crate) devices: Vec<String>,
    /// What their ports run on, as the kernel writes it; anything where there is none.
    pub(crate) link_layers: Vec<String>,
    pub(crate) ids: Ids,
    /// Whether all devices are one unit.
    pub(crate) together: bool,
    /// Whether every port must be active, or one is enough.
    pub(crate) all_ports: bool,
    /// How many times a link may go down within the window before its device is unhealthy; 0 does not look.
    pub(crate) flaps: u64,
    /// Seconds.
    pub(crate) flap_window: u64,
}

/// What the id of a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// The kernel's name, such as `mlx5_0`.
    Name,
    /// The address of its PCI function.
    Pci,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            resource: "rdma/hca".to_owned(),
            devices: Vec::new(),
            link_layers: Vec::new(),
            ids: Ids::Name,
            together: false,
            all_ports: false,
            flaps: 3,
            flap_window: 600,
        }
    }
}

/// As the kernel writes them (`ports/<n>/link_layer`).
const LINK_LAYERS: [(&str, &str); 2] = [("infiniband", "InfiniBand"), ("ethernet", "Ethernet")];

/// Parses the configuration as the host gives it; `null` is all defaults.
///
/// # Errors
/// `invalid`, naming the key and what would be right there.
pub(crate) fn parse(json: &str) -> Result<Config, Error> {
    let mut fields = Fields::parse(json)?;
    let default = Config::default();
    let config = Config {
        resource: fields.resource("resource")?.unwrap_or(default.resource),
        devices: fields.texts("devices")?.unwrap_or(default.devices),
        link_layers: match fields.take("link-layers") {
            None => default.link_layers,
            Some(layers) => {
                let layers = layers.several()?.into_iter();
                let layer = |layer: Field| Ok(layer.choice(&LINK_LAYERS)?.to_owned());
                layers.map(layer).collect::<Result<_, Error>>()?
            }
        },
        ids: fields.choice("ids", &[("name", Ids::Name), ("pci", Ids::Pci)])?.unwrap_or(default.ids),
        together: fields.switch("together")?.unwrap_or(default.together),
        all_ports: fields.choice("ports", &[("any", false), ("all", true)])?.unwrap_or(default.all_ports),
        flaps: number(&mut fields, "flaps", 0..=1_000)?.unwrap_or(default.flaps),
        flap_window: number(&mut fields, "flap-window", 1..=86_400)?.unwrap_or(default.flap_window),
    };
    fields.end()?;
    Ok(config)
}

fn number(fields: &mut Fields, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Error> {
    let Some(field) = fields.take(key) else {
        return Ok(None);
    };
    let number = field.number()?;
    if range.contains(&number) {
        return Ok(Some(number));
    }
    let (least, most) = range.into_inner();
    Err(field.refused(&format!("must be a whole number from {least} to {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_has_its_default() {
        assert_eq!(parse("null").unwrap(), Config::default());
        assert_eq!(parse("{}").unwrap(), Config::default());
        let json = r#"{"resource": "rdma/ib", "devices": ["mlx5_0", "mlx5_1"], "link-layers": "infiniband", "ids": "pci",
            "together": true, "ports": "all", "flaps": 0, "flap-window": 60}"#;
        let all = Config {
            resource: "rdma/ib".to_owned(),
            devices: vec!["mlx5_0".to_owned(), "mlx5_1".to_owned()],
            link_layers: vec!["InfiniBand".to_owned()],
            ids: Ids::Pci,
            together: true,
            all_ports: true,
            flaps: 0,
            flap_window: 60,
        };
        assert_eq!(parse(json).unwrap(), all);
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        for (json, message) in [
            ("[]", "config: must be a mapping, is a list"),
            (
                r#"{"resource": 1}"#,
                "config resource: must be a resource's name, such as vendor.com/device, is a number",
            ),
            (r#"{"devices": []}"#, "config devices: must not be empty"),
            (r#"{"devices": [1]}"#, "config devices[0]: must be text in quotes, is a number"),
            (r#"{"link-layers": "roce"}"#, "config link-layers: must be infiniband or ethernet"),
            (r#"{"ids": "guid"}"#, "config ids: must be name or pci"),
            (r#"{"together": "yes"}"#, "config together: must be true or false, is text"),
            (r#"{"ports": "one"}"#, "config ports: must be any or all"),
            (r#"{"flaps": 1001}"#, "config flaps: must be a whole number from 0 to 1000"),
            (r#"{"flap-window": 0}"#, "config flap-window: must be a whole number from 1 to 86400"),
            (
                r#"{"max": 1}"#,
                "config: unknown key `max`; known here: resource, devices, link-layers, ids, together, ports, flaps, flap-window",
            ),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
        assert!(parse(r#"{"flaps": 1000, "flap-window": 86400}"#).is_ok());
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
