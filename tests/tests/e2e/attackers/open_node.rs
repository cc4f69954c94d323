//! A host that checks nothing: each device, node and file is there, and each is given and written to.

use devgate_types::component::{Answered, Capabilities, LogBatch, LogEvent, LogLevel, NodeInfo, Uevent};
use devgate_types::{ByteSize, DeviceHandle, Limits, MountHandle, NodeHandle, NodeKind, NodeNumber, Property};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What is left of a call for the next one, and what all of them said.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) said: Mutex<Vec<String>>,
    blob: Mutex<Vec<u8>>,
    /// Names that handles stand for: of devices, files and mounts.
    names: Mutex<Vec<String>>,
}

impl Kept {
    pub(super) fn say(&self, line: String) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn handle(&self, name: &str) -> u32 {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// What a handle stands for, whichever call it is of.
    pub(super) fn name(&self, handle: u32) -> String {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let at = usize::try_from(handle).unwrap_or(usize::MAX);
        names.get(at).cloned().unwrap_or_else(|| format!("nothing-{handle}"))
    }
}

/// What such a host gives one call.
pub(super) struct OpenNode {
    pub(super) kept: Arc<Kept>,
    limits: Limits,
}

impl OpenNode {
    pub(super) fn new(kept: &Arc<Kept>) -> Self {
        Self { kept: Arc::clone(kept), limits: limits() }
    }
}

/// More than any attacker needs.
pub(super) fn limits() -> Limits {
    Limits {
        cpu: Duration::from_secs(20),
        deadline: Duration::from_secs(40),
        memory: ByteSize::mib(128),
        memories: 8,
        instances: 100,
        tables: 100,
        table_elements: 1_000_000,
        handles: 100_000,
        transfer: ByteSize::mib(64),
        host_calls: 1_000_000,
        read: ByteSize::mib(64),
        log: ByteSize::mib(1),
        component_size: ByteSize::mib(64),
        functions: 1_000_000,
        function_size: ByteSize::mib(16),
    }
}

impl Capabilities for OpenNode {
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn devices(&mut self, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        let names = (0..4).map(|n| format!("{subsystem}-{n}"));
        Ok(names.map(|name| DeviceHandle(self.kept.handle(&name))).collect())
    }
    fn device_by_name(&mut self, _: &str, name: &str) -> Answered<DeviceHandle> {
        Ok(DeviceHandle(self.kept.handle(name)))
    }
    fn device_name(&mut self, device: DeviceHandle) -> Answered<String> {
        Ok(self.kept.name(device.0))
    }
    fn device_subsystem(&mut self, _: DeviceHandle) -> Answered<String> {
        Ok("pci".into())
    }
    fn device_driver(&mut self, _: DeviceHandle) -> Answered<Option<String>> {
        Ok(Some("driver".into()))
    }
    fn device_location(&mut self, device: DeviceHandle) -> Answered<String> {
        Ok(format!("pci0000:00/{}", self.kept.name(device.0)))
    }
    fn device_numa_node(&mut self, _: DeviceHandle) -> Answered<Option<u32>> {
        Ok(Some(0))
    }
    fn attribute(&mut self, _: DeviceHandle, path: &str) -> Answered<String> {
        Ok(format!("what is in {path}"))
    }
    fn attribute_bytes(&mut self, _: DeviceHandle, _: &str, _: u64, length: u32) -> Answered<Vec<u8>> {
        Ok(vec![0x41; usize::try_from(length).unwrap_or(0)])
    }
    fn entries(&mut self, _: DeviceHandle, path: &str) -> Answered<Vec<String>> {
        Ok(vec![format!("what is in {path}")])
    }
    fn link(&mut self, _: DeviceHandle, path: &str) -> Answered<String> {
        Ok(format!("where {path} leads"))
    }
    fn related(&mut self, _: DeviceHandle, link: &str) -> Answered<DeviceHandle> {
        Ok(DeviceHandle(self.kept.handle(link)))
    }
    fn parent(&mut self, device: DeviceHandle) -> Answered<Option<DeviceHandle>> {
        let name = format!("above-{}", self.kept.name(device.0));
        Ok(Some(DeviceHandle(self.kept.handle(&name))))
    }
    fn children(&mut self, _: DeviceHandle, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        self.devices(subsystem)
    }
    fn nodes(&mut self, device: DeviceHandle) -> Answered<Vec<NodeHandle>> {
        let path = format!("/dev/{}", self.kept.name(device.0));
        Ok(vec![NodeHandle(self.kept.handle(&path))])
    }
    fn node_at(&mut self, path: &str) -> Answered<NodeHandle> {
        Ok(NodeHandle(self.kept.handle(path)))
    }
    fn mount(&mut self, name: &str) -> Answered<MountHandle> {
        Ok(MountHandle(self.kept.handle(name)))
    }
    fn node(&mut self, node: NodeHandle) -> Answered<NodeInfo> {
        Ok(NodeInfo {
            path: self.kept.name(node.0),
            number: NodeNumber { kind: NodeKind::Character, major: 240, minor: node.0 },
            owner: None,
        })
    }
    fn mount_source(&mut self, mount: MountHandle) -> Answered<(String, bool)> {
        Ok((self.kept.name(mount.0), true))
    }
    fn file_text(&mut self, path: &str) -> Answered<String> {
        Ok(format!("what is in {path}"))
    }
    fn file_read(&mut self, _: &str, _: u64, length: u32) -> Answered<Vec<u8>> {
        Ok(vec![0x41; usize::try_from(length).unwrap_or(0)])
    }
    fn file_entries(&mut self, path: &str) -> Answered<Vec<String>> {
        Ok(vec![format!("what is in {path}")])
    }
    fn kernel_log_since(&mut self, _: &str, _: u32) -> Answered<LogBatch> {
        Ok(LogBatch {
            events: vec![LogEvent { pattern: 0, captures: vec!["a line of the kernel".into()], micros: 1 }],
            cursor: "next".into(),
            gap: false,
        })
    }
    fn control_write(&mut self, device: DeviceHandle, path: &str, value: &str) -> Answered<()> {
        self.kept.say(format!("wrote {value} to {path} of {}", self.kept.name(device.0)));
        Ok(())
    }
    fn clock_now(&mut self) -> Answered<u64> {
        Ok(1)
    }
    fn uevents_recent(&mut self, _: DeviceHandle) -> Answered<Vec<Uevent>> {
        let words = vec![Property { name: "SAID".into(), value: "by a driver".into() }];
        Ok(vec![Uevent { millis: 1, words }])
    }
    fn state_load(&mut self) -> Answered<Vec<u8>> {
        Ok(self.kept.blob.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
    fn state_store(&mut self, blob: &[u8]) -> Answered<()> {
        blob.clone_into(&mut self.kept.blob.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }
    fn config(&mut self) -> Arc<str> {
        "null".into()
    }
    fn log(&mut self, _: LogLevel, message: &str) {
        self.kept.say(message.to_owned());
    }
    fn bytes_read(&self) -> u64 {
        0
    }
}
