//! What one call has used so far, against its limits.

use devgate_types::{ByteSize, CallError, GuestFault, HostFault, Limit, Limits};
use rustix::thread::ClockId;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasmtime::ResourceLimiter;

/// Counts one call's use of everything; of memory and tables, which wasmtime asks it about, it remembers the most
/// memory that was in use.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Arc<Limits>,
    started: Instant,
    processor_at_start: Duration,
    /// Processor time that asking the host has taken: it is none of what the component computes.
    asking: Duration,
    host_calls: u32,
    handles: u32,
    transferred: u64,
    /// All linear memories together. They never shrink, so this is the peak, too.
    memory: u64,
}

impl Meter {
    /// Starts both clocks. To be made on the thread that the call runs on.
    pub(crate) fn start(limits: Arc<Limits>) -> Self {
        Self {
            limits,
            started: Instant::now(),
            processor_at_start: processor_time(),
            asking: Duration::ZERO,
            host_calls: 0,
            handles: 0,
            transferred: 0,
            memory: 0,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn host_calls(&self) -> u32 {
        self.host_calls
    }

    pub(crate) fn memory(&self) -> ByteSize {
        ByteSize(self.memory)
    }

    /// Both clocks; at every tick.
    pub(crate) fn clocks(&self) -> Result<(), CallError> {
        let taken = processor_time().saturating_sub(self.processor_at_start);
        let taken = taken.saturating_sub(self.asking);
        within(taken < self.limits.cpu, Limit::Cpu(self.limits.cpu))?;
        self.deadline()
    }

    /// What asks the host, which is not counted as computing: how many times it may is another limit, and how long it takes the deadline's.
    pub(crate) fn ask<T>(&mut self, ask: impl FnOnce() -> T) -> T {
        let begun = processor_time();
        let answer = ask();
        self.asking += processor_time().saturating_sub(begun);
        answer
    }

    /// The wall clock; around every call to the host.
    pub(crate) fn deadline(&self) -> Result<(), CallError> {
        let deadline = self.limits.deadline;
        within(self.started.elapsed() < deadline, Limit::Deadline(deadline))
    }

    /// One call to the host.
    pub(crate) fn host_call(&mut self) -> Result<(), CallError> {
        self.host_calls = self.host_calls.saturating_add(1);
        let most = self.limits.host_calls;
        within(self.host_calls <= most, Limit::HostCalls(most))?;
        self.deadline()
    }

    /// Bytes that the component passed to the host in arguments, added up over the call. wasmtime holds each single
    /// argument and result to the same limit before the host allocates anything for it.
    pub(crate) fn transfer(&mut self, bytes: usize) -> Result<(), CallError> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.transferred = self.transferred.saturating_add(bytes);
        let most = self.limits.transfer;
        within(self.transferred <= most.0, Limit::Transfer(most))
    }

    /// Bytes that the host has read from the node for this call.
    pub(crate) fn read(&self, bytes: u64) -> Result<(), CallError> {
        within(bytes <= self.limits.read.0, Limit::Read(self.limits.read))
    }

    /// `more` handles for the component.
    pub(crate) fn take_handles(&mut self, more: usize) -> Result<(), CallError> {
        self.handles = self.handles.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        within(self.handles <= self.limits.handles, Limit::Handles(self.limits.handles))
    }

    /// The component dropped one.
    pub(crate) fn drop_handle(&mut self) {
        self.handles = self.handles.saturating_sub(1);
    }
}

/// Memory and tables of one call. What is over a limit ends the call by name. Letting `memory.grow` answer -1 instead
/// would make most components trap on `unreachable`, which explains nothing.
impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let more = u64::try_from(desired.saturating_sub(current)).unwrap_or(u64::MAX);
        let total = self.memory.saturating_add(more);
        within(total <= self.limits.memory.0, Limit::Memory(self.limits.memory))?;
        self.memory = total;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let most = self.limits.table_elements;
        within(desired <= count(most), Limit::TableElements(most))?;
        Ok(true)
    }

    fn instances(&self) -> usize {
        count(self.limits.instances)
    }

    fn tables(&self) -> usize {
        count(self.limits.tables)
    }

    fn memories(&self) -> usize {
        count(self.limits.memories)
    }
}

fn count(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Ends the call where it is not within this limit.
pub(crate) fn within(is: bool, limit: Limit) -> Result<(), CallError> {
    if is { Ok(()) } else { Err(GuestFault::Limit(limit).into()) }
}

/// Processor time of the calling thread since it started.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// A fault of the host, as the error that ends a call.
pub(crate) fn host_fault(what: impl Into<String>) -> CallError {
    HostFault(what.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(limits: Limits) -> Meter {
        Meter::start(Arc::new(limits))
    }

    fn limit(result: Result<(), CallError>) -> Option<Limit> {
        match result {
            Ok(()) => None,
            Err(CallError::Guest(GuestFault::Limit(limit))) => Some(limit),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn counts_up_to_the_limit_are_allowed_and_one_more_is_not() {
        let mut meter =
            meter(Limits { host_calls: 2, handles: 3, transfer: ByteSize(10), read: ByteSize(5), ..Limits::default() });
        assert_eq!([(); 3].map(|()| limit(meter.host_call())), [None, None, Some(Limit::HostCalls(2))]);
        assert_eq!(limit(meter.take_handles(3)), None);
        meter.drop_handle();
        assert_eq!(limit(meter.take_handles(1)), None);
        assert_eq!(limit(meter.take_handles(1)), Some(Limit::Handles(3)));
        assert_eq!(limit(meter.transfer(10)), None);
        assert_eq!(limit(meter.transfer(1)), Some(Limit::Transfer(ByteSize(10))));
        assert_eq!((limit(meter.read(5)), limit(meter.read(6))), (None, Some(Limit::Read(ByteSize(5)))));
    }

    #[test]
    fn processor_time_and_wall_time_are_two_limits() {
        let none = Duration::ZERO;
        let long = Duration::from_secs(3600);
        let clocks = |cpu, deadline| limit(meter(Limits { cpu, deadline, ..Limits::default() }).clocks());
        assert_eq!(clocks(long, long), None);
        assert_eq!(clocks(none, long), Some(Limit::Cpu(none)));
        assert_eq!(clocks(long, none), Some(Limit::Deadline(none)));
    }

    #[test]
    fn asking_is_not_computing() {
        let spin = || {
            let begun = processor_time();
            while processor_time().saturating_sub(begun) < Duration::from_millis(40) {}
        };
        let mut meter = meter(Limits { cpu: Duration::from_millis(20), ..Limits::default() });
        meter.ask(spin);
        assert_eq!(limit(meter.clocks()), None);
        spin();
        assert_eq!(limit(meter.clocks()), Some(Limit::Cpu(Duration::from_millis(20))));
    }

    #[test]
    fn sleeping_takes_no_processor_time() {
        let meter = meter(Limits { cpu: Duration::from_millis(20), ..Limits::default() });
        std::thread::sleep(Duration::from_millis(40));
        assert_eq!(limit(meter.clocks()), None);
    }
}
