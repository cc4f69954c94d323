//! A node that answers every question, each with as much as a real one might.

use devgate_types::component::{Answered, Capabilities, Denied, LogBatch, LogEvent, LogLevel, NodeInfo, Uevent};
use devgate_types::{
    CallError, DeviceHandle, Failure, FailureKind, HostFault, Limits, MountHandle, NodeHandle, NodeKind, NodeNumber,
    Property,
};
use std::sync::Arc;
use std::time::Duration;

/// How many devices there are.
const DEVICES: u32 = 40;
/// What one answer takes at most, in bytes, before it is sent.
const ANSWER: u64 = 96 << 10;

/// What one call may ask, and what it was given.
pub(crate) struct Fake {
    limits: Limits,
    asked: u64,
    logged: u64,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            limits: Limits {
                // No input is late: what it may cost is bounded by what it may ask.
                deadline: Duration::from_secs(3_600),
                host_calls: 1,
                ..Limits::default()
            },
            asked: 0,
            logged: 0,
        }
    }
}

impl Fake {
    /// What the host may have in memory at once of what it gave: an answer, the message of it, and that in a buffer.
    pub(crate) const fn gave(&self) -> u64 {
        if self.asked == 0 { 0 } else { 8 * ANSWER }
    }

    /// Bytes of the lines that were logged.
    pub(crate) const fn logged(&self) -> u64 {
        self.logged
    }

    const fn asks(&mut self) {
        self.asked += 1;
    }
}

fn no<T>() -> Answered<T> {
    Err(Failure::new(FailureKind::Io, "there is\nnone").with_code("EIO").into())
}

fn known(device: DeviceHandle) -> Answered<u32> {
    match device.0 {
        n if n < DEVICES => Ok(n),
        _ => Err(Denied::End(CallError::Host(HostFault("no such handle".into())))),
    }
}

impl Capabilities for Fake {
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn devices(&mut self, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        self.asks();
        if subsystem == "none" { no() } else { Ok((0..DEVICES).map(DeviceHandle).collect()) }
    }
    fn device_by_name(&mut self, _: &str, name: &str) -> Answered<DeviceHandle> {
        self.asks();
        if name.is_empty() { no() } else { Ok(DeviceHandle(1)) }
    }
    fn device_name(&mut self, device: DeviceHandle) -> Answered<String> {
        self.asks();
        Ok(format!("device-{}", known(device)?))
    }
    fn device_subsystem(&mut self, device: DeviceHandle) -> Answered<String> {
        self.asks();
        known(device).map(|_| "pci".to_owned())
    }
    fn device_driver(&mut self, device: DeviceHandle) -> Answered<Option<String>> {
        self.asks();
        Ok(known(device)?.is_multiple_of(2).then(|| "vfio-pci".to_owned()))
    }
    fn device_location(&mut self, device: DeviceHandle) -> Answered<String> {
        self.asks();
        Ok(format!("pci0000:00/{}", known(device)?))
    }
    fn device_numa_node(&mut self, device: DeviceHandle) -> Answered<Option<u32>> {
        self.asks();
        known(device).map(Some)
    }
    fn attribute(&mut self, device: DeviceHandle, path: &str) -> Answered<String> {
        self.asks();
        known(device).map(|_| path.chars().take(64).collect())
    }
    fn attribute_bytes(&mut self, device: DeviceHandle, _: &str, _: u64, length: u32) -> Answered<Vec<u8>> {
        self.asks();
        known(device).map(|_| vec![7; usize::try_from(length).unwrap().min(64 << 10)])
    }
    fn entries(&mut self, device: DeviceHandle, _: &str) -> Answered<Vec<String>> {
        self.asks();
        known(device).map(|_| vec!["a".to_owned(), String::new()])
    }
    fn link(&mut self, device: DeviceHandle, _: &str) -> Answered<String> {
        self.asks();
        known(device).map(|_| "driver".to_owned())
    }
    fn related(&mut self, device: DeviceHandle, _: &str) -> Answered<DeviceHandle> {
        self.asks();
        known(device).map(DeviceHandle)
    }
    fn parent(&mut self, device: DeviceHandle) -> Answered<Option<DeviceHandle>> {
        self.asks();
        Ok(known(device)?.checked_sub(1).map(DeviceHandle))
    }
    fn children(&mut self, device: DeviceHandle, _: &str) -> Answered<Vec<DeviceHandle>> {
        self.asks();
        known(device).map(|_| vec![device; 3])
    }
    fn nodes(&mut self, device: DeviceHandle) -> Answered<Vec<NodeHandle>> {
        self.asks();
        known(device).map(|n| vec![NodeHandle(n), NodeHandle(u32::MAX)])
    }
    fn node_at(&mut self, _: &str) -> Answered<NodeHandle> {
        self.asks();
        Ok(NodeHandle(7))
    }
    fn mount(&mut self, _: &str) -> Answered<MountHandle> {
        self.asks();
        Ok(MountHandle(7))
    }
    fn node(&mut self, node: NodeHandle) -> Answered<NodeInfo> {
        self.asks();
        Ok(NodeInfo {
            path: format!("/dev/{}", node.0),
            number: NodeNumber { kind: NodeKind::Block, major: 7, minor: node.0 },
            owner: Some(("a".into(), "b".into())),
        })
    }
    fn mount_source(&mut self, _: MountHandle) -> Answered<(String, bool)> {
        self.asks();
        Ok(("/opt".to_owned(), true))
    }
    fn file_text(&mut self, _: &str) -> Answered<String> {
        self.asks();
        Ok("x".repeat(64 << 10))
    }
    fn file_read(&mut self, _: &str, _: u64, length: u32) -> Answered<Vec<u8>> {
        self.asks();
        Ok(vec![7; usize::try_from(length).unwrap().min(64 << 10)])
    }
    fn file_entries(&mut self, _: &str) -> Answered<Vec<String>> {
        self.asks();
        Ok(vec!["a".to_owned()])
    }
    fn kernel_log_since(&mut self, _: &str, most: u32) -> Answered<LogBatch> {
        self.asks();
        let event = |pattern| LogEvent { pattern, captures: vec!["x".into(), String::new()], micros: 1 << 40 };
        Ok(LogBatch { events: (0..most.min(64)).map(event).collect(), cursor: "c".to_owned(), gap: true })
    }
    fn control_write(&mut self, device: DeviceHandle, _: &str, value: &str) -> Answered<()> {
        self.asks();
        known(device)?;
        if value == "1" { Ok(()) } else { no() }
    }
    fn clock_now(&mut self) -> Answered<u64> {
        self.asks();
        Ok(u64::MAX)
    }
    fn uevents_recent(&mut self, device: DeviceHandle) -> Answered<Vec<Uevent>> {
        self.asks();
        let word = Property { name: "WEDGED".to_owned(), value: "rebind".to_owned() };
        known(device).map(|n| vec![Uevent { millis: n.into(), words: vec![word] }])
    }
    fn state_load(&mut self) -> Answered<Vec<u8>> {
        self.asks();
        Ok(vec![7; 64 << 10])
    }
    fn state_store(&mut self, _: &[u8]) -> Answered<()> {
        self.asks();
        Ok(())
    }
    fn config(&mut self) -> Arc<str> {
        "{\"a\":1}".into()
    }
    fn log(&mut self, _: LogLevel, message: &str) {
        self.logged += u64::try_from(message.len()).unwrap();
    }
    fn bytes_read(&self) -> u64 {
        self.asked
    }
}
