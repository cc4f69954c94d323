//! The host of one call: what the component asks natively goes to the capabilities that the plugin layer made for the call.

use crate::answer::error;
use crate::seen::{Said, Seen, Write};
use devgate_policy::{Grant, PluginPolicy};
use devgate_sdk::kernel_log::{Batch, Event};
use devgate_sdk::native::Host;
use devgate_sdk::native::log::Level;
use devgate_sdk::{Error, ErrorKind, NodeKind, Property, uevents};
use devgate_types::component::{Answered, Capabilities, Denied, LogLevel, NodeInfo, Uevent};
use devgate_types::{
    CallError, DeviceHandle, FailureKind, GuestFault, HostFault, Limit, Limits, MountHandle, NodeHandle,
    NodeKind as ModelKind,
};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

/// The longest string that the contract allows as an argument, in bytes.
const STRING: usize = 4_096;
/// The longest list that the contract allows as an argument.
const LIST: usize = 4_096;

/// Why the host ended a call; unwinds out of the component, as a trap does.
pub(crate) struct Ended(pub(crate) CallError);

/// What is asked of the capabilities, on the thread that has them: a host of the component's own thread is lent nothing.
pub(crate) type Question = Box<dyn FnOnce(&mut dyn Capabilities) + Send>;

/// One call.
pub(crate) struct Asked {
    questions: SyncSender<Question>,
    limits: Limits,
    policy: Arc<PluginPolicy>,
    seen: Seen,
    pub(crate) host_calls: u32,
    handles: u32,
}

impl Asked {
    pub(crate) fn new(
        questions: SyncSender<Question>,
        limits: Limits,
        policy: &Arc<PluginPolicy>,
        seen: &Seen,
    ) -> Self {
        Self { questions, limits, policy: Arc::clone(policy), seen: seen.clone(), host_calls: 0, handles: 0 }
    }

    /// Handles that the component is handed.
    pub(crate) fn take_handles(&mut self, more: usize) {
        let most = self.limits.handles;
        self.handles = self.handles.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        if self.handles > most {
            end(GuestFault::Limit(Limit::Handles(most)).into());
        }
    }

    /// What a host answers where the policy does not grant an interface that the component can do without. Fails the test where no
    /// host would have loaded the component.
    fn must_be_granted(&mut self, interface: &str) -> Result<(), Error> {
        if let Grant::NotGranted { key } = self.policy.grants(interface) {
            if self.seen.notes().optional.iter().any(|optional| optional == interface) {
                self.count();
                return Err(Error::not_granted(interface));
            }
            panic!(
                "the component calls {interface}, and the policy's plugin {} has no \"{key}:\": a host refuses to load it",
                self.policy.name
            );
        }
        Ok(())
    }

    fn count(&mut self) {
        let most = self.limits.host_calls;
        self.host_calls = self.host_calls.saturating_add(1);
        if self.host_calls > most {
            end(GuestFault::Limit(Limit::HostCalls(most)).into());
        }
    }

    /// What the capabilities answer, for the component.
    fn ask<T: Send + 'static, const N: usize>(
        &mut self,
        arguments: [&str; N],
        question: impl FnOnce(&mut dyn Capabilities, [&str; N]) -> Answered<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.count();
        self.ask_again(arguments, question)
    }

    fn ask_again<T: Send + 'static, const N: usize>(
        &mut self,
        arguments: [&str; N],
        question: impl FnOnce(&mut dyn Capabilities, [&str; N]) -> Answered<T> + Send + 'static,
    ) -> Result<T, Error> {
        if let Some(long) = arguments.iter().map(|text| text.len()).find(|length| *length > STRING) {
            let message = format!("an argument has {long} bytes; at most {STRING} are allowed");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let arguments = arguments.map(str::to_owned);
        let answer = self.put(move |host| question(host, arguments.each_ref().map(String::as_str)));
        answer.map_err(|denied| match denied {
            Denied::Failure(failure) => {
                if failure.kind == FailureKind::Denied {
                    self.seen.denied(&failure.message);
                }
                error(failure)
            }
            Denied::End(error) => end(error),
        })
    }

    /// Puts a question to the thread that has the capabilities.
    fn put<T: Send + 'static>(&self, question: impl FnOnce(&mut dyn Capabilities) -> T + Send + 'static) -> T {
        let (say, said) = sync_channel(1);
        // An answer that is not waited for is none.
        let put = self.questions.send(Box::new(move |host| drop(say.send(question(host)))));
        match put.ok().and_then(|()| said.recv().ok()) {
            Some(answer) => answer,
            None => end(HostFault("the host of a call is gone".to_owned()).into()),
        }
    }

    /// What the contract says cannot fail.
    fn ask_sure<T: Send + 'static>(
        &mut self,
        question: impl FnOnce(&mut dyn Capabilities) -> Answered<T> + Send + 'static,
    ) -> T {
        match self.ask([], |host, []| question(host)) {
            Ok(value) => value,
            Err(error) => panic!("the host answered with a failure where none is possible: {}", error.message),
        }
    }

    fn info(&mut self, node: u32) -> NodeInfo {
        self.ask_sure(move |host| host.node(NodeHandle(node)))
    }

    fn own_devices(&mut self, devices: Vec<DeviceHandle>) -> Vec<u32> {
        self.take_handles(devices.len());
        devices.into_iter().map(|device| device.0).collect()
    }
}

