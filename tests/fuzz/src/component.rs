//! A component that asks everything, whatever it is called for, and answers with what it was given.

use devgate_types::component::{Answered, Call, CallKind, Capabilities, Cost, Denied, LogLevel, Output};
use devgate_types::{
    CallError, Condition, DeviceHandle, Effect, Failure, FailureKind, MountHandle, NodeHandle, Pool, Property, Unit,
    Verdict,
};

/// The call ends where the host says so; what cannot be had is passed over.
fn had<T: Default>(answered: Answered<T>) -> Result<T, CallError> {
    match answered {
        Ok(value) => Ok(value),
        Err(Denied::Failure(_)) => Ok(T::default()),
        Err(Denied::End(error)) => Err(error),
    }
}

fn ask(host: &mut dyn Capabilities) -> Result<Vec<Property>, CallError> {
    host.log(LogLevel::Info, "a line\nand another");
    let device = DeviceHandle(5);
    let mut all = vec![host.config().to_string(), had(host.attribute(device, "vendor"))?];
    for device in had(host.devices("pci"))?.into_iter().take(16) {
        all.push(had(host.device_name(device))?);
        all.push(had(host.device_driver(device))?.unwrap_or_default());
        all.push(format!("{:?} {:?}", had(host.device_numa_node(device))?, had(host.parent(device))?));
        for node in had(host.nodes(device))?.into_iter().take(4) {
            all.push(host.node(node).map(|node| node.path).unwrap_or_default());
        }
    }
    all.extend(had(host.entries(device, ""))?);
    all.push(had(host.file_text("/proc/version"))?);
    all.push(had(host.mount_source(MountHandle(7)))?.0);
    all.push(had(host.kernel_log_since("", 4))?.cursor);
    let blob = had(host.state_load())?;
    had(host.state_store(&blob))?;
    had(host.control_write(device, "reset", "1"))?;
    let property = |value| Property { name: "a".to_owned(), value };
    Ok(all.into_iter().map(property).collect())
}

/// What a component is called for, and an answer that is made of what the host said.
pub(crate) fn curious(call: &Call<'_>, mut host: Box<dyn Capabilities>) -> Result<(Output, Cost), CallError> {
    let mut output = Output::default();
    if call.kind == CallKind::Release {
        return Err(CallError::Failed(Failure::new(FailureKind::Busy, call.resource)));
    }
    let properties = ask(host.as_mut())?;
    match call.kind {
        CallKind::Enumerate => {
            let unit =
                Unit { id: "a".to_owned(), backing: vec![DeviceHandle(1)], nodes: vec![NodeHandle(1)], properties };
            output.pools.push(Pool {
                resource: "vendor.com/a".to_owned(),
                units: vec![unit],
                shared_nodes: Vec::new(),
                properties: Vec::new(),
            });
        }
        CallKind::Health => output.verdicts = vec![Verdict::Unknown(call.resource.to_owned()); call.units.len()],
        CallKind::Allocate => {
            output.edits.env = properties;
            output.edits.annotations = call.units.iter().flat_map(|unit| unit.properties.clone()).collect();
        }
        CallKind::Choose => {
            let others = call.units.iter().map(|unit| unit.id.clone());
            let size = usize::try_from(call.size).unwrap();
            output.choice = call.must_include.iter().cloned().chain(others).take(size).collect();
        }
        CallKind::Examine => {
            let condition =
                |Property { value, .. }| Condition { key: "a".to_owned(), effect: Effect::NoNew, message: value };
            let of_unit: Vec<_> = properties.into_iter().map(condition).collect();
            output.conditions = vec![of_unit; call.units.len()];
        }
        CallKind::Prepare | CallKind::Release => {}
    }
    Ok((output, Cost::default()))
}
