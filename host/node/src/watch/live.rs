//! One thread that waits for all that a live node tells.

use super::Sink;
use super::log::{Log, LogSource};
use super::paths::Paths;
use crate::events::NodeEvent;
use crate::live::Live;
use crate::uevent::Uevents;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// How often `syslog(2)` is asked: it gives the whole log each time, and tells nobody when there is more.
const SYSLOG_EVERY: Duration = Duration::from_secs(10);
/// What a failure that is not expected costs at most: looked at again after this.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Ends its thread when it is dropped.
pub(super) struct LiveWatch {
    live: Arc<Live>,
    paths: Option<Arc<Paths>>,
    no_uevents: Option<String>,
    /// The thread has the other end.
    _stop: Option<UnixStream>,
}

struct Sources {
    stop: UnixStream,
    uevents: Option<Uevents>,
    paths: Option<Arc<Paths>>,
    log: Option<Log>,
    sink: Sink,
}

impl LiveWatch {
    pub(super) fn start(live: Arc<Live>, kernel_log: bool, sink: Sink) -> (Self, LogSource) {
        let (uevents, mut no_uevents) = if live.is_this_kernel() {
            match Uevents::listen() {
                Ok(uevents) => (Some(uevents), None),
                Err(error) => (None, Some(format!("the kernel does not let the host listen ({error})"))),
            }
        } else {
            (None, Some("the node's /sys is not this kernel's".to_owned()))
        };
        let (log, source) = if kernel_log {
            Log::open(&live)
        } else {
            (None, LogSource::NotAsked)
        };
        let paths = Paths::open().ok().map(Arc::new);
        let stop = UnixStream::pair().and_then(|(stop, stopped)| {
            let sources = Sources {
                stop: stopped,
                uevents,
                paths: paths.clone(),
                log,
                sink,
            };
            let thread = std::thread::Builder::new().name("node-events".to_owned());
            thread.spawn(move || sources.run())?;
            Ok(stop)
        });
        if let Err(error) = &stop {
            no_uevents = Some(format!("no thread to listen with ({error})"));
        }
        let watch = Self {
            live,
            paths,
            no_uevents,
            _stop: stop.ok(),
        };
        (watch, source)
    }

    pub(super) fn no_uevents(&self) -> Option<&str> {
        self.no_uevents.as_deref()
    }

    pub(super) fn directories(&self, directories: &BTreeSet<String>) {
        if let Some(paths) = &self.paths {
            paths.set(&self.live, directories);
        }
    }
}

impl Sources {
    fn run(mut self) {
        let sink = Arc::clone(&self.sink);
        let tell = move |event| sink(event);
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

    /// Tells what there is. A source that fails is given up, and said to have lost something: the poll goes on without it.
    fn drain(&mut self, tell: &dyn Fn(NodeEvent)) {
        if self
            .uevents
            .as_ref()
            .is_some_and(|uevents| uevents.drain(tell).is_err())
        {
            self.uevents = None;
            tell(NodeEvent::Lost);
        }
        if self.paths.as_ref().is_some_and(|paths| paths.drain(tell).is_err()) {
            self.paths = None;
            tell(NodeEvent::Lost);
        }
        if self.log.as_mut().is_some_and(|log| log.drain(tell).is_err()) {
            self.log = None;
            tell(NodeEvent::Gap);
        }
    }

    /// Waits until there is more; whether to go on.
    fn wait(&self) -> Result<bool, Errno> {
        let mut waited: Vec<BorrowedFd<'_>> = vec![self.stop.as_fd()];
        waited.extend(self.uevents.as_ref().map(|uevents| uevents.socket().as_fd()));
        waited.extend(self.paths.as_ref().map(|paths| paths.inotify().as_fd()));
        let mut patience = None;
        match &self.log {
            Some(Log::Kmsg(kmsg)) => waited.push(kmsg.as_fd()),
            Some(Log::Syslog(_)) => patience = Timespec::try_from(SYSLOG_EVERY).ok(),
            None => {}
        }
        let mut polled: Vec<_> = waited.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        match poll(&mut polled, patience.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        Ok(polled.first().is_some_and(|stop| stop.revents().is_empty()))
    }
}
