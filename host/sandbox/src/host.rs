//! The contract's imports, answered from the call's capabilities.
//!
//! A handle's representation is the number that the capabilities know it by: the component holds an index into a table of
//! wasmtime's, which holds that number and its type, so nothing here can be forged and nothing has to be looked up.

mod capabilities;

use crate::bindings::types::{Device, Error, ErrorKind, MountSource, Node, NodeKind};
use crate::bindings::{config, hardware, host_paths, log, types};
use crate::state::CallState;
use devgate_types::component::{Answered, Capabilities, LogLevel, NodeInfo};
use devgate_types::{DeviceHandle, Failure, FailureKind, MountHandle, NodeHandle, same};
use wasmtime::Result;
use wasmtime::component::Resource;

/// The longest string that the contract allows as an argument, in bytes.
const STRING: usize = 4_096;
/// The longest list that the contract allows as an argument.
const LIST: usize = 4_096;

pub(super) fn device(handle: &Resource<Device>) -> DeviceHandle {
    DeviceHandle(handle.rep())
}

fn node(handle: &Resource<Node>) -> NodeHandle {
    NodeHandle(handle.rep())
}

fn mount(handle: &Resource<MountSource>) -> MountHandle {
    MountHandle(handle.rep())
}

fn numbers(devices: Vec<DeviceHandle>) -> Vec<u32> {
    devices.into_iter().map(|device| device.0).collect()
}

impl CallState {
    /// An argument that the component passed: counted, and refused where it is longer than the contract allows.
    pub(super) fn argument(&mut self, text: &str) -> Result<Result<(), Error>> {
        self.meter.transfer(text.len())?;
        if text.len() > STRING {
            let message = format!("an argument has {} bytes; at most {STRING} are allowed", text.len());
            return Ok(Err(Failure::new(FailureKind::Limit, message).into()));
        }
        Ok(Ok(()))
    }

    /// Asks the capabilities for something by these arguments.
    pub(super) fn asked<T>(
        &mut self,
        arguments: &[&str],
        answer: impl FnOnce(&mut dyn Capabilities) -> Answered<T>,
    ) -> Result<Result<T, Error>> {
        for text in arguments {
            if let Err(error) = self.argument(text)? {
                return Ok(Err(error));
            }
        }
        Ok(self.ask(answer)?.map_err(Error::from))
    }

    fn own<T: 'static>(&mut self, number: u32) -> Result<Resource<T>> {
        self.meter.take_handles(1)?;
        Ok(Resource::new_own(number))
    }

    /// A handle for the component, of what it asked for.
    fn own_one<T: 'static>(&mut self, found: Result<u32, Error>) -> Result<Result<Resource<T>, Error>> {
        found.map_or_else(|error| Ok(Err(error)), |number| self.own(number).map(Ok))
    }

    /// The same, of several.
    fn own_all<T: 'static>(&mut self, found: Result<Vec<u32>, Error>) -> Result<Result<Vec<Resource<T>>, Error>> {
        match found {
            Ok(numbers) => numbers.into_iter().map(|number| self.own(number)).collect::<Result<_>>().map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    fn node_info(&mut self, handle: NodeHandle) -> Result<NodeInfo> {
        self.ask_infallible(|host| host.node(handle))
    }
}

impl types::Host for CallState {}

impl types::HostDevice for CallState {
    fn duplicate(&mut self, handle: Resource<Device>) -> Result<Resource<Device>> {
        self.meter.host_call()?;
        self.own(handle.rep())
    }

    fn name(&mut self, handle: Resource<Device>) -> Result<String> {
        self.ask_infallible(|host| host.device_name(device(&handle)))
    }

    fn subsystem(&mut self, handle: Resource<Device>) -> Result<String> {
        self.ask_infallible(|host| host.device_subsystem(device(&handle)))
    }

    fn driver(&mut self, handle: Resource<Device>) -> Result<Option<String>> {
        self.ask_infallible(|host| host.device_driver(device(&handle)))
    }

    fn location(&mut self, handle: Resource<Device>) -> Result<String> {
        self.ask_infallible(|host| host.device_location(device(&handle)))
    }

    fn numa_node(&mut self, handle: Resource<Device>) -> Result<Option<u32>> {
        self.ask_infallible(|host| host.device_numa_node(device(&handle)))
    }

    fn attribute(&mut self, handle: Resource<Device>, path: String) -> Result<Result<String, Error>> {
        self.asked(&[&path], |host| host.attribute(device(&handle), &path))
    }

    fn attributes(&mut self, handle: Resource<Device>, paths: Vec<String>) -> Result<Vec<Result<String, Error>>> {
        if paths.len() > LIST {
            return Err(Self::broke(&format!("attributes: {} paths; at most {LIST} are allowed", paths.len())));
        }
        self.meter.host_call()?;
        let mut values = Vec::with_capacity(paths.len());
        for path in paths {
            values.push(match self.argument(&path)? {
                Ok(()) => self.ask_uncounted(|host| host.attribute(device(&handle), &path))?.map_err(Error::from),
                Err(error) => Err(error),
            });
        }
        Ok(values)
    }

