//! One thread that waits for all that a live node tells.

use super::follow::Follow;
use super::log::{self, Log, LogSource, Unread};
use super::paths::PathWatch;
use super::{EventSource, Sink, Watch};
use crate::KernelLine;
use crate::events::NodeEvent;
use crate::live::Live;
use crate::uevent::Uevents;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a failure that is not expected costs at most: looked at again after this.
pub(super) const AFTER_FAILURE: Duration = Duration::from_secs(1);

struct Sources {
    stop: UnixStream,
    uevents: Option<Uevents>,
    log: Option<Follow>,
    sink: Sink,
}

impl EventSource for Live {
    fn watch(self: Arc<Self>, kernel_log: bool, sink: Sink) -> Watch {
        let listening = match self.is_this_kernel() {
            true => Uevents::listen().map_err(|error| format!("the kernel does not let the host listen ({error})")),
            false => Err("the node's /sys is not this kernel's".to_owned()),
        };
        let (uevents, mut no_device_events) = match listening {
            Ok(uevents) => (Some(uevents), None),
            Err(why) => (None, Some(why)),
        };
        let (log, mut source) = match kernel_log {
            true => Log::open(&self),
            false => (None, LogSource::NotAsked),
        };
        let log = log.map(|log| {
            let live = Arc::clone(&self);
            Follow::new(log, source.clone(), Box::new(move || Log::open(&live)))
        });
        let paths = PathWatch::start(self, Arc::clone(&sink)).ok();
        // The thread has the other end, and ends when this one is dropped.
        let stop = UnixStream::pair().and_then(|(stop, stopped)| {
            let sources = Sources { stop: stopped, uevents, log, sink };
            let thread = std::thread::Builder::new().name("node-events".to_owned());
            thread.spawn(move || sources.run())?;
            Ok(stop)
        });
        if let Err(error) = &stop {
            let why = format!("no thread to listen with ({error})");
            if kernel_log {
                source = LogSource::Off { why: why.clone() };
            }
            no_device_events = Some(why);
        }
        Watch { no_device_events, paths, ..Watch::new(stop.ok(), source) }
    }

    fn log_source(&self) -> LogSource {
        Log::open(self).1
    }

    fn now(&self) -> u64 {
        let now = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        seconds.saturating_mul(1_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or_default() / 1_000_000)
    }

    fn log_lines(&self) -> Result<Vec<KernelLine>, Unread> {
        log::lines(self)
    }
}

impl Sources {
    fn run(mut self) {
        let sink = Arc::clone(&self.sink);
        let tell = move |event| {
            let _span = tracing::trace_span!("node.event").entered();
            sink(event);
        };
        loop {
            self.drain(&tell);
            let ready = self.wait();
            match ready {
                Ok(true) => {}
                Ok(false) => return,
                // Out of memory, at worst: not a reason to spin.
                Err(_) => std::thread::sleep(AFTER_FAILURE),
            }
        }
    }

    /// Tells what there is. Events that cannot be had are given up, and said to be lost: the poll goes on without them.
    fn drain(&mut self, tell: &dyn Fn(NodeEvent)) {
        if self.uevents.as_ref().is_some_and(|uevents| uevents.drain(tell).is_err()) {
            self.uevents = None;
            tell(NodeEvent::Lost);
        }
        if let Some(log) = &mut self.log {
            log.drain(Instant::now(), tell);
        }
    }

    /// Waits until there is more; whether to go on.
    fn wait(&self) -> Result<bool, Errno> {
        let mut waited: Vec<BorrowedFd<'_>> = vec![self.stop.as_fd()];
        waited.extend(self.uevents.as_ref().map(|uevents| uevents.socket().as_fd()));
        waited.extend(self.log.as_ref().and_then(Follow::fd));
        let due = self.log.as_ref().and_then(Follow::due);
        let patience = due.map(|due| due.saturating_duration_since(Instant::now()));
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        let mut polled: Vec<_> = waited.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        match poll(&mut polled, patience.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        Ok(polled.first().is_some_and(|stop| stop.revents().is_empty()))
    }
}
