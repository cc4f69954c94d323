//! A component between which and its host somebody stands: writes down what it asks, answers in the host's place where that is
//! wanted, and does something to the node in the middle of a call.

use super::thing::{Given, Kind, Thing};
use devgate_types::component::{
    Answer, Answered, Capabilities, Component, Cost, Denied, LogBatch, LogLevel, NodeInfo, Profile,
};
use devgate_types::{CallError, DeviceHandle, Edits, Limits, MountHandle, NodeHandle, Pool, Unit, Verdict};
use rustix::thread::ClockId;
use rustix::time::clock_gettime;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The largest text attribute and the largest text file, as the contract says.
const ATTRIBUTE_BYTES: usize = 4_096;
const FILE_BYTES: usize = 64 << 10;
/// Texts that are kept to be looked at: far more than one battery makes different ones of.
const MOST_WORDS: usize = 4_096;

/// What is answered in the host's place about a thing, if anything.
type Answers = dyn Fn(&Thing) -> Option<Given> + Send;

/// What is done in a call's way.
#[derive(Default)]
pub(super) struct Script {
    /// Answers in the host's place.
    pub(super) answer: Option<Box<Answers>>,
    /// Called before the host is asked for the n-th time, counted from 0.
    pub(super) before: Option<Box<dyn FnMut(usize) + Send>>,
    /// Other limits than those of the policy.
    pub(super) limits: Option<Limits>,
}

impl Script {
    /// Answers whatever is about one thing.
    pub(super) fn instead(thing: Thing, given: Given) -> Self {
        Self {
            answer: Some(Box::new(move |asked| (*asked == thing).then(|| given.clone()))),
            ..Self::default()
        }
    }

    /// Does something before the n-th question.
    pub(super) fn at(n: usize, act: impl FnOnce() + Send + 'static) -> Self {
        let mut act = Some(act);
        Self {
            before: Some(Box::new(move |asked| {
                if let Some(act) = act.take_if(|_| asked == n) {
                    act();
                }
            })),
            ..Self::default()
        }
    }

    pub(super) fn limited(limits: Limits) -> Self {
        Self {
            limits: Some(limits),
            ..Self::default()
        }
    }
}

/// What was seen of one call.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// In the order asked, repetitions included.
    pub(super) asked: Vec<Asked>,
    /// What the call took; nothing where it failed.
    pub(super) cost: Option<Cost>,
    /// Bytes that were read from the node.
    pub(super) read: u64,
    /// Processor time of the whole call, and how much of it the host took to answer.
    pub(super) processor: Duration,
    pub(super) in_host: Duration,
}

impl Seen {
    /// The component's own processor time.
    pub(super) fn own(&self) -> Duration {
        self.processor.saturating_sub(self.in_host)
    }
}

/// Processor time of this thread: a machine that is busy with something else does not count.
fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(now.tv_sec).unwrap_or(0),
        u32::try_from(now.tv_nsec).unwrap_or(0),
    )
}

/// One question to the host.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) thing: Thing,
    /// The text or bytes that were the answer, if that was the kind of answer.
    pub(super) text: Option<Vec<u8>>,
}

/// A text for people that a component gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) call: &'static str,
    pub(super) kind: WordKind,
    pub(super) text: String,
    /// Whether somebody had answered in the host's place.
    pub(super) of_garbage: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    /// An error's message.
    Error,
    /// A verdict's reason.
    Reason,
}

#[derive(Default)]
struct State {
    script: Script,
    seen: Seen,
    began: Duration,
    words: Vec<Word>,
}

impl State {
    fn hear(&mut self, call: &'static str, kind: WordKind, text: &str) {
        let word = Word {
            call,
            kind,
            text: text.to_owned(),
            of_garbage: self.script.answer.is_some(),
        };
        if self.words.len() < MOST_WORDS && !self.words.contains(&word) {
            self.words.push(word);
        }
    }
}

/// The component, with somebody in between.
pub(super) struct Meddled {
    inner: Arc<dyn Component>,
    state: Arc<Mutex<State>>,
}

impl Meddled {
    pub(super) fn new(inner: Arc<dyn Component>) -> Self {
        Self {
            inner,
            state: Arc::default(),
        }
    }

    /// Makes calls under a script, which ends with them. What is seen is that of the last call.
    pub(super) fn under<T>(&self, script: Script, calls: impl FnOnce() -> T) -> (T, Seen) {
        lock(&self.state).script = script;
        let value = calls();
        let mut state = lock(&self.state);
        state.script = Script::default();
        (value, std::mem::take(&mut state.seen))
    }

