//! The configuration of Mellanox's plugin for shared RDMA devices, for the component `rdma`.

use super::draft::Draft;
use super::find::Found;
use super::yaml::{Line, scalar};
use serde::Deserialize;
use serde_json::{Map, Value};

/// An entry of `configList`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    resource_name: String,
    #[serde(default)]
    resource_prefix: String,
    rdma_hca_max: u32,
    #[serde(default)]
    devices: Vec<String>,
    #[serde(default)]
    selectors: Selectors,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Selectors {
    vendors: Vec<String>,
    #[serde(rename = "deviceIDs")]
    device_ids: Vec<String>,
    drivers: Vec<String>,
    if_names: Vec<String>,
    link_types: Vec<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// What resources are called before the `/` where nothing else is said.
const PREFIX: &str = "rdma";
/// The most containers that may share a unit.
const MAX_REPLICAS: u32 = 4096;

/// Takes a configuration over. How often it is looked needs nothing here.
pub(super) fn take_over(found: &Found, draft: &mut Draft) {
    let entries = found.value.get("configList").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (n, entry) in entries.iter().enumerate() {
        let at = format!("{}: configList[{n}]", found.at);
        match Resource::deserialize(entry) {
            Ok(resource) => {
                if let Some(keys) = plugin(&resource, &at, draft) {
                    draft.plugin("rdma-shared", &keys);
                }
            }
            Err(why) => draft.lose(at, why),
        }
    }
}

fn plugin(resource: &Resource, at: &str, draft: &mut Draft) -> Option<String> {
    let Resource { resource_name, resource_prefix, selectors, .. } = resource;
    let prefix = if resource_prefix.is_empty() { PREFIX } else { resource_prefix };
    let name = format!("{prefix}/{resource_name}");
    let at = format!("{at} ({name})");
    draft.lose_unknown(&at, resource.rest.keys().chain(selectors.rest.keys()));
    // Which RDMA device an interface belongs to is not in the file, and the grant would be for all of them.
    if !selectors.if_names.is_empty() || !resource.devices.is_empty() {
        let why = "the policy names PCI functions (`name`) or RDMA devices (`config: {devices: …}`), not interfaces; left out";
        draft.lose(format!("{at}: ifNames, devices"), why);
        return None;
    }
    let replicas = match resource.rdma_hca_max {
        0 => return None,
        n if n > MAX_REPLICAS => {
            draft.lose(format!("{at}: rdmaHcaMax {n}"), format!("at most {MAX_REPLICAS} containers share a unit"));
            MAX_REPLICAS
        }
        n => n,
    };
    let hex = |ids: &[String]| ids.iter().map(|id| format!("0x{}", id.trim_start_matches("0x"))).collect::<Vec<_>>();
    let line = Line::default().text("subsystem", "pci").text("class", "0x02").texts("vendor", &hex(&selectors.vendors));
    let line =
        line.texts("device", &hex(&selectors.device_ids)).texts("driver", &selectors.drivers).text("use", "offer");
    let nodes =
        "[{subsystem: infiniband_verbs, shared: true}, {subsystem: infiniband_mad, name: \"umad*\", shared: true}]";
    let links: Vec<_> =
        selectors.link_types.iter().map(|link| link.to_ascii_lowercase().replace("ether", "ethernet")).collect();
    let config = Line::default().text("resource", &name).list("link-layers", &links).flag("together", true).done();
    Some(format!(
        "    component: {{file: rdma.wasm}}\n    resources: [{}]\n    hardware:\n      \
         # umad sends management datagrams to the whole fabric: take it out where containers need none.\n      - {}\n    \
         host-nodes: {{shared: [/dev/infiniband/rdma_cm]}}\n    files: [/proc/uptime, /proc/sys/kernel/random/boot_id]\n    \
         state: true\n    # Each container gets all of them; without `together` each gets one.\n    \
         replicas: {replicas}\n    config: {config}\n",
        scalar(&name),
        line.with("nodes", nodes).done(),
    ))
}

#[cfg(test)]
mod tests;
