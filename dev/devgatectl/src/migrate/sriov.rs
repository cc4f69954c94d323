//! The SR-IOV network device plugin's `config.json`, for the component `sriov-nic`.

mod selector;

use super::draft::Draft;
use super::find::Found;
use super::yaml::{Line, list};
use selector::Select;
use serde::Deserialize;
use serde_json::{Map, Value};

/// What resources are called before the `/` where nothing else is said.
const PREFIX: &str = "intel.com";
/// The most resources of one plugin of a policy.
const MAX_RESOURCES: usize = 16;

/// An entry of `resourceList`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    resource_name: String,
    #[serde(default)]
    resource_prefix: String,
    #[serde(default)]
    device_type: String,
    #[serde(default)]
    exclude_topology: bool,
    #[serde(default)]
    additional_info: Map<String, Value>,
    #[serde(default)]
    selectors: Value,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// A pool of the component's configuration.
#[derive(Debug)]
struct Pool {
    resource: String,
    rdma: bool,
    vhost_net: bool,
    select: Vec<Select>,
}

/// Takes a configuration over, with what a DaemonSet's arguments say besides.
pub(super) fn take_over(found: &Found, flags: &[&Found], draft: &mut Draft) {
    let prefix = flags.iter().filter_map(|flags| flags.value.get("prefix")?.as_str()).next_back().unwrap_or(PREFIX);
    for flags in flags.iter().filter(|flags| flags.value.get("cdi") == Some(&Value::Bool(true))) {
        draft.lose(&flags.at, "use-cdi: `devgate run --edits cdi` does it, for all plugins");
    }
    let entries = found.value.get("resourceList").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut pools: Vec<Pool> = Vec::new();
    for (n, entry) in entries.iter().enumerate() {
        let at = format!("{}: resourceList[{n}]", found.at);
        match Resource::deserialize(entry) {
            Ok(resource) => pools.extend(pool(resource, &at, prefix, draft)),
            Err(why) => draft.lose(at, why),
        }
    }
    for pools in pools.chunks(MAX_RESOURCES) {
        draft.plugin("sriov", &plugin(pools));
    }
}

fn pool(resource: Resource, at: &str, prefix: &str, draft: &mut Draft) -> Option<Pool> {
    let prefix = if resource.resource_prefix.is_empty() { prefix } else { &resource.resource_prefix };
    let name = format!("{prefix}/{}", resource.resource_name);
    let at = format!("{at} ({name})");
    let why = match resource.device_type.to_ascii_lowercase().as_str() {
        "" | "netdevice" => None,
        "vfio" | "uio" => Some("is of their version 2; write `selectors` with drivers and physical functions"),
        _ => Some("sriov-nic offers virtual functions of network adapters and nothing else"),
    };
    if let Some(why) = why {
        draft.lose(format!("{at}: deviceType {}", resource.device_type), format!("{why}; the resource is left out"));
        return None;
    }
    if resource.exclude_topology {
        draft.lose(format!("{at}: excludeTopology"), "a function's NUMA node is what the kernel says");
    }
    if !resource.additional_info.is_empty() {
        draft.lose(format!("{at}: additionalInfo"), "containers are told what the node says of a function");
    }
    draft.lose_unknown(&at, resource.rest.keys());
    let entries = match resource.selectors {
        Value::Null => vec![Value::Object(Map::new())],
        Value::Array(list) => list,
        one => vec![one],
    };
    let mut select = Vec::new();
    for (n, entry) in entries.iter().enumerate() {
        select.extend(selector::select(entry, &format!("{at}: selectors[{n}]"), draft));
    }
    if select.is_empty() {
        draft.lose(at, "none of its selectors is left; the resource is left out");
        return None;
    }
    let (rdma, vhost_net) = (select.iter().all(|one| one.rdma), select.iter().all(|one| one.vhost_net));
    if !rdma && select.iter().any(|one| one.rdma) {
        draft.lose(format!("{at}: isRdma"), "is for all of a resource's selectors or for none; write two resources");
    }
    if !vhost_net && select.iter().any(|one| one.vhost_net) {
        draft.lose(format!("{at}: needVhostNet"), "is for all of a resource's selectors or for none");
    }
    Some(Pool { resource: name, rdma, vhost_net, select })
}

/// The plugin's keys.
fn plugin(pools: &[Pool]) -> String {
    let any = |which: fn(&Pool) -> bool| pools.iter().any(which);
    let mut hardware: Vec<String> = Vec::new();
    for pool in pools {
        for line in pool.select.iter().map(|select| select.hardware(pool.rdma)) {
            if !hardware.contains(&line) {
                hardware.push(line);
            }
        }
    }
    let mut nodes = Vec::new();
    if any(|pool| pool.select.iter().any(Select::may_be_vfio)) {
        nodes.push("/dev/vfio/vfio");
    }
    if any(|pool| pool.rdma) {
        nodes.push("/dev/infiniband/rdma_cm");
    }
    if any(|pool| pool.vhost_net) {
        nodes.extend(["/dev/vhost-net", "/dev/net/tun"]);
    }
    let resources: Vec<_> = pools.iter().map(|pool| pool.resource.as_str()).collect();
    let mut text = format!(
        "    component: {{file: sriov-nic.wasm}}\n    resources: {}\n    hardware:\n      \
         # The physical functions: to look at, not to give away.\n      \
         - {{subsystem: pci, class: \"0x02\", attributes: {{sriov_numvfs: \"*\"}}}}\n",
        list(&resources)
    );
    if any(|pool| pool.select.iter().any(Select::is_wide)) {
        text +=
            "      # What names no vendor and device reaches every network function: name them, where you know them.\n";
    }
    hardware.iter().for_each(|line| text += &format!("      - {line}\n"));
    // The component imports nodes by path, and is loaded only where they are granted.
    text +=
        &format!("    host-nodes: {{shared: {}}}\n", list(if nodes.is_empty() { &["/dev/vfio/vfio"] } else { &nodes }));
    text += "    containers:\n      # For Multus.\n      device-info: true\n      \
             # A `-` in a resource's name is `_` in its variable. Where containers need the description in JSON as well, add\n      \
             # `PCIDEVICE_{RESOURCE}_INFO: any` here, and `info: true` to the pool.\n      \
             env: {\"PCIDEVICE_{RESOURCE}\": \"{ids}\"}\n    \
             health: {unhealthy-after: 2s, healthy-after: 10s}\n    config:\n      \
             # The first that means a function has it. A physical function's link decides about health: `link: ignore` for how it was.\n      \
             pools:\n";
    for pool in pools {
        text += &format!("        - {}\n", pool.line());
    }
    text
}

impl Pool {
    fn line(&self) -> String {
        let line = Line::default().text("resource", &self.resource).flag("rdma", self.rdma);
        let line = line.flag("vhost-net", self.vhost_net);
        let select: Vec<_> = self.select.iter().map(Select::line).collect();
        // One that states nothing means every function.
        if select.iter().any(|one| one == "{}") {
            return line.done();
        }
        line.with("select", format!("[{}]", select.join(", "))).done()
    }
}

#[cfg(test)]
mod tests;
