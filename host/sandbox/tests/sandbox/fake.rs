//! Capabilities without a node behind them, and how the tests load and call.

use devgate_sandbox::{LoadRequest, Loaded, load};
use devgate_types::Grant;
use devgate_types::component::{
    Answered, Call, CallKind, Capabilities, Cost, Denied, LogBatch, LogEvent, LogLevel, NodeInfo, Output, Uevent,
};
use devgate_types::load::{Contents, Inspection, LoadError, check_file};
use devgate_types::{
    ByteSize, CallError, DeviceHandle, Failure, FailureKind, GuestFault, HostFault, Limit, Limits, MountHandle,
    NodeHandle, NodeKind, NodeNumber, Property, Unit,
};
use sha2::Digest;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Long enough that a loaded machine does not meet it in a test about something else.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Limits that only the test's own subject can meet.
pub(crate) fn patient() -> Limits {
    Limits { cpu: LONG, deadline: LONG, ..Limits::default() }
}

/// Looks at a file as the host has it done.
pub(crate) fn inspect(bytes: &[u8], most: &Limits, grants: &dyn Fn(&str) -> Grant) -> Inspection {
    let sha256 = sha2::Sha256::digest(bytes).into();
    let scan = check_file(bytes, sha256, most, None).and_then(|()| devgate_sandbox::scan(bytes, most));
    Inspection { sha256, contents: scan.map(|scan| Contents::new(scan, grants)) }
}

/// Loads with everything granted.
pub(crate) fn try_load(bytes: &[u8], limits: Limits) -> Result<Loaded, LoadError> {
    let request = LoadRequest { plugin: "snoop", bytes, sha256: None, limits, grants: &|_| Grant::Granted };
    load(request)
}

pub(crate) fn loaded(bytes: &[u8], limits: Limits) -> Loaded {
    try_load(bytes, limits).unwrap_or_else(|error| panic!("{error}"))
}

/// The limit that a call met.
pub(crate) fn limit<T>(outcome: Result<T, CallError>) -> Option<Limit> {
    match outcome {
        Ok(_) => None,
        Err(CallError::Guest(GuestFault::Limit(limit))) => Some(limit),
        Err(other) => panic!("not a limit: {other}"),
    }
}

/// The text of what a call failed with.
pub(crate) fn error<T>(outcome: Result<T, CallError>) -> String {
    outcome.err().expect("the call must fail").to_string()
}

pub(crate) fn unit(id: &str, device: u32) -> Unit {
    Unit { id: id.into(), backing: vec![DeviceHandle(device)], nodes: vec![NodeHandle(device)], properties: vec![] }
}

/// What a call of `enumerate` gave.
pub(crate) fn enumerate(plugin: &Loaded, host: Box<dyn Capabilities>) -> Result<(Output, Cost), CallError> {
    plugin.call(&Call::default(), host)
}

/// What a call gave that is about some units of a resource.
pub(crate) fn about(
    plugin: &Loaded,
    kind: CallKind,
    host: Box<dyn Capabilities>,
    units: &[Unit],
) -> Result<(Output, Cost), CallError> {
    plugin.call(&Call::about(kind, "v.com/x", units), host)
}

/// What was logged, by level.
pub(crate) type Log = Arc<Mutex<Vec<(LogLevel, String)>>>;

/// A node with one device, `7`, that has an attribute `vendor`.
pub(crate) struct Fake {
    pub(crate) limits: Limits,
    pub(crate) log: Log,
    pub(crate) read: u64,
    /// How long each attribute takes to read.
    pub(crate) slow: Duration,
}

impl Default for Fake {
    fn default() -> Self {
        Self::within(patient())
    }
}

impl Fake {
    pub(crate) fn within(limits: Limits) -> Self {
        Self { limits, log: Log::default(), read: 0, slow: Duration::ZERO }
    }

    pub(crate) fn boxed() -> Box<dyn Capabilities> {
        Box::new(Self::default())
    }

    /// One that logs where the test can see it.
    pub(crate) fn logging() -> (Box<dyn Capabilities>, Log) {
        let fake = Self::default();
        let log = Arc::clone(&fake.log);
        (Box::new(fake), log)
    }
}

impl Capabilities for Fake {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn devices(&mut self, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        match subsystem {
            "pci" => Ok(vec![DeviceHandle(7)]),
            "panic" => panic!("a bug in the host"),
            "host" => Err(Denied::End(HostFault("the node is gone".into()).into())),
            "end" => Err(Denied::End(GuestFault::Limit(Limit::Read(ByteSize::kib(1))).into())),
            _ => Err(Failure::new(FailureKind::Denied, "no such grant").with_code("test").into()),
        }
    }

    fn device_by_name(&mut self, _: &str, _: &str) -> Answered<DeviceHandle> {
        Err(Failure::new(FailureKind::NotFound, "no such device").into())
    }

    fn device_name(&mut self, device: DeviceHandle) -> Answered<String> {
        Ok(format!("device-{}", device.0))
    }

    fn device_subsystem(&mut self, _: DeviceHandle) -> Answered<String> {
        Err(Failure::new(FailureKind::Gone, "must not happen").into())
    }

    fn device_driver(&mut self, _: DeviceHandle) -> Answered<Option<String>> {
        Ok(None)
    }

