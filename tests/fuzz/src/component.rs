//! A component that asks everything, whatever it is called for, and answers with what it was given.

use devgate_types::component::{Answer, Answered, Capabilities, Component, Cost, Denied, LogLevel, Profile};
use devgate_types::{
    CallError, DeviceHandle, Edits, Failure, FailureKind, MountHandle, NodeHandle, Pool, Property, Unit, Verdict,
};

/// The component.
#[derive(Default)]
pub(crate) struct Curious(Profile);

type Host = Box<dyn Capabilities>;

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

/// An answer that is made of what the host said.
fn answer<T>(mut host: Host, of: impl FnOnce(Vec<Property>) -> T) -> Result<Answer<T>, CallError> {
    let value = of(ask(host.as_mut())?);
    let cost = Cost::default();
    Ok(Answer { value, host, cost })
}

impl Component for Curious {
    fn profile(&self) -> &Profile {
        &self.0
    }

    fn enumerate(&self, host: Host) -> Result<Answer<Vec<Pool>>, CallError> {
        answer(host, |properties| {
            let unit =
                Unit { id: "a".to_owned(), backing: vec![DeviceHandle(1)], nodes: vec![NodeHandle(1)], properties };
            vec![Pool {
                resource: "vendor.com/a".to_owned(),
                units: vec![unit],
                shared_nodes: Vec::new(),
                properties: Vec::new(),
            }]
        })
    }

    fn health(&self, host: Host, resource: &str, units: &[Unit]) -> Result<Answer<Vec<Verdict>>, CallError> {
        answer(host, |_| vec![Verdict::Unknown(resource.to_owned()); units.len()])
    }

    fn allocate(&self, host: Host, _: &str, units: &[Unit]) -> Result<Answer<Edits>, CallError> {
        answer(host, |env| Edits {
            env,
            annotations: units.iter().flat_map(|unit| unit.properties.clone()).collect(),
            ..Edits::default()
        })
    }

    fn choose(
        &self,
        host: Host,
        _: &str,
        available: &[Unit],
        must_include: &[String],
        size: u32,
    ) -> Result<Answer<Vec<String>>, CallError> {
        let size = usize::try_from(size).unwrap();
        answer(host, |_| {
            let others = available.iter().map(|unit| unit.id.clone());
            must_include.iter().cloned().chain(others).take(size).collect()
        })
    }

    fn prepare(&self, host: Host, _: &str, _: &[Unit]) -> Result<Answer<()>, CallError> {
        answer(host, |_| ())
    }

    fn release(&self, _: Host, resource: &str, _: &[Unit]) -> Result<Answer<()>, CallError> {
        Err(CallError::Failed(Failure::new(FailureKind::Busy, resource)))
    }
}
