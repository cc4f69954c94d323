//! One work queue, as the driver `idxd` describes it (the kernel's `Documentation/ABI/stable/sysfs-driver-dma-idxd`).

use crate::place::Place;
use devgate_sdk::{Device, Error, Presence, Unit, Verdict};

/// What decides about a queue.
const DECIDES: [&str; 3] = ["state", "type", "mode"];
/// What is told of it: the attribute, and the property.
const TOLD: [(&str, &str); 7] = [
    ("name", "name"),
    ("size", "size"),
    ("priority", "priority"),
    ("threshold", "threshold"),
    ("group_id", "group"),
    ("block_on_fault", "block-on-fault"),
    ("max_transfer_size", "max-transfer-size"),
];

/// A queue that is something to this component.
pub(crate) enum Queue {
    /// For user space and enabled: what it is offered as, and the unit.
    Offered(String, Unit),
    /// Set up for user space and not enabled, and why.
    NotNow(String),
    /// The kernel's, or not set up.
    NotMeant,
}

/// Whether a device of the bus is a queue: groups, engines, accelerators, nodes and who has them open are on it as
/// well.
pub(crate) fn is_queue(name: &str) -> bool {
    name.starts_with("wq")
}

/// Looks at one.
///
/// # Errors
/// Why it cannot be described now.
pub(crate) fn look(device: Device) -> Result<Queue, Error> {
    let [state, kind, mode] = decisive(&device)?;
    if kind != "user" {
        return Ok(Queue::NotMeant);
    }
    if state != "enabled" {
        return Ok(Queue::NotNow(format!("its state is {state}{}", reason(&device))));
    }
    let location = device.location();
    let place =
        Place::of(&location).ok_or_else(|| Error::unsupported(format!("its place {location} is unheard of")))?;
    // Resources are made of the kernel's words: a word that is not one of them is none.
    if !["shared", "dedicated"].contains(&mode.as_str()) {
        return Err(Error::unsupported(format!("its mode reads {mode}")));
    }
    let resource = format!("{}/wq-user-{mode}", place.domain);
    let nodes = device.nodes()?;
    let mut unit = Unit::of(format!("{}-wq{}", place.pci, place.index), device.duplicate(), nodes)
        .with("queue", device.name())
        .with("accelerator", place.accelerator)
        .with("pci", place.pci)
        .with("mode", mode);
    let values = device.attributes(&TOLD.map(|(attribute, _)| attribute.to_owned()));
    for ((_, property), value) in TOLD.into_iter().zip(values) {
        if let Some(value) = value.ok().filter(|value| !value.is_empty()) {
            unit = unit.with(property, value);
        }
    }
    if let Some(numa) = device.numa_node() {
        unit = unit.with("numa", numa.to_string());
    }
    Ok(Queue::Offered(resource, unit))
}

/// How a listed queue is. The host watches presence itself.
pub(crate) fn health(unit: &Unit) -> Verdict {
    let Some(device) = unit.backing.first() else {
        return Verdict::Unknown("nothing is known of its hardware".to_owned());
    };
    let [state, kind, mode] = match decisive(device) {
        Ok(words) => words,
        Err(error) if error.is_absence() => return Verdict::Unhealthy("its work queue is gone".to_owned()),
        Err(error) => return Verdict::Unknown(error.message),
    };
    if state != "enabled" {
        return Verdict::Unhealthy(format!("its state is {state}{}", reason(device)));
    }
    if kind != "user" {
        return Verdict::Unhealthy(format!("its type is {kind} now, and was user"));
    }
    if let Some(was) = unit.property("mode").filter(|was| *was != mode) {
        return Verdict::Unhealthy(format!("its mode is {mode} now, and was {was}"));
    }
    if let Some(state) = accelerator(device, "state").filter(|state| state != "enabled") {
        return Verdict::Unhealthy(format!("its accelerator is {state}"));
    }
    if unit.nodes.is_empty() {
        let why = "no node of it is offered: the policy offers none (`nodes:`), or it is not there";
        return Verdict::Unhealthy(why.to_owned());
    }
    Verdict::Healthy
}

fn decisive(device: &Device) -> Result<[String; 3], Error> {
    let mut words = DECIDES.map(|_| String::new());
    let values = device.attributes(&DECIDES.map(str::to_owned));
    for (word, value) in words.iter_mut().zip(values) {
        *word = value?;
    }
    Ok(words)
}

/// An attribute of the accelerator that a queue is of, where the policy grants that.
fn accelerator(device: &Device, attribute: &str) -> Option<String> {
    device.parent()?.attribute(attribute).if_present().ok().flatten()
}

/// What the accelerator says of the last command that failed, which may be the one that should have enabled the queue.
fn reason(device: &Device) -> String {
    let Some(status) = accelerator(device, "cmd_status").filter(|status| !["0", "0x0"].contains(&status.as_str()))
    else {
        return String::new();
    };
    let hint = match status.as_str() {
        // `enum idxd_scmd_stat` in include/uapi/linux/idxd.h: what an admin can put right.
        "0x80030000" => ": it is in no group",
        "0x80040000" => ": it has no name",
        "0x80050000" | "0x80110000" => ": user space needs an iommu in scalable mode (intel_iommu=on,sm_on)",
        "0x80060000" => ": a shared queue needs a threshold",
        "0x800c0000" => ": the accelerator has no shared queues without PASID (intel_iommu=on,sm_on)",
        "0x800e0000" => ": it has no size",
        "0x80200000" => ": its driver_name is not user",
        _ => "",
    };
    format!(", and the last command's status is {status}{hint}")
}