    fn attribute_bytes(
        &mut self,
        handle: Resource<Device>,
        path: String,
        offset: u64,
        length: u32,
    ) -> Result<Result<Vec<u8>, Error>> {
        self.asked(&[&path], |host| host.attribute_bytes(device(&handle), &path, offset, length))
    }

    fn entries(&mut self, handle: Resource<Device>, path: String) -> Result<Result<Vec<String>, Error>> {
        self.asked(&[&path], |host| host.entries(device(&handle), &path))
    }

    fn link(&mut self, handle: Resource<Device>, path: String) -> Result<Result<String, Error>> {
        self.asked(&[&path], |host| host.link(device(&handle), &path))
    }

    fn related(&mut self, handle: Resource<Device>, link: String) -> Result<Result<Resource<Device>, Error>> {
        let related = self.asked(&[&link], |host| host.related(device(&handle), &link))?;
        self.own_one(related.map(|device| device.0))
    }

    fn parent(&mut self, handle: Resource<Device>) -> Result<Option<Resource<Device>>> {
        let parent = self.ask_infallible(|host| host.parent(device(&handle)))?;
        parent.map(|parent| self.own(parent.0)).transpose()
    }

    fn children(
        &mut self,
        handle: Resource<Device>,
        subsystem: String,
    ) -> Result<Result<Vec<Resource<Device>>, Error>> {
        let children = self.asked(&[&subsystem], |host| host.children(device(&handle), &subsystem))?;
        self.own_all(children.map(numbers))
    }

    fn nodes(&mut self, handle: Resource<Device>) -> Result<Result<Vec<Resource<Node>>, Error>> {
        let nodes = self.asked(&[], |host| host.nodes(device(&handle)))?;
        self.own_all(nodes.map(|nodes| nodes.into_iter().map(|node| node.0).collect()))
    }

    fn drop(&mut self, _: Resource<Device>) -> Result<()> {
        self.meter.drop_handle();
        Ok(())
    }
}

impl types::HostNode for CallState {
    fn path(&mut self, handle: Resource<Node>) -> Result<String> {
        Ok(self.node_info(node(&handle))?.path)
    }

    fn kind(&mut self, handle: Resource<Node>) -> Result<NodeKind> {
        Ok(self.node_info(node(&handle))?.number.kind.into())
    }

    fn number(&mut self, handle: Resource<Node>) -> Result<(u32, u32)> {
        let number = self.node_info(node(&handle))?.number;
        Ok((number.major, number.minor))
    }

    fn owner(&mut self, handle: Resource<Node>) -> Result<Option<(String, String)>> {
        Ok(self.node_info(node(&handle))?.owner)
    }

    fn drop(&mut self, _: Resource<Node>) -> Result<()> {
        self.meter.drop_handle();
        Ok(())
    }
}

impl types::HostMountSource for CallState {
    fn path(&mut self, handle: Resource<MountSource>) -> Result<String> {
        Ok(self.ask_infallible(|host| host.mount_source(mount(&handle)))?.0)
    }

    fn writable(&mut self, handle: Resource<MountSource>) -> Result<bool> {
        Ok(self.ask_infallible(|host| host.mount_source(mount(&handle)))?.1)
    }

    fn drop(&mut self, _: Resource<MountSource>) -> Result<()> {
        self.meter.drop_handle();
        Ok(())
    }
}

impl hardware::Host for CallState {
    fn devices(&mut self, subsystem: String) -> Result<Result<Vec<Resource<Device>>, Error>> {
        let devices = self.asked(&[&subsystem], |host| host.devices(&subsystem))?;
        self.own_all(devices.map(numbers))
    }

    fn device_by_name(&mut self, subsystem: String, name: String) -> Result<Result<Resource<Device>, Error>> {
        let found = self.asked(&[&subsystem, &name], |host| host.device_by_name(&subsystem, &name))?;
        self.own_one(found.map(|device| device.0))
    }
}

impl host_paths::Host for CallState {
    fn node_at(&mut self, path: String) -> Result<Result<Resource<Node>, Error>> {
        let found = self.asked(&[&path], |host| host.node_at(&path))?;
        self.own_one(found.map(|handle| handle.0))
    }

    fn mount(&mut self, name: String) -> Result<Result<Resource<MountSource>, Error>> {
        let found = self.asked(&[&name], |host| host.mount(&name))?;
        self.own_one(found.map(|handle| handle.0))
    }
}

impl config::Host for CallState {
    fn json(&mut self) -> Result<String> {
        self.ask_infallible(|host| Ok(host.config().as_ref().to_owned()))
    }
}

impl log::Host for CallState {
    fn write(&mut self, level: log::Level, message: String) -> Result<()> {
        self.log(level.into(), &message)
    }
}

same!(FailureKind, ErrorKind: Denied NotFound Gone Invalid Io Limit Busy Unsupported Other);
same!(LogLevel, log::Level: Debug Info Warn Error);
same!(devgate_types::NodeKind, NodeKind: Character Block);

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self { kind: failure.kind.into(), code: failure.code, message: failure.message }
    }
}
