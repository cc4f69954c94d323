//! A node with many devices, each of which is like its number.

use devgate_types::component::{Answered, Capabilities, Denied, LogBatch, LogEvent, LogLevel, NodeInfo, Uevent};
use devgate_types::{
    CallError, DeviceHandle, Failure, FailureKind, HostFault, Limits, MountHandle, NodeHandle, NodeKind, NodeNumber,
    Property,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// How many devices there are.
pub(super) const DEVICES: u32 = 300;

/// What one call may ask, and how much it has asked.
pub(super) struct Fake {
    pub(super) limits: Limits,
    pub(super) read: u64,
    pub(super) log: Vec<(LogLevel, String)>,
    /// How long a list of devices takes.
    pub(super) slow: Duration,
    /// Questions about single devices.
    pub(super) asked: Arc<AtomicU32>,
}

impl Fake {
    pub(super) fn new(limits: Limits) -> Box<Self> {
        Box::new(Self { limits, read: 0, log: Vec::new(), slow: Duration::ZERO, asked: Arc::default() })
    }

    fn asks(&mut self, bytes: u64) {
        self.asked.fetch_add(1, SeqCst);
        self.read += bytes;
    }
}

fn no<T>(code: &str) -> Answered<T> {
    Err(Failure::new(FailureKind::Io, "there is\nnone").with_code(code).into())
}

impl Capabilities for Fake {
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn devices(&mut self, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        std::thread::sleep(self.slow);
        match subsystem {
            "pci" => Ok((0..DEVICES).map(DeviceHandle).collect()),
            "end" => Err(Denied::End(CallError::Host(HostFault("the node is gone".into())))),
            _ => no("EIO"),
        }
    }
    fn device_by_name(&mut self, subsystem: &str, name: &str) -> Answered<DeviceHandle> {
        Ok(DeviceHandle(u32::try_from(subsystem.len() + name.len()).unwrap()))
    }
    fn device_name(&mut self, device: DeviceHandle) -> Answered<String> {
        self.asks(1);
        Ok(format!("device-{}", device.0))
    }
    fn device_subsystem(&mut self, device: DeviceHandle) -> Answered<String> {
        self.asks(1);
        if device.0 == 70 { no("GONE") } else { Ok("pci".into()) }
    }
    fn device_driver(&mut self, device: DeviceHandle) -> Answered<Option<String>> {
        self.asks(1);
        Ok(device.0.is_multiple_of(2).then(|| format!("driver-{}", device.0)))
    }
    fn device_location(&mut self, device: DeviceHandle) -> Answered<String> {
        Ok(format!("pci0000:00/{}", device.0))
    }
    fn device_numa_node(&mut self, device: DeviceHandle) -> Answered<Option<u32>> {
        Ok(device.0.is_multiple_of(3).then_some(device.0))
    }
    fn attribute(&mut self, device: DeviceHandle, path: &str) -> Answered<String> {
        self.asks(100);
        if path == "none" { no("ENOENT") } else { Ok(format!("{path} of {}", device.0)) }
    }
    fn attribute_bytes(&mut self, _: DeviceHandle, path: &str, offset: u64, length: u32) -> Answered<Vec<u8>> {
        Ok(format!("{path} {offset} {length}").into_bytes())
    }
    fn entries(&mut self, _: DeviceHandle, path: &str) -> Answered<Vec<String>> {
        Ok(vec![path.into(), String::new()])
    }
    fn link(&mut self, _: DeviceHandle, path: &str) -> Answered<String> {
        Ok(path.to_uppercase())
    }
    fn related(&mut self, device: DeviceHandle, _: &str) -> Answered<DeviceHandle> {
        Ok(DeviceHandle(device.0 + 1))
    }
    fn parent(&mut self, device: DeviceHandle) -> Answered<Option<DeviceHandle>> {
        Ok((device.0 > 0).then(|| DeviceHandle(device.0 - 1)))
    }
    fn children(&mut self, device: DeviceHandle, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        if subsystem == "usb" { Ok(vec![device; 3]) } else { Ok(vec![]) }
    }
    fn nodes(&mut self, device: DeviceHandle) -> Answered<Vec<NodeHandle>> {
        Ok(vec![NodeHandle(2 * device.0), NodeHandle(2 * device.0 + 1)])
    }
    fn node_at(&mut self, path: &str) -> Answered<NodeHandle> {
        Ok(NodeHandle(u32::try_from(path.len()).unwrap()))
    }
    fn mount(&mut self, name: &str) -> Answered<MountHandle> {
        Ok(MountHandle(u32::try_from(name.len()).unwrap()))
    }
    fn node(&mut self, node: NodeHandle) -> Answered<NodeInfo> {
        self.asks(0);
        let (kind, major, minor) = match node.0 % 2 {
            0 => (NodeKind::Character, 10, node.0),
            _ => (NodeKind::Block, 7, node.0),
        };
        Ok(NodeInfo {
            path: format!("/dev/{}", node.0),
            number: NodeNumber { kind, major, minor },
            owner: node.0.is_multiple_of(2).then(|| ("a".into(), "b".into())),
        })
    }
    fn mount_source(&mut self, mount: MountHandle) -> Answered<(String, bool)> {
        Ok((format!("/opt/{}", mount.0), mount.0.is_multiple_of(2)))
    }
    fn file_text(&mut self, path: &str) -> Answered<String> {
        Ok(path.repeat(9_000))
    }
    fn file_read(&mut self, _: &str, offset: u64, length: u32) -> Answered<Vec<u8>> {
        self.read += u64::from(length);
        Ok(vec![u8::try_from(offset).unwrap(); usize::try_from(length).unwrap()])
    }
    fn file_entries(&mut self, path: &str) -> Answered<Vec<String>> {
        Ok(vec![path.into()])
    }
    fn kernel_log_since(&mut self, cursor: &str, most: u32) -> Answered<LogBatch> {
        let event = |pattern| LogEvent { pattern, captures: vec!["x".into(), String::new()], micros: 1 << 40 };
        Ok(LogBatch { events: (0..most).map(event).collect(), cursor: format!("{cursor}+"), gap: true })
    }
    fn control_write(&mut self, _: DeviceHandle, _: &str, value: &str) -> Answered<()> {
        if value == "1" { Ok(()) } else { no("EBUSY") }
    }
    fn clock_now(&mut self) -> Answered<u64> {
        Ok(u64::MAX - 1)
    }
    fn uevents_recent(&mut self, device: DeviceHandle) -> Answered<Vec<Uevent>> {
        let word = |n: u32| Property { name: format!("name-{n}"), value: "x".repeat(usize::try_from(n).unwrap()) };
        Ok((0..device.0).map(|n| Uevent { millis: u64::MAX, words: (0..n).map(word).collect() }).collect())
    }
    fn state_load(&mut self) -> Answered<Vec<u8>> {
        Ok(b"kept".into())
    }
    fn state_store(&mut self, blob: &[u8]) -> Answered<()> {
        self.log.push((LogLevel::Debug, format!("stores {} bytes", blob.len())));
        Ok(())
    }
    fn config(&mut self) -> Arc<str> {
        "{\"a\":1}".into()
    }
    fn log(&mut self, level: LogLevel, message: &str) {
        self.log.push((level, message.to_owned()));
    }
    fn bytes_read(&self) -> u64 {
        self.read
    }
}