/// Ends the call.
fn end(error: CallError) -> ! {
    resume_unwind(Box::new(Ended(error)))
}

impl Host for Asked {
    fn devices(&mut self, subsystem: &str) -> Result<Vec<u32>, Error> {
        self.must_be_granted("hardware")?;
        let devices = self.ask([subsystem], move |host, [subsystem]| host.devices(subsystem))?;
        Ok(self.own_devices(devices))
    }

    fn device_by_name(&mut self, subsystem: &str, name: &str) -> Result<u32, Error> {
        self.must_be_granted("hardware")?;
        let device =
            self.ask([subsystem, name], move |host, [subsystem, name]| host.device_by_name(subsystem, name))?;
        self.take_handles(1);
        Ok(device.0)
    }

    fn device_name(&mut self, device: u32) -> String {
        self.ask_sure(move |host| host.device_name(DeviceHandle(device)))
    }

    fn device_subsystem(&mut self, device: u32) -> String {
        self.ask_sure(move |host| host.device_subsystem(DeviceHandle(device)))
    }

    fn device_driver(&mut self, device: u32) -> Option<String> {
        self.ask_sure(move |host| host.device_driver(DeviceHandle(device)))
    }

    fn device_location(&mut self, device: u32) -> String {
        self.ask_sure(move |host| host.device_location(DeviceHandle(device)))
    }

    fn device_numa_node(&mut self, device: u32) -> Option<u32> {
        self.ask_sure(move |host| host.device_numa_node(DeviceHandle(device)))
    }

    fn attributes(&mut self, device: u32, paths: &[&str]) -> Vec<Result<String, Error>> {
        if paths.len() > LIST {
            let message = format!("attributes: {} paths; at most {LIST} are allowed", paths.len());
            end(GuestFault::contract(&message).into());
        }
        self.count();
        let mut value =
            |path: &&str| self.ask_again([path], move |host, [path]| host.attribute(DeviceHandle(device), path));
        paths.iter().map(&mut value).collect()
    }

    fn attribute_bytes(&mut self, device: u32, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
        self.ask([path], move |host, [path]| host.attribute_bytes(DeviceHandle(device), path, offset, length))
    }

    fn entries(&mut self, device: u32, path: &str) -> Result<Vec<String>, Error> {
        self.ask([path], move |host, [path]| host.entries(DeviceHandle(device), path))
    }

    fn link(&mut self, device: u32, path: &str) -> Result<String, Error> {
        self.ask([path], move |host, [path]| host.link(DeviceHandle(device), path))
    }

    fn related(&mut self, device: u32, link: &str) -> Result<u32, Error> {
        let related = self.ask([link], move |host, [link]| host.related(DeviceHandle(device), link))?;
        self.take_handles(1);
        Ok(related.0)
    }

    fn parent(&mut self, device: u32) -> Option<u32> {
        let parent = self.ask_sure(move |host| host.parent(DeviceHandle(device)))?;
        self.take_handles(1);
        Some(parent.0)
    }

    fn children(&mut self, device: u32, subsystem: &str) -> Result<Vec<u32>, Error> {
        let children =
            self.ask([subsystem], move |host, [subsystem]| host.children(DeviceHandle(device), subsystem))?;
        Ok(self.own_devices(children))
    }

    fn nodes(&mut self, device: u32) -> Result<Vec<u32>, Error> {
        let nodes = self.ask([], move |host, []| host.nodes(DeviceHandle(device)))?;
        self.take_handles(nodes.len());
        Ok(nodes.into_iter().map(|node| node.0).collect())
    }

