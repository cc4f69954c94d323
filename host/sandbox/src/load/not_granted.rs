//! Interfaces that the policy does not grant to a component that can do without them: each of their functions fails, and nothing is
//! asked of the host.
//!
//! Their types are the contract's, and not what the component says of them: what it passes costs here what it would cost where they
//! are granted, and one of another type is refused as it is there.

use crate::bindings::types::{Device, Error, MountSource, Node};
use crate::bindings::{control, files, hardware, host_paths, kernel_log, state, uevents};
use crate::state::CallState;
use devgate_types::load::{Interface, NOT_GRANTED};
use devgate_types::{Failure, FailureKind};
use wasmtime::Result;
use wasmtime::component::{HasData, Linker, Resource};

/// Adds these interfaces, by their whole names.
pub(super) fn add(linker: &mut Linker<CallState>, interfaces: &[String]) -> Result<()> {
    for interface in interfaces.iter().filter_map(|name| Interface::parse(name)) {
        match interface.name {
            "hardware" => hardware::add_to_linker::<_, Refusing>(linker, refusing)?,
            "files" => files::add_to_linker::<_, Refusing>(linker, refusing)?,
            "kernel-log" => kernel_log::add_to_linker::<_, Refusing>(linker, refusing)?,
            "control" => control::add_to_linker::<_, Refusing>(linker, refusing)?,
            "state" => state::add_to_linker::<_, Refusing>(linker, refusing)?,
            "uevents" => uevents::add_to_linker::<_, Refusing>(linker, refusing)?,
            "host-paths" => host_paths::add_to_linker::<_, Refusing>(linker, refusing)?,
            _ => {}
        }
    }
    Ok(())
}

/// A call, for what counts in it. It has the host's capabilities, which nothing here asks.
struct NotGranted<'a>(&'a mut CallState);

fn refusing(call: &mut CallState) -> NotGranted<'_> {
    NotGranted(call)
}

struct Refusing;

impl HasData for Refusing {
    type Data<'a> = NotGranted<'a>;
}

impl NotGranted<'_> {
    /// Counts as any other call to the host does: a component may ask only so often.
    fn refuse<T>(&mut self, interface: &str) -> Result<Result<T, Error>> {
        self.0.meter.host_call()?;
        let failure = Failure::new(FailureKind::Denied, format!("{interface} is not granted by the policy"));
        Ok(Err(failure.with_code(NOT_GRANTED).into()))
    }
}

impl hardware::Host for NotGranted<'_> {
    fn devices(&mut self, _: String) -> Result<Result<Vec<Resource<Device>>, Error>> {
        self.refuse("hardware")
    }

    fn device_by_name(&mut self, _: String, _: String) -> Result<Result<Resource<Device>, Error>> {
        self.refuse("hardware")
    }
}

impl host_paths::Host for NotGranted<'_> {
    fn node_at(&mut self, _: String) -> Result<Result<Resource<Node>, Error>> {
        self.refuse("host-paths")
    }

    fn mount(&mut self, _: String) -> Result<Result<Resource<MountSource>, Error>> {
        self.refuse("host-paths")
    }
}

impl files::Host for NotGranted<'_> {
    fn text(&mut self, _: String) -> Result<Result<String, Error>> {
        self.refuse("files")
    }

    fn read(&mut self, _: String, _: u64, _: u32) -> Result<Result<Vec<u8>, Error>> {
        self.refuse("files")
    }

    fn entries(&mut self, _: String) -> Result<Result<Vec<String>, Error>> {
        self.refuse("files")
    }
}

impl kernel_log::Host for NotGranted<'_> {
    fn since(&mut self, _: String, _: u32) -> Result<Result<kernel_log::Batch, Error>> {
        self.refuse("kernel-log")
    }
}

impl control::Host for NotGranted<'_> {
    fn write(&mut self, _: Resource<Device>, _: String, _: String) -> Result<Result<(), Error>> {
        self.refuse("control")
    }
}

impl uevents::Host for NotGranted<'_> {
    fn recent(&mut self, _: Resource<Device>) -> Result<Result<Vec<uevents::Event>, Error>> {
        self.refuse("uevents")
    }
}

impl state::Host for NotGranted<'_> {
    fn load(&mut self) -> Result<Result<Vec<u8>, Error>> {
        self.refuse("state")
    }

    fn store(&mut self, _: Vec<u8>) -> Result<Result<(), Error>> {
        self.refuse("state")
    }
}