    /// What was said so far of what went wrong, each text once.
    pub(super) fn words(&self) -> Vec<Word> {
        lock(&self.state).words.clone()
    }

    fn begin(&self, host: Box<dyn Capabilities>) -> Box<dyn Capabilities> {
        let mut state = lock(&self.state);
        state.seen = Seen::default();
        state.began = processor_time();
        let limits = state.script.limits.clone().unwrap_or_else(|| host.limits().clone());
        drop(state);
        Box::new(Meddler {
            inner: host,
            limits,
            state: Arc::clone(&self.state),
            began: Duration::ZERO,
        })
    }

    fn end<T>(&self, call: &'static str, result: Result<Answer<T>, CallError>) -> Result<Answer<T>, CallError> {
        let mut state = lock(&self.state);
        state.seen.processor = processor_time().saturating_sub(state.began);
        match &result {
            Ok(answer) => {
                state.seen.cost = Some(answer.cost);
                state.seen.read = answer.host.bytes_read();
            }
            Err(CallError::Failed(failure)) => state.hear(call, WordKind::Error, &failure.message),
            Err(_) => {}
        }
        result
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Component for Meddled {
    fn profile(&self) -> &Profile {
        self.inner.profile()
    }

    fn enumerate(&self, host: Box<dyn Capabilities>) -> Result<Answer<Vec<Pool>>, CallError> {
        let host = self.begin(host);
        self.end("enumerate", self.inner.enumerate(host))
    }

    fn health(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        units: &[Unit],
    ) -> Result<Answer<Vec<Verdict>>, CallError> {
        let host = self.begin(host);
        let result = self.end("health", self.inner.health(host, resource, units));
        let mut state = lock(&self.state);
        for verdict in result.iter().flat_map(|answer| &answer.value) {
            let (Verdict::Unhealthy(reason) | Verdict::Unknown(reason)) = verdict else {
                continue;
            };
            state.hear("health", WordKind::Reason, reason);
        }
        drop(state);
        result
    }

    fn allocate(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        units: &[Unit],
    ) -> Result<Answer<Edits>, CallError> {
        let host = self.begin(host);
        self.end("allocate", self.inner.allocate(host, resource, units))
    }

    fn choose(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        available: &[Unit],
        must_include: &[String],
        size: u32,
    ) -> Result<Answer<Vec<String>>, CallError> {
        let host = self.begin(host);
        let answer = self.inner.choose(host, resource, available, must_include, size);
        self.end("choose", answer)
    }

    fn prepare(&self, host: Box<dyn Capabilities>, resource: &str, units: &[Unit]) -> Result<Answer<()>, CallError> {
        let host = self.begin(host);
        self.end("prepare", self.inner.prepare(host, resource, units))
    }

    fn release(&self, host: Box<dyn Capabilities>, resource: &str, units: &[Unit]) -> Result<Answer<()>, CallError> {
        let host = self.begin(host);
        self.end("release", self.inner.release(host, resource, units))
    }
}

/// One call's capabilities, with somebody in between.
struct Meddler {
    inner: Box<dyn Capabilities>,
    limits: Limits,
    state: Arc<Mutex<State>>,
    began: Duration,
}

impl Meddler {
    /// A question: what it is about, and what is answered in the host's place.
    fn about(&mut self, kind: Kind, device: Option<DeviceHandle>, path: &str) -> (Thing, Option<Given>) {
        self.began = processor_time();
        let location = device.and_then(|device| self.inner.device_location(device).ok());
        let thing = Thing {
            kind,
            location: location.unwrap_or_default(),
            path: path.to_owned(),
        };
        let mut state = lock(&self.state);
        let n = state.seen.asked.len();
        if let Some(before) = &mut state.script.before {
            before(n);
        }
        let given = state.script.answer.as_ref().and_then(|answer| answer(&thing));
        (thing, given)
    }

    fn note<T>(&self, thing: Thing, answer: Answered<T>, text: impl FnOnce(&T) -> Option<Vec<u8>>) -> Answered<T> {
        let text = answer.as_ref().ok().and_then(text);
        let mut state = lock(&self.state);
        state.seen.asked.push(Asked { thing, text });
        state.seen.in_host += processor_time().saturating_sub(self.began);
        answer
    }

    fn noted<T>(&self, thing: Thing, answer: Answered<T>) -> Answered<T> {
        self.note(thing, answer, |_| None)
    }
}

/// The answer given in the host's place, or the host's.
macro_rules! answer {
    ($given:expr, $instead:expr, $host:expr) => {
        match $given {
            Some(Given::Failure(failure)) => Err(Denied::Failure(failure)),
            #[allow(clippy::redundant_closure_call, reason = "each answer has its own form")]
            Some(given) => match $instead(given) {
                Some(answer) => answer,
                None => $host,
            },
            None => $host,
        }
    };
}

fn nothing<T: Default>(given: Given) -> Option<Answered<T>> {
    matches!(given, Given::Nothing).then(|| Ok(T::default()))
}

fn names(given: Given) -> Option<Answered<Vec<String>>> {
    match given {
        Given::Names(names) => Some(Ok(names)),
        _ => None,
    }
}

impl Capabilities for Meddler {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn devices(&mut self, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        let (thing, given) = self.about(Kind::Devices, None, subsystem);
        let answer = answer!(given, nothing, self.inner.devices(subsystem));
        self.noted(thing, answer)
    }

    fn device_by_name(&mut self, subsystem: &str, name: &str) -> Answered<DeviceHandle> {
        let (thing, given) = self.about(Kind::Device, None, &format!("{subsystem}/{name}"));
        let answer = answer!(given, |_| None, self.inner.device_by_name(subsystem, name));
        self.noted(thing, answer)
    }

    fn device_name(&mut self, device: DeviceHandle) -> Answered<String> {
        let (thing, _) = self.about(Kind::Word, Some(device), "name");
        let answer = self.inner.device_name(device);
        self.noted(thing, answer)
    }

    fn device_subsystem(&mut self, device: DeviceHandle) -> Answered<String> {
        let (thing, _) = self.about(Kind::Word, Some(device), "subsystem");
        let answer = self.inner.device_subsystem(device);
        self.noted(thing, answer)
    }

    fn device_driver(&mut self, device: DeviceHandle) -> Answered<Option<String>> {
        let (thing, given) = self.about(Kind::Driver, Some(device), "driver");
        let answer = match given {
            Some(_) => Ok(None),
            None => self.inner.device_driver(device),
        };
        self.noted(thing, answer)
    }

    fn device_location(&mut self, device: DeviceHandle) -> Answered<String> {
        let (thing, _) = self.about(Kind::Word, Some(device), "location");
        let answer = self.inner.device_location(device);
        self.noted(thing, answer)
    }

    fn device_numa_node(&mut self, device: DeviceHandle) -> Answered<Option<u32>> {
        let (thing, given) = self.about(Kind::Numa, Some(device), "numa-node");
        let answer = match given {
            Some(_) => Ok(None),
            None => self.inner.device_numa_node(device),
        };
        self.noted(thing, answer)
    }

    fn attribute(&mut self, device: DeviceHandle, path: &str) -> Answered<String> {
        let (thing, given) = self.about(Kind::Attribute, Some(device), path);
        let answer = match given {
            Some(given) => given.text(&thing, ATTRIBUTE_BYTES),
            None => self.inner.attribute(device, path),
        };
        self.note(thing, answer, |text| Some(text.clone().into_bytes()))
    }

    fn attribute_bytes(&mut self, device: DeviceHandle, path: &str, offset: u64, length: u32) -> Answered<Vec<u8>> {
        let (thing, given) = self.about(Kind::Attribute, Some(device), path);
        let answer = match given {
            Some(given) => given.range(offset, length),
            None => self.inner.attribute_bytes(device, path, offset, length),
        };
        self.note(thing, answer, |bytes| Some(bytes.clone()))
    }

    fn entries(&mut self, device: DeviceHandle, path: &str) -> Answered<Vec<String>> {
        let (thing, given) = self.about(Kind::Entries, Some(device), path);
        let answer = answer!(given, names, self.inner.entries(device, path));
        self.noted(thing, answer)
    }

    fn link(&mut self, device: DeviceHandle, path: &str) -> Answered<String> {
        let (thing, given) = self.about(Kind::Link, Some(device), path);
        let answer = match given {
            Some(given) => given.text(&thing, ATTRIBUTE_BYTES),
            None => self.inner.link(device, path),
        };
        self.note(thing, answer, |text| Some(text.clone().into_bytes()))
    }

    fn related(&mut self, device: DeviceHandle, link: &str) -> Answered<DeviceHandle> {
        let (thing, given) = self.about(Kind::Link, Some(device), link);
        let answer = answer!(given, |_| None, self.inner.related(device, link));
        self.noted(thing, answer)
    }

    fn parent(&mut self, device: DeviceHandle) -> Answered<Option<DeviceHandle>> {
        let (thing, given) = self.about(Kind::Parent, Some(device), "parent");
        let answer = match given {
            Some(_) => Ok(None),
            None => self.inner.parent(device),
        };
        self.noted(thing, answer)
    }

    fn children(&mut self, device: DeviceHandle, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        let (thing, given) = self.about(Kind::Children, Some(device), subsystem);
        let answer = answer!(given, nothing, self.inner.children(device, subsystem));
        self.noted(thing, answer)
    }

    fn nodes(&mut self, device: DeviceHandle) -> Answered<Vec<NodeHandle>> {
        let (thing, given) = self.about(Kind::Nodes, Some(device), "nodes");
        let answer = answer!(given, nothing, self.inner.nodes(device));
        self.noted(thing, answer)
    }

    fn node_at(&mut self, path: &str) -> Answered<NodeHandle> {
        let (thing, given) = self.about(Kind::HostPath, None, path);
        let answer = answer!(given, |_| None, self.inner.node_at(path));
        self.noted(thing, answer)
    }

    fn mount(&mut self, name: &str) -> Answered<MountHandle> {
        let (thing, given) = self.about(Kind::HostPath, None, name);
        let answer = answer!(given, |_| None, self.inner.mount(name));
        self.noted(thing, answer)
    }

    fn node(&mut self, node: NodeHandle) -> Answered<NodeInfo> {
        let (thing, _) = self.about(Kind::Word, None, "node");
        let answer = self.inner.node(node);
        self.noted(thing, answer)
    }

    fn mount_source(&mut self, mount: MountHandle) -> Answered<(String, bool)> {
        let (thing, _) = self.about(Kind::Word, None, "mount");
        let answer = self.inner.mount_source(mount);
        self.noted(thing, answer)
    }

    fn file_text(&mut self, path: &str) -> Answered<String> {
        let (thing, given) = self.about(Kind::File, None, path);
        let answer = match given {
            Some(given) => given.text(&thing, FILE_BYTES),
            None => self.inner.file_text(path),
        };
        self.note(thing, answer, |text| Some(text.clone().into_bytes()))
    }

    fn file_read(&mut self, path: &str, offset: u64, length: u32) -> Answered<Vec<u8>> {
        let (thing, given) = self.about(Kind::File, None, path);
        let answer = match given {
            Some(given) => given.range(offset, length),
            None => self.inner.file_read(path, offset, length),
        };
        self.note(thing, answer, |bytes| Some(bytes.clone()))
    }

    fn file_entries(&mut self, path: &str) -> Answered<Vec<String>> {
        let (thing, given) = self.about(Kind::FileEntries, None, path);
        let answer = answer!(given, names, self.inner.file_entries(path));
        self.noted(thing, answer)
    }

    fn kernel_log_since(&mut self, cursor: &str, most: u32) -> Answered<LogBatch> {
        let (thing, given) = self.about(Kind::Log, None, "kernel-log");
        let answer = answer!(given, nothing, self.inner.kernel_log_since(cursor, most));
        self.noted(thing, answer)
    }

    fn control_write(&mut self, device: DeviceHandle, path: &str, value: &str) -> Answered<()> {
        let (thing, given) = self.about(Kind::Write, Some(device), path);
        let answer = answer!(given, |_| None, self.inner.control_write(device, path, value));
        self.noted(thing, answer)
    }

    fn state_load(&mut self) -> Answered<Vec<u8>> {
        let (thing, given) = self.about(Kind::State, None, "load");
        let answer = match given {
            Some(given) => given.range(0, u32::MAX),
            None => self.inner.state_load(),
        };
        self.note(thing, answer, |bytes| Some(bytes.clone()))
    }

    fn state_store(&mut self, blob: &[u8]) -> Answered<()> {
        let (thing, given) = self.about(Kind::State, None, "store");
        let answer = answer!(given, |_| None, self.inner.state_store(blob));
        self.noted(thing, answer)
    }

    fn config(&mut self) -> Arc<str> {
        self.inner.config()
    }

    fn log(&mut self, level: LogLevel, message: &str) {
        self.inner.log(level, message);
    }

    fn bytes_read(&self) -> u64 {
        self.inner.bytes_read()
    }

    /// The host's own object: only that knows what the handles of an answer mean.
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
