//! One entry of `selectors`.

use super::super::draft::Draft;
use super::super::yaml::Line;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Drivers that give a function to programs without an iommu in between.
const UIO: [&str; 2] = ["igb_uio", "uio_pci_generic"];
/// What narrows a selector and cannot be told here, with the reason.
const UNTOLD: [(&str, &str); 5] = [
    ("acpiIndexes", "functions are not selected by it"),
    ("ddpProfiles", "it is known by devlink alone"),
    ("vdpaType", "vDPA devices are not offered"),
    ("pKeys", "functions are not selected by it"),
    ("auxTypes", "scalable functions are not offered"),
];

/// As their plugin has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Selector {
    vendors: Vec<String>,
    devices: Vec<String>,
    drivers: Vec<String>,
    pci_addresses: Vec<String>,
    pf_names: Vec<String>,
    root_devices: Vec<String>,
    link_types: Vec<String>,
    #[serde(alias = "IsRdma")]
    is_rdma: bool,
    need_vhost_net: bool,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// As the component has it, and what of it holds for the whole pool.
#[derive(Debug)]
pub(super) struct Select {
    vendors: Vec<String>,
    devices: Vec<String>,
    drivers: Vec<String>,
    pci_addresses: Vec<String>,
    pf_names: Vec<String>,
    link_types: Vec<String>,
    pub(super) rdma: bool,
    pub(super) vhost_net: bool,
}

/// Reads one; nothing where it would mean more functions than it does there.
pub(super) fn select(entry: &Value, at: &str, draft: &mut Draft) -> Option<Select> {
    let theirs = match Selector::deserialize(entry) {
        Ok(selector) => selector,
        Err(why) => {
            draft.lose(at, format!("{why}; the selector is left out"));
            return None;
        }
    };
    let mut is_told = true;
    for (key, value) in &theirs.rest {
        let is_set = value.as_array().is_none_or(|list| !list.is_empty()) && *value != "";
        match UNTOLD.iter().find(|(untold, _)| untold == key) {
            Some((_, why)) if is_set => {
                draft.lose(format!("{at}: {key}"), format!("{why}; the selector is left out"));
                is_told = false;
            }
            Some(_) => {}
            None => draft.lose_unknown(at, [key]),
        }
    }
    let (uio, drivers): (Vec<_>, Vec<_>) = theirs.drivers.into_iter().partition(|name| UIO.contains(&name.as_str()));
    if !uio.is_empty() {
        draft.lose(format!("{at}: drivers {}", uio.join(", ")), "no iommu is behind it; bind vfio-pci");
        is_told &= !drivers.is_empty();
    }
    // Both name a physical function, and here one list means either.
    let pf_names = match (theirs.pf_names, theirs.root_devices) {
        (names, roots) if names.is_empty() => roots,
        (names, roots) => {
            if !roots.is_empty() {
                draft.lose(format!("{at}: rootDevices"), "pfNames beside it says which physical function is meant");
            }
            names
        }
    };
    is_told.then_some(Select {
        vendors: theirs.vendors,
        devices: theirs.devices,
        drivers,
        pci_addresses: theirs.pci_addresses,
        pf_names,
        link_types: theirs.link_types.iter().map(|link| link.to_ascii_lowercase()).collect(),
        rdma: theirs.is_rdma,
        vhost_net: theirs.need_vhost_net,
    })
}

impl Select {
    /// The entry of `select`.
    pub(super) fn line(&self) -> String {
        let line = Line::default().list("vendors", &self.vendors).list("devices", &self.devices);
        let line = line.list("drivers", &self.drivers).list("pci-addresses", &self.pci_addresses);
        line.list("pf-names", &self.pf_names).list("link-types", &self.link_types).done()
    }

    /// The selector of `hardware` that offers the same functions.
    pub(super) fn hardware(&self, rdma: bool) -> String {
        let hex =
            |ids: &[String]| ids.iter().map(|id| format!("0x{}", id.trim_start_matches("0x"))).collect::<Vec<_>>();
        let mut nodes = Vec::new();
        if self.may_be_vfio() {
            nodes.push("{subsystem: vfio}");
        }
        if rdma {
            nodes.extend(["{subsystem: infiniband_verbs}", "{subsystem: infiniband_mad, name: \"umad*\"}"]);
        }
        let line = Line::default().text("subsystem", "pci").text("class", "0x02");
        let line = line.texts("vendor", &hex(&self.vendors)).texts("device", &hex(&self.devices));
        let line = line.texts("driver", &self.drivers).texts("name", &self.pci_addresses).text("use", "offer");
        if nodes.is_empty() { line.done() } else { line.with("nodes", format!("[{}]", nodes.join(", "))).done() }
    }

    /// Whether functions may be bound to vfio.
    pub(super) fn may_be_vfio(&self) -> bool {
        self.drivers.is_empty() || self.drivers.iter().any(|driver| driver.contains("vfio"))
    }

    /// Whether it says neither what the functions are nor which.
    pub(super) fn is_wide(&self) -> bool {
        self.pci_addresses.is_empty() && (self.vendors.is_empty() || self.devices.is_empty())
    }
}
