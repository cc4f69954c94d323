//! The seam between the plugin layer and whatever runs a vendor's component: two small traits and plain data, so that a
//! component can run in this process or in another.

use crate::{
    ByteSize, CallError, Condition, DeviceHandle, Edits, Failure, Limits, MountHandle, NodeHandle, NodeNumber, Pool,
    Property, Setting, Unit, Verdict, words,
};
use std::sync::Arc;
use std::time::Duration;

/// A vendor's component, loaded and ready to be called. Implemented by `devgate-runner`, and by fakes in tests.
///
/// Every call gets a fresh instance; handles in what it is asked and in what it returns are numbers in the table of the [`Capabilities`] that
/// it is called with. Calls block the calling thread, for no longer than the component's limits allow unless the host itself
/// is stuck in the kernel; the caller chooses the thread.
pub trait Component: Send + Sync + 'static {
    /// What it is and needs.
    fn profile(&self) -> &Profile;

    /// What it returned, held to the contract's lengths, and what it took. A fault of the host where the component does not export the
    /// function: see [`Profile`].
    fn call(&self, call: &Call<'_>, host: &mut dyn Capabilities) -> Result<(Output, Cost), CallError>;

    /// How often what runs it ended and was started anew since it was loaded.
    fn restarts(&self) -> u64 {
        0
    }
}

/// A call of one of a component's functions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call<'a> {
    /// Which one.
    pub kind: CallKind,
    /// The component's own name of the resource that the units are of.
    pub resource: &'a str,
    /// The units that it is about, or may choose among.
    pub units: &'a [Unit],
    /// The ids that must be among those that it chooses.
    pub must_include: &'a [String],
    /// What a claim and its class say of an allocation: not empty only where the component exports `parameters`.
    pub settings: &'a [Setting],
    /// How many ids it is to choose.
    pub size: u32,
}

impl<'a> Call<'a> {
    /// About these units.
    #[must_use]
    pub fn about(kind: CallKind, resource: &'a str, units: &'a [Unit]) -> Self {
        Self { kind, resource, units, ..Self::default() }
    }
}

/// The functions of a component.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallKind {
    /// Everything that there is now, without its health.
    #[default]
    Enumerate,
    /// One verdict for each unit, in the same order.
    Health,
    /// What a container needs to use these units, besides their nodes.
    Allocate,
    /// So many ids out of those of the units, among them all that must be included, best first.
    Choose,
    /// Makes these units ready for a container.
    Prepare,
    /// Undoes what a container left in these units, which no pod holds any more. May come more than once.
    Release,
    /// The conditions of each unit, in the same order.
    Examine,
}

words!(
    CallKind: Enumerate "enumerate", Health "health", Allocate "allocate", Choose "choose", Prepare "prepare", Release "release",
    Examine "examine"
);

/// What a component returned, of which each function has a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Of `enumerate`.
    pub pools: Vec<Pool>,
    /// Of `health`.
    pub verdicts: Vec<Verdict>,
    /// Of `allocate`.
    pub edits: Edits,
    /// Of `choose`.
    pub choice: Vec<String>,
    /// Of `examine`.
    pub conditions: Vec<Vec<Condition>>,
}

/// What one call took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// Wall-clock time.
    pub time: Duration,
    /// The most linear memory that was in use.
    pub memory: ByteSize,
    /// Calls to the host.
    pub host_calls: u32,
}

/// What a component is, known before its first call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// Whether it exports `preference`.
    pub preference: bool,
    /// Whether it exports `lifecycle`.
    pub lifecycle: bool,
    /// Whether it exports `parameters`.
    pub parameters: bool,
    /// Whether it exports `conditions`.
    pub conditions: bool,
    /// Whether it imports anything of WASI. One that does not is never run by anything but its own code and may be
    /// called on a thread that serves others.
    pub wasi: bool,
    /// The SHA-256 digest of its file.
    pub sha256: Option<[u8; 32]>,
}

/// What a component may ask the host during one call, answered from the plugin's grants.
///
/// The methods mirror `wit/` (see there for what each means) with numbers for handles. A number that the call's table
/// does not hold is the component's fault, and ends the call: see [`Denied`].
pub trait Capabilities: Send {
    /// What this call may use up. Not the same for every call: some limits grow with the hardware that is granted.
    fn limits(&self) -> &Limits;

    /// `hardware.devices`.
    fn devices(&mut self, subsystem: &str) -> Answered<Vec<DeviceHandle>>;
    /// `hardware.device-by-name`.
    fn device_by_name(&mut self, subsystem: &str, name: &str) -> Answered<DeviceHandle>;