    fn device_location(&mut self, _: DeviceHandle) -> Answered<String> {
        Ok("pci0000:00/0000:00:01.0".into())
    }

    fn device_numa_node(&mut self, _: DeviceHandle) -> Answered<Option<u32>> {
        Ok(Some(1))
    }

    fn attribute(&mut self, _: DeviceHandle, path: &str) -> Answered<String> {
        std::thread::sleep(self.slow);
        self.read += 100;
        match path {
            "vendor" => Ok("0x10de".into()),
            _ => Err(Failure::new(FailureKind::NotFound, "no such attribute").into()),
        }
    }

    fn attribute_bytes(&mut self, _: DeviceHandle, _: &str, _: u64, _: u32) -> Answered<Vec<u8>> {
        Ok(vec![1, 2, 3])
    }

    fn entries(&mut self, _: DeviceHandle, _: &str) -> Answered<Vec<String>> {
        Ok(vec!["vendor".into()])
    }

    fn link(&mut self, _: DeviceHandle, _: &str) -> Answered<String> {
        Ok("42".into())
    }

    fn related(&mut self, device: DeviceHandle, _: &str) -> Answered<DeviceHandle> {
        Ok(device)
    }

    fn parent(&mut self, device: DeviceHandle) -> Answered<Option<DeviceHandle>> {
        Ok(Some(device))
    }

    fn children(&mut self, device: DeviceHandle, _: &str) -> Answered<Vec<DeviceHandle>> {
        Ok(vec![device])
    }

    fn nodes(&mut self, device: DeviceHandle) -> Answered<Vec<NodeHandle>> {
        Ok(vec![NodeHandle(device.0)])
    }

    fn node_at(&mut self, _: &str) -> Answered<NodeHandle> {
        Ok(NodeHandle(3))
    }

    fn mount(&mut self, _: &str) -> Answered<MountHandle> {
        Ok(MountHandle(4))
    }

    fn node(&mut self, _: NodeHandle) -> Answered<NodeInfo> {
        Ok(NodeInfo {
            path: "/dev/fake0".into(),
            number: NodeNumber { kind: NodeKind::Character, major: 10, minor: 229 },
            owner: None,
        })
    }

    fn mount_source(&mut self, _: MountHandle) -> Answered<(String, bool)> {
        Ok(("/usr/lib/fake".into(), false))
    }

    fn file_text(&mut self, path: &str) -> Answered<String> {
        match path {
            "/proc/fake/version" => Ok("570.86".into()),
            "/proc/fake/binary" => Err(Failure::new(FailureKind::Other, "is not text").with_code("not-text").into()),
            "/proc/fake/large" => Err(Failure::new(FailureKind::Limit, "longer than 65536 bytes").into()),
            _ => Err(Failure::new(FailureKind::Denied, "no entry of the policy matches").into()),
        }
    }

    fn file_read(&mut self, _: &str, offset: u64, length: u32) -> Answered<Vec<u8>> {
        self.read += u64::from(length);
        Ok(vec![u8::try_from(offset).unwrap(); usize::try_from(length).unwrap()])
    }

    fn file_entries(&mut self, _: &str) -> Answered<Vec<String>> {
        Ok(vec!["0000:01:00.0".into(), "0000:02:00.0".into()])
    }

    fn kernel_log_since(&mut self, cursor: &str, most: u32) -> Answered<LogBatch> {
        if !cursor.is_empty() {
            return Err(Failure::new(FailureKind::Invalid, "no cursor").into());
        }
        let event = |n: u32| LogEvent { pattern: n, captures: vec!["0000:05:00".into(), "79".into()], micros: 1 << 40 };
        Ok(LogBatch { events: (0..most).map(event).collect(), cursor: "next".into(), gap: true })
    }

    fn control_write(&mut self, device: DeviceHandle, path: &str, value: &str) -> Answered<()> {
        match path {
            "reset" => {
                self.log(LogLevel::Info, &format!("{value} to {path} of {}", device.0));
                Ok(())
            }
            _ => Err(Failure::new(FailureKind::Busy, "not now").into()),
        }
    }

    fn clock_now(&mut self) -> Answered<u64> {
        Ok((1 << 40) + 7)
    }

    fn uevents_recent(&mut self, _: DeviceHandle) -> Answered<Vec<Uevent>> {
        let word = |name: &str, value: &str| Property { name: name.into(), value: value.into() };
        Ok(vec![
            Uevent { millis: 1 << 40, words: vec![word("WEDGED", "none")] },
            Uevent { millis: (1 << 40) + 1, words: vec![word("WEDGED", "rebind"), word("PID", "")] },
        ])
    }

    fn state_load(&mut self) -> Answered<Vec<u8>> {
        self.read += 4;
        Ok(b"kept".into())
    }

    fn state_store(&mut self, blob: &[u8]) -> Answered<()> {
        self.log(LogLevel::Info, &format!("{} bytes", blob.len()));
        Ok(())
    }

    fn config(&mut self) -> Arc<str> {
        "null".into()
    }

    fn log(&mut self, level: LogLevel, message: &str) {
        self.log.lock().unwrap().push((level, message.to_owned()));
    }

    fn bytes_read(&self) -> u64 {
        self.read
    }
}
