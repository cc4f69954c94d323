//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use crate::size;
use devgate_sdk::Error;
use serde_json::Value;

/// What the keys are, for a message about one that is not.
const KNOWN: &str =
    "known here: resource, unit, vfio, transport, min-size, partitioned, ids, ports, serial, temperature";

/// The whole configuration; every key has a default.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    /// What namespaces or drives are offered as.
    pub(crate) resource: String,
    pub(crate) unit: Kind,
    /// What drives on vfio are offered as; none are without it.
    pub(crate) vfio: Option<String>,
    /// How a controller may be connected, in the kernel's words.
    pub(crate) transports: Vec<String>,
    /// The fewest bytes of what is offered.
    pub(crate) min_size: u64,
    /// Whether a disk with partitions, which nobody uses, is offered.
    pub(crate) partitioned: bool,
    pub(crate) ids: Ids,
    pub(crate) ports: Ports,
    /// Whether serial numbers and worldwide names are told.
    pub(crate) serial: bool,
    /// Whether a drive is asked for its temperature alarm.
    pub(crate) temperature: bool,
}

/// How many ports a drive may have that says of itself that it may have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ports {
    /// As it says: they come and go, and its disks stay.
    Several,
    /// One: it says more than it has, and its disks are where this one is.
    One,
}

/// What one unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One namespace, which is one disk.
    Namespace,
    /// A controller with all its namespaces, which is a whole drive.
    Controller,
}

/// What the id of a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// The PCI address, which stays with the slot.
    Address,
    /// The namespace's worldwide name, which stays with it in whatever slot its drive is.
    Wwid,
    /// The kernel's name, which may be another one's after a boot.
    Name,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            resource: "devgate.dev/nvme".to_owned(),
            unit: Kind::Namespace,
            vfio: None,
            transports: vec!["pcie".to_owned()],
            min_size: 0,
            partitioned: false,
            ids: Ids::Address,
            ports: Ports::Several,
            serial: false,
            temperature: false,
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
            "resource" => config.resource = text(key, value)?,
            "vfio" => config.vfio = Some(text(key, value)?),
            "unit" => {
                config.unit = match value.as_str() {
                    Some("namespace") => Kind::Namespace,
                    Some("controller") => Kind::Controller,
                    _ => return Err(refused(" unit: must be namespace or controller")),
                }
            }
            "ids" => {
                config.ids = match value.as_str() {
                    Some("address") => Ids::Address,
                    Some("wwid") => Ids::Wwid,
                    Some("name") => Ids::Name,
                    _ => return Err(refused(" ids: must be address, wwid or name")),
                }
            }
            "transport" => config.transports = texts(key, value)?,
            "min-size" => {
                let size = value.as_u64().or_else(|| value.as_str().and_then(size::parse));
                config.min_size = size.ok_or_else(|| refused(" min-size: must be a size, such as 500GB or 1TiB"))?;
            }
            "ports" => {
                config.ports = match value.as_str() {
                    Some("several") => Ports::Several,
                    Some("one") => Ports::One,
                    _ => return Err(refused(" ports: must be several or one")),
                }
            }
            "partitioned" => config.partitioned = switch(key, value)?,
            "serial" => config.serial = switch(key, value)?,
            "temperature" => config.temperature = switch(key, value)?,
            _ => return Err(refused(&format!(": unknown key `{key}`; {KNOWN}"))),
        }
    }
    if config.vfio.as_ref() == Some(&config.resource) {
        return Err(refused(" vfio: must be another resource than `resource`"));
    }
    if config.unit == Kind::Controller && config.ids == Ids::Wwid {
        return Err(refused(" ids: a controller has no worldwide name; address or name"));
    }
    Ok(config)
}

fn refused(problem: &str) -> Error {
    Error::invalid(format!("config{problem}"))
}

fn text(key: &str, value: &Value) -> Result<String, Error> {
    let text = value.as_str().filter(|text| !text.is_empty());
    Ok(text
        .ok_or_else(|| refused(&format!(" {key}: must be a text")))?
        .to_owned())
}

fn texts(key: &str, value: &Value) -> Result<Vec<String>, Error> {
    let several = match value {
        Value::Array(several) => several.as_slice(),
        one => std::slice::from_ref(one),
    };
    several.iter().map(|value| text(key, value)).collect()
}

fn switch(key: &str, value: &Value) -> Result<bool, Error> {
    let switch = value.as_bool();
    switch.ok_or_else(|| refused(&format!(" {key}: must be true or false")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_has_its_default() {
        for json in ["null", "{}"] {
            assert_eq!(parse(json).unwrap(), Config::default());
        }
        let json = r#"{"resource": "a.b/c", "unit": "controller", "vfio": "a.b/d", "transport": ["pcie", "tcp"],
            "min-size": "1TiB", "partitioned": true, "ids": "name", "ports": "one", "serial": true, "temperature": true}"#;
        let expected = Config {
            resource: "a.b/c".to_owned(),
            unit: Kind::Controller,
            vfio: Some("a.b/d".to_owned()),
            transports: vec!["pcie".to_owned(), "tcp".to_owned()],
            min_size: 1 << 40,
            partitioned: true,
            ids: Ids::Name,
            ports: Ports::One,
            serial: true,
            temperature: true,
        };
        assert_eq!(parse(json).unwrap(), expected);
        assert_eq!(parse(r#"{"transport": "tcp"}"#).unwrap().transports, ["tcp"]);
        assert_eq!(parse(r#"{"min-size": 4096}"#).unwrap().min_size, 4096);
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        for (json, message) in [
            ("[]", "config: must be a mapping"),
            (r#"{"unit": "disk"}"#, "config unit: must be namespace or controller"),
            (r#"{"ids": "uuid"}"#, "config ids: must be address, wwid or name"),
            (r#"{"resource": ""}"#, "config resource: must be a text"),
            (r#"{"transport": [1]}"#, "config transport: must be a text"),
            (
                r#"{"min-size": "1 banana"}"#,
                "config min-size: must be a size, such as 500GB or 1TiB",
            ),
            (r#"{"serial": "yes"}"#, "config serial: must be true or false"),
            (
                r#"{"vfio": "devgate.dev/nvme"}"#,
                "config vfio: must be another resource than `resource`",
            ),
            (
                r#"{"unit": "controller", "ids": "wwid"}"#,
                "config ids: a controller has no worldwide name; address or name",
            ),
            (r#"{"ports": 1}"#, "config ports: must be several or one"),
            (
                r#"{"model": "x"}"#,
                "config: unknown key `model`; known here: resource, unit, vfio, transport, min-size, partitioned, ids, ports, serial, temperature",
            ),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