    /// `device.name`.
    fn device_name(&mut self, device: DeviceHandle) -> Answered<String>;
    /// `device.subsystem`.
    fn device_subsystem(&mut self, device: DeviceHandle) -> Answered<String>;
    /// `device.driver`.
    fn device_driver(&mut self, device: DeviceHandle) -> Answered<Option<String>>;
    /// `device.location`.
    fn device_location(&mut self, device: DeviceHandle) -> Answered<String>;
    /// `device.numa-node`.
    fn device_numa_node(&mut self, device: DeviceHandle) -> Answered<Option<u32>>;
    /// `device.attribute`.
    fn attribute(&mut self, device: DeviceHandle, path: &str) -> Answered<String>;
    /// `device.attribute-bytes`.
    fn attribute_bytes(&mut self, device: DeviceHandle, path: &str, offset: u64, length: u32) -> Answered<Vec<u8>>;
    /// `device.entries`.
    fn entries(&mut self, device: DeviceHandle, path: &str) -> Answered<Vec<String>>;
    /// `device.link`.
    fn link(&mut self, device: DeviceHandle, path: &str) -> Answered<String>;
    /// `device.related`.
    fn related(&mut self, device: DeviceHandle, link: &str) -> Answered<DeviceHandle>;
    /// `device.parent`.
    fn parent(&mut self, device: DeviceHandle) -> Answered<Option<DeviceHandle>>;
    /// `device.children`.
    fn children(&mut self, device: DeviceHandle, subsystem: &str) -> Answered<Vec<DeviceHandle>>;
    /// `device.nodes`.
    fn nodes(&mut self, device: DeviceHandle) -> Answered<Vec<NodeHandle>>;

    /// `host-paths.node-at`.
    fn node_at(&mut self, path: &str) -> Answered<NodeHandle>;
    /// `host-paths.mount`.
    fn mount(&mut self, name: &str) -> Answered<MountHandle>;
    /// `node.path`, `node.number` and `node.owner` (the owner's name and subsystem) in one.
    fn node(&mut self, node: NodeHandle) -> Answered<NodeInfo>;
    /// `mount-source.path` and `mount-source.writable`.
    fn mount_source(&mut self, mount: MountHandle) -> Answered<(String, bool)>;

    /// `files.text`.
    fn file_text(&mut self, path: &str) -> Answered<String>;
    /// `files.read`.
    fn file_read(&mut self, path: &str, offset: u64, length: u32) -> Answered<Vec<u8>>;
    /// `files.entries`.
    fn file_entries(&mut self, path: &str) -> Answered<Vec<String>>;

    /// `kernel-log.since`.
    fn kernel_log_since(&mut self, cursor: &str, most: u32) -> Answered<LogBatch>;
    /// `control.write`.
    fn control_write(&mut self, device: DeviceHandle, path: &str, value: &str) -> Answered<()>;
    /// `clock.now`.
    fn clock_now(&mut self) -> Answered<u64>;
    /// `uevents.recent`.
    fn uevents_recent(&mut self, device: DeviceHandle) -> Answered<Vec<Uevent>>;
    /// `state.load`.
    fn state_load(&mut self) -> Answered<Vec<u8>>;
    /// `state.store`.
    fn state_store(&mut self, blob: &[u8]) -> Answered<()>;

    /// `config.json`.
    fn config(&mut self) -> Arc<str>;
    /// `log.write`, and every line on the component's standard output and error. Never fails: what is over the limit is
    /// dropped and counted.
    fn log(&mut self, level: LogLevel, message: &str);
    /// Bytes read from the node so far in this call, and so counted against `limits.read`.
    fn bytes_read(&self) -> u64;
}

/// The host's answer to a component: a value, a failure for the component to deal with, or the end of the call.
pub type Answered<T> = Result<T, Denied>;

/// Why a component did not get what it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// The component is told, and goes on.
    Failure(Failure),
    /// The call ends here: a limit, a handle that it does not hold, a fault of the host.
    End(CallError),
}

impl From<Failure> for Denied {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<CallError> for Denied {
    fn from(error: CallError) -> Self {
        Self::End(error)
    }
}

/// What a component may know of a node that it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInfo {
    /// Its path on the host.
    pub path: String,
    /// Type, major and minor.
    pub number: NodeNumber,
    /// Name and subsystem of the kernel device that it belongs to, if there is one and it is known.
    pub owner: Option<(String, String)>,
}

/// What was captured from the kernel's log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogBatch {
    /// Oldest first.
    pub events: Vec<LogEvent>,
    /// Where the next question goes on; opaque, at most 64 bytes.
    pub cursor: String,
    /// Whether lines were lost since the cursor of the question.
    pub gap: bool,
}

/// What one pattern captured from one line of the kernel's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// Index of the pattern in the policy.
    pub pattern: u32,
    /// In order; empty for a group that took no part.
    pub captures: Vec<String>,
    /// When the kernel said it, in microseconds since it started.
    pub micros: u64,
}

/// What a driver has announced of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uevent {
    /// When the host heard it, in milliseconds since the node was started.
    pub millis: u64,
    /// Names and values; no name twice.
    pub words: Vec<Property>,
}

/// How much a component's log line matters, in its own opinion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For the vendor.
    Debug,
    /// For an admin who wants to know.
    Info,
    /// Something is odd.
    Warn,
    /// Something does not work.
    Error,
}
