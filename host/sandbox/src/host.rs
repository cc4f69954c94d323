//! The contract's imports, answered from the call's capabilities.
//!
//! A handle's representation is the number that the capabilities know it by: the component holds an index into a table of
//! wasmtime's, which holds that number and its type, so nothing here can be forged and nothing has to be looked up.

mod capabilities;

use crate::bindings::types::{Device, Error, ErrorKind, MountSource, Node, NodeKind};
use crate::bindings::{config, hardware, host_paths, log, types};
use crate::state::CallState;
use devgate_types::component::{LogLevel, NodeInfo};
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

    fn own<T: 'static>(&mut self, number: u32) -> Result<Resource<T>> {
        self.meter.take_handles(1)?;
        Ok(Resource::new_own(number))
    }

    fn own_devices(&mut self, handles: Vec<DeviceHandle>) -> Result<Vec<Resource<Device>>> {
        handles.into_iter().map(|handle| self.own(handle.0)).collect()
    }

    fn node_info(&mut self, handle: NodeHandle) -> Result<NodeInfo> {
        self.ask_infallible(|host| host.node(handle))
    }
}

/// Passes a failure on to the component.
macro_rules! answer {
    ($outcome:expr) => {
        match $outcome? {
            Ok(value) => value,
            Err(failure) => return Ok(Err(failure.into())),
        }
    };
}
pub(super) use answer;

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
        answer!(self.argument(&path));
        Ok(Ok(answer!(self.ask(|host| host.attribute(device(&handle), &path)))))
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
        answer!(self.argument(&path));
        let bytes = self.ask(|host| host.attribute_bytes(device(&handle), &path, offset, length));
        Ok(Ok(answer!(bytes)))
    }

    fn entries(&mut self, handle: Resource<Device>, path: String) -> Result<Result<Vec<String>, Error>> {
        answer!(self.argument(&path));
        Ok(Ok(answer!(self.ask(|host| host.entries(device(&handle), &path)))))
    }

    fn link(&mut self, handle: Resource<Device>, path: String) -> Result<Result<String, Error>> {
        answer!(self.argument(&path));
        Ok(Ok(answer!(self.ask(|host| host.link(device(&handle), &path)))))
    }

    fn related(&mut self, handle: Resource<Device>, link: String) -> Result<Result<Resource<Device>, Error>> {
        answer!(self.argument(&link));
        let related = answer!(self.ask(|host| host.related(device(&handle), &link)));
        self.own(related.0).map(Ok)
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
        answer!(self.argument(&subsystem));
        let children = answer!(self.ask(|host| host.children(device(&handle), &subsystem)));
        self.own_devices(children).map(Ok)
    }

    fn nodes(&mut self, handle: Resource<Device>) -> Result<Result<Vec<Resource<Node>>, Error>> {
        let nodes = answer!(self.ask(|host| host.nodes(device(&handle))));
        let nodes = nodes.into_iter().map(|node| self.own(node.0));
        nodes.collect::<Result<_>>().map(Ok)
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
        answer!(self.argument(&subsystem));
        let devices = answer!(self.ask(|host| host.devices(&subsystem)));
        self.own_devices(devices).map(Ok)
    }

    fn device_by_name(&mut self, subsystem: String, name: String) -> Result<Result<Resource<Device>, Error>> {
        answer!(self.argument(&subsystem));
        answer!(self.argument(&name));
        let found = answer!(self.ask(|host| host.device_by_name(&subsystem, &name)));
        self.own(found.0).map(Ok)
    }
}

impl host_paths::Host for CallState {
    fn node_at(&mut self, path: String) -> Result<Result<Resource<Node>, Error>> {
        answer!(self.argument(&path));
        let found = answer!(self.ask(|host| host.node_at(&path)));
        self.own(found.0).map(Ok)
    }

    fn mount(&mut self, name: String) -> Result<Result<Resource<MountSource>, Error>> {
        answer!(self.argument(&name));
        let found = answer!(self.ask(|host| host.mount(&name)));
        self.own(found.0).map(Ok)
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
