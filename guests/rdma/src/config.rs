//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use serde_json::Value;

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

const KNOWN: &str = "known here: resource, devices, link-layers, ids, together, ports, flaps, flap-window";

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
        let wrong = |what: &str| refused(&format!(" {key}: must be {what}"));
        let number = |least: u64, most: u64| {
            let number = value.as_u64().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| wrong(&format!("a whole number from {least} to {most}")))
        };
        match key.as_str() {
            "resource" => config.resource = value.as_str().ok_or_else(|| wrong("text"))?.to_owned(),
            "devices" => config.devices = texts(value).ok_or_else(|| wrong("a name or a list of names"))?,
            "link-layers" => {
                let what = "infiniband, ethernet, or a list of them";
                let words = texts(value).ok_or_else(|| wrong(what))?;
                let layer = |word: &String| link_layer(word).map(str::to_owned);
                config.link_layers = words
                    .iter()
                    .map(layer)
                    .collect::<Option<_>>()
                    .ok_or_else(|| wrong(what))?;
            }
            "ids" => {
                config.ids = match value.as_str() {
                    Some("name") => Ids::Name,
                    Some("pci") => Ids::Pci,
                    _ => return Err(wrong("name or pci")),
                }
            }
            "together" => config.together = value.as_bool().ok_or_else(|| wrong("true or false"))?,
            "ports" => {
                config.all_ports = match value.as_str() {
                    Some("any") => false,
                    Some("all") => true,
                    _ => return Err(wrong("any or all")),
                }
            }
            "flaps" => config.flaps = number(0, 1_000)?,
            "flap-window" => config.flap_window = number(1, 86_400)?,
            _ => return Err(refused(&format!(": unknown key `{key}`; {KNOWN}"))),
        }
    }
    Ok(config)
}

/// As the kernel writes it (`ports/<n>/link_layer`).
fn link_layer(word: &str) -> Option<&'static str> {
    match word {
        "infiniband" => Some("InfiniBand"),
        "ethernet" => Some("Ethernet"),
        _ => None,
    }
}

/// One text or several, at least one.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(list) if !list.is_empty() => list.iter().map(|text| Some(text.as_str()?.to_owned())).collect(),
        _ => None,
    }
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
            ("[]", "config: must be a mapping"),
            (r#"{"resource": 1}"#, "config resource: must be text"),
            (
                r#"{"devices": []}"#,
                "config devices: must be a name or a list of names",
            ),
            (
                r#"{"devices": [1]}"#,
                "config devices: must be a name or a list of names",
            ),
            (
                r#"{"link-layers": "roce"}"#,
                "config link-layers: must be infiniband, ethernet, or a list of them",
            ),
            (r#"{"ids": "guid"}"#, "config ids: must be name or pci"),
            (r#"{"together": "yes"}"#, "config together: must be true or false"),
            (r#"{"ports": "one"}"#, "config ports: must be any or all"),
            (
                r#"{"flaps": 1001}"#,
                "config flaps: must be a whole number from 0 to 1000",
            ),
            (
                r#"{"flap-window": 0}"#,
                "config flap-window: must be a whole number from 1 to 86400",
            ),
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
