//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use crate::size;
use devgate_sdk::Error;
use devgate_sdk::fields::{Field, Fields};

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
    let mut fields = Fields::parse(json)?;
    let default = Config::default();
    let kinds = [("namespace", Kind::Namespace), ("controller", Kind::Controller)];
    let names = [("address", Ids::Address), ("wwid", Ids::Wwid), ("name", Ids::Name)];
    let ports = [("several", Ports::Several), ("one", Ports::One)];
    let config = Config {
        resource: fields.resource("resource")?.unwrap_or(default.resource),
        unit: fields.choice("unit", &kinds)?.unwrap_or(default.unit),
        vfio: fields.resource("vfio")?,
        transports: fields.texts("transport")?.unwrap_or(default.transports),
        min_size: fields.take("min-size").map_or(Ok(default.min_size), bytes)?,
        partitioned: fields.switch("partitioned")?.unwrap_or(default.partitioned),
        ids: fields.choice("ids", &names)?.unwrap_or(default.ids),
        ports: fields.choice("ports", &ports)?.unwrap_or(default.ports),
        serial: fields.switch("serial")?.unwrap_or(default.serial),
        temperature: fields.switch("temperature")?.unwrap_or(default.temperature),
    };
    fields.end()?;
    if config.vfio.as_ref() == Some(&config.resource) {
        return Err(Error::invalid("config vfio: must be another resource than `resource`"));
    }
    if config.unit == Kind::Controller && config.ids == Ids::Wwid {
        return Err(Error::invalid("config ids: a controller has no worldwide name; address or name"));
    }
    Ok(config)
}

/// A number, or a text with a unit.
fn bytes(field: Field) -> Result<u64, Error> {
    let size = field.number().ok().or_else(|| size::parse(field.text().ok()?));
    size.ok_or_else(|| field.refused("must be a size, such as 500GB or 1TiB"))
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
            ("[]", "config: must be a mapping, is a list"),
            (r#"{"unit": "disk"}"#, "config unit: must be namespace or controller"),
            (r#"{"ids": "uuid"}"#, "config ids: must be address, wwid or name"),
            (r#"{"resource": ""}"#, "config resource: must be a resource's name, such as vendor.com/device"),
            (r#"{"transport": [1]}"#, "config transport[0]: must be text in quotes, is a number"),
            (r#"{"min-size": "1 banana"}"#, "config min-size: must be a size, such as 500GB or 1TiB"),
            (r#"{"serial": "yes"}"#, "config serial: must be true or false, is text"),
            (r#"{"vfio": "devgate.dev/nvme"}"#, "config vfio: must be another resource than `resource`"),
            (
                r#"{"unit": "controller", "ids": "wwid"}"#,
                "config ids: a controller has no worldwide name; address or name",
            ),
            (r#"{"ports": 1}"#, "config ports: must be several or one, is a number"),
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