    fn node_at(&mut self, path: &str) -> Result<u32, Error> {
        self.must_be_granted("host-paths")?;
        let node = self.ask([path], move |host, [path]| host.node_at(path))?;
        self.take_handles(1);
        Ok(node.0)
    }

    fn mount(&mut self, name: &str) -> Result<u32, Error> {
        self.must_be_granted("host-paths")?;
        let mount = self.ask([name], move |host, [name]| host.mount(name))?;
        self.take_handles(1);
        Ok(mount.0)
    }

    fn node_path(&mut self, node: u32) -> String {
        self.info(node).path
    }

    fn node_number(&mut self, node: u32) -> (NodeKind, u32, u32) {
        let number = self.info(node).number;
        let kind = match number.kind {
            ModelKind::Character => NodeKind::Character,
            ModelKind::Block => NodeKind::Block,
        };
        (kind, number.major, number.minor)
    }

    fn node_owner(&mut self, node: u32) -> Option<(String, String)> {
        self.info(node).owner
    }

    fn mount_path(&mut self, mount: u32) -> String {
        self.ask_sure(move |host| host.mount_source(MountHandle(mount))).0
    }

    fn mount_writable(&mut self, mount: u32) -> bool {
        self.ask_sure(move |host| host.mount_source(MountHandle(mount))).1
    }

    fn file_text(&mut self, path: &str) -> Result<String, Error> {
        self.must_be_granted("files")?;
        self.ask([path], move |host, [path]| host.file_text(path))
    }

    fn file_read(&mut self, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
        self.must_be_granted("files")?;
        self.ask([path], move |host, [path]| host.file_read(path, offset, length))
    }

    fn file_entries(&mut self, path: &str) -> Result<Vec<String>, Error> {
        self.must_be_granted("files")?;
        self.ask([path], move |host, [path]| host.file_entries(path))
    }

    fn log_since(&mut self, cursor: &str, most: u32) -> Result<Batch, Error> {
        self.must_be_granted("kernel-log")?;
        let batch = self.ask([cursor], move |host, [cursor]| host.kernel_log_since(cursor, most))?;
        let events = batch.events.into_iter().map(|event| Event {
            pattern: event.pattern,
            captures: event.captures,
            time: event.micros,
        });
        Ok(Batch { events: events.collect(), cursor: batch.cursor, gap: batch.gap })
    }

    fn control_write(&mut self, device: u32, path: &str, value: &str) -> Result<(), Error> {
        self.must_be_granted("control")?;
        self.ask([path, value], move |host, [path, value]| host.control_write(DeviceHandle(device), path, value))?;
        let device = self.device_name(device);
        self.seen.notes().writes.push(Write { device, attribute: path.to_owned(), value: value.to_owned() });
        Ok(())
    }

    fn clock_now(&mut self) -> u64 {
        self.ask_sure(|host| host.clock_now())
    }

    fn uevents_recent(&mut self, device: u32) -> Result<Vec<uevents::Event>, Error> {
        self.must_be_granted("uevents")?;
        let events = self.ask([], move |host, []| host.uevents_recent(DeviceHandle(device)))?;
        let word = |word: devgate_types::Property| Property { name: word.name, value: word.value };
        let event =
            |event: Uevent| uevents::Event { time: event.millis, words: event.words.into_iter().map(word).collect() };
        Ok(events.into_iter().map(event).collect())
    }

    fn state_load(&mut self) -> Result<Vec<u8>, Error> {
        self.must_be_granted("state")?;
        self.ask([], |host, []| host.state_load())
    }

    fn state_store(&mut self, blob: &[u8]) -> Result<(), Error> {
        self.must_be_granted("state")?;
        let kept = blob.to_vec();
        self.ask([], move |host, []| host.state_store(&kept))?;
        self.seen.notes().blob = blob.to_vec();
        Ok(())
    }

    fn config(&mut self) -> String {
        self.count();
        self.put(|host| host.config()).as_ref().to_owned()
    }

    fn log(&mut self, level: Level, message: &str) {
        self.count();
        let level = match level {
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Warn => LogLevel::Warn,
            Level::Error => LogLevel::Error,
        };
        let said = Said { level, text: message.to_owned() };
        let line = said.text.clone();
        self.put(move |host| host.log(level, &line));
        let mut notes = self.seen.notes();
        if !notes.said.contains(&said) {
            notes.said.push(said);
        }
    }

    fn duplicated(&mut self) {
        self.count();
        self.take_handles(1);
    }

    fn dropped(&mut self) {
        self.handles = self.handles.saturating_sub(1);
    }
}
