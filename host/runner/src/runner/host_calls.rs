//! A runner's questions, answered from the capabilities of the call that is under way.

use super::prefetch::Habits;
use crate::message::question::answer;
use crate::message::wire::{self, Function, answer::Answer as Given};
use devgate_types::component::{Capabilities, Denied};
use devgate_types::load::Interface;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Interfaces of the contract that the policy grants.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interfaces(Arc<BTreeSet<String>>);

impl Interfaces {
    /// Those among a component's imports: each was granted, or it would not have been loaded.
    pub(crate) fn of(imports: &[String]) -> Self {
        let imports = imports.iter().filter_map(|import| Interface::parse(import));
        let ours = imports.filter(|import| import.package == "devgate:plugin");
        Self(Arc::new(ours.map(|import| import.name.to_owned()).collect()))
    }
}

/// The interface that a function is of; `None` if every component has it.
fn interface(function: Function) -> Option<&'static str> {
    match function {
        Function::Devices | Function::DeviceByName => Some("hardware"),
        Function::NodeAt | Function::Mount => Some("host-paths"),
        Function::FileText | Function::FileRead | Function::FileEntries => Some("files"),
        Function::UeventsRecent => Some("uevents"),
        Function::KernelLogSince => Some("kernel-log"),
        Function::ControlWrite => Some("control"),
        Function::StateLoad | Function::StateStore => Some("state"),
        // These take a handle that one of the others gave, or give nothing of the node.
        _ => None,
    }
}

/// The answer to a question. Fails where no component of these imports could ask it.
pub(super) fn serve(
    host: &mut dyn Capabilities,
    ask: wire::Ask,
    interfaces: &Interfaces,
    habits: &mut Habits,
) -> Result<wire::Answer, &'static str> {
    let function = Function::try_from(ask.function).map_err(|_| "it asks what is not in the contract")?;
    if interface(function).is_some_and(|name| !interfaces.0.contains(name)) {
        return Err("it asks what its component does not import");
    }
    let answer = answer(host, function, &ask);
    let ahead = habits.foresee(host, function, ask.handle, answer.as_ref().ok());
    let answer = answer.unwrap_or_else(|denied| match denied {
        Denied::Failure(failure) => Given::Failure(failure.into()),
        Denied::End(error) => Given::End(error.into()),
    });
    Ok(wire::Answer { bytes_read: host.bytes_read(), answer: Some(answer), ahead })
}
