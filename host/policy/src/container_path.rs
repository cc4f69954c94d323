//! Where a node appears in a container.

use crate::error::Problem;
use crate::fields::Fields;
use crate::path;
use std::sync::Arc;

/// The longest template, in bytes.
const MAX_BYTES: usize = 256;
/// What stands for the last part of the node's own path.
const NAME: &str = "{name}";
/// What every container has in its `/dev` already (the OCI runtime specification's default devices and file systems).
const TAKEN: &str =
    "console fd full mqueue null ptmx pts random shm stderr stdin stdout termination-log tty urandom zero";

/// A path under `/dev/` with a place for the node's own name: `container-path:` of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerPath {
    text: String,
}

impl ContainerPath {
    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > MAX_BYTES {
            return Err("must have at most 256 bytes");
        }
        let Some(rest) = text.strip_prefix("/dev/") else {
            return Err("must start with /dev/");
        };
        let sample = text.replace(NAME, "x");
        if sample.contains(['{', '}']) {
            return Err("may have {name} for the last part of the node's own path, and no other braces");
        }
        if let Some(problem) = path::problem(&sample) {
            return Err(problem);
        }
        let first = rest.split('/').next().unwrap_or_default();
        if TAKEN.split(' ').any(|taken| taken == first) {
            return Err("is what every container has already");
        }
        Ok(Self { text: text.to_owned() })
    }

    /// Where the node at `host_path` appears.
    #[must_use]
    pub fn expand(&self, host_path: &str) -> String {
        let name = host_path.rsplit('/').next().unwrap_or_default();
        self.text.replace(NAME, name)
    }
}

/// Reads `container-path`, if the key is there.
pub(crate) fn read(fields: &Fields<'_>) -> Option<Arc<ContainerPath>> {
    let read = |text| ContainerPath::parse(text).map_err(|problem| Problem::which(text, problem));
    fields.get("container-path")?.parse(read).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_takes_the_place_that_is_left_for_it() {
        let path = |text| ContainerPath::parse(text).unwrap();
        assert_eq!(path("/dev/serial/{name}").expand("/dev/ttyUSB0"), "/dev/serial/ttyUSB0");
        assert_eq!(path("/dev/{name}/{name}.0").expand("/dev/dri/card0"), "/dev/card0/card0.0");
        assert_eq!(path("/dev/gps").expand("/dev/ttyACM0"), "/dev/gps");
        let long = |n: usize| format!("/dev/{}", "x".repeat(n - 5));
        assert!(ContainerPath::parse(&long(256)).is_ok() && ContainerPath::parse(&long(257)).is_err());
    }

    #[test]
    fn other_paths_are_refused() {
        for bad in [
            "/run/{name}",
            "dev/x",
            "/dev/",
            "/dev",
            "/dev/../{name}",
            "/dev/{id}",
            "/dev/{name",
            "/dev//x",
            "/dev/null",
            "/dev/shm/{name}",
            "/dev/a\nb",
        ] {
            assert!(ContainerPath::parse(bad).is_err(), "{bad}");
        }
    }
}
