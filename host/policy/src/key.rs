//! Every key of the policy's format, served or not. The page for people, `docs/policy.md`, is held against this list.

/// One mapping of the format and the keys that it may have.
pub(crate) struct Section {
    pub(crate) served: &'static [&'static str],
    /// Keys that the format has, but that this version refuses: what they grant is not there yet.
    pub(crate) later: &'static [&'static str],
}

pub(crate) const POLICY: Section = Section {
    served: &["apiVersion", "kind", "plugins"],
    later: &[],
};

pub(crate) const PLUGIN: Section = Section {
    served: &[
        "component",
        "resources",
        "hardware",
        "host-nodes",
        "containers",
        "shares-hardware",
        "replicas",
        "health",
        "limits",
        "config",
    ],
    later: &[
        "files",
        "kernel-log",
        "control",
        "state",
        "mounts",
        "dangerous",
        "except",
        "rename",
        "only",
    ],
};

pub(crate) const COMPONENT: Section = Section {
    served: &["file", "sha256"],
    later: &["oci", "signature"],
};

pub(crate) const SELECTOR: Section = Section {
    served: &[
        "subsystem",
        "vendor",
        "device",
        "class",
        "product",
        "serial",
        "driver",
        "name",
        "attributes",
        "use",
        "nodes",
    ],
    later: &[],
};

pub(crate) const NODE: Section = Section {
    served: &["subsystem", "name", "access", "shared"],
    later: &[],
};

pub(crate) const HOST_NODES: Section = Section {
    served: &["exclusive", "shared", "access"],
    later: &[],
};

pub(crate) const CONTAINERS: Section = Section {
    served: &["env"],
    later: &["mounts", "cdi", "annotations", "device-info"],
};

pub(crate) const HEALTH: Section = Section {
    served: &[
        "unhealthy-after",
        "healthy-after",
        "stale-after",
        "check-every",
        "enumerate-every",
    ],
    later: &[],
};

pub(crate) const LIMITS: Section = Section {
    served: &[
        "memory",
        "cpu",
        "deadline",
        "instances",
        "memories",
        "tables",
        "table-elements",
        "handles",
        "transfer",
        "host-calls",
        "read",
        "log",
        "component-size",
        "functions",
        "function-size",
    ],
    later: &[],
};

/// The key that was probably meant: of those served the nearest, if it is near.
pub(crate) fn nearest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance takes time in proportion to the product of both lengths, and nothing long is a mistyped key.
    if text.len() > 64 {
        return None;
    }
    let typed = text.to_lowercase().replace('_', "-");
    let distance = |key: &str| match key.to_lowercase() {
        // Abbreviated.
        key if typed.len() >= 3 && key.starts_with(&typed) => 0,
        key => strsim::damerau_levenshtein(&typed, &key),
    };
    known
        .into_iter()
        .map(|key| (distance(key), key))
        .filter(|(distance, key)| *distance <= key.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_on_the_page_for_people() {
        let page = include_str!("../../../docs/policy.md");
        let sections = [
            POLICY, PLUGIN, COMPONENT, SELECTOR, NODE, HOST_NODES, CONTAINERS, HEALTH, LIMITS,
        ];
        for section in sections {
            for key in section.served.iter().chain(section.later) {
                assert!(
                    page.contains(&format!("`{key}`")),
                    "docs/policy.md does not explain `{key}`"
                );
            }
        }
    }

    #[test]
    fn the_nearest_key_is_found_and_nothing_far_away() {
        let near = |text| nearest(text, PLUGIN.served.iter().copied());
        assert_eq!(near("hardwear"), Some("hardware"));
        assert_eq!(near("host_nodes"), Some("host-nodes"));
        assert_eq!(near("sharesHardware"), Some("shares-hardware"));
        assert_eq!(near("Limits"), Some("limits"));
        assert_eq!(near("res"), Some("resources"));
        assert_eq!(near("privileged"), None);
        assert_eq!(near("r"), None);
        assert_eq!(near(&"hardware".repeat(1_000)), None);
    }
}
