//! Following the kernel's log, also where its source fails for a while.

use super::log::{Log, LogSource, Unread};
use crate::events::NodeEvent;
use rustix::fd::BorrowedFd;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// How often `syslog(2)` is asked: it gives the whole log each time, and does not tell when there is more.
const SYSLOG_EVERY: Duration = Duration::from_secs(10);
/// How long a source that failed is left alone; twice as long each time.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Failures one after the other that make a log that cannot be read.
const MAX_FAILURES: u32 = 3;

/// The first source that can be read now, and which that is, or why there is none.
type Open = Box<dyn Fn() -> (Option<Log>, LogSource) + Send>;

/// The log of a live node, that could be read at first.
pub(super) struct Follow {
    open: Open,
    log: Option<Log>,
    source: LogSource,
    /// What was told last of the source.
    told: RefCell<Option<LogSource>>,
    /// When there is something to do without an event.
    due: Option<Instant>,
    failures: u32,
}

impl Follow {
    pub(super) fn new(log: Log, source: LogSource, open: Open) -> Self {
        Self { open, log: Some(log), source, told: RefCell::default(), due: None, failures: 0 }
    }

    /// What says that there is more.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.log.as_ref()?.fd()
    }

    /// When to drain it although nothing says that there is more.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Tells what is new, if it is time for that, and what becomes of the source.
    pub(super) fn drain(&mut self, now: Instant, tell: &dyn Fn(NodeEvent)) {
        if self.due.is_some_and(|due| now < due) {
            return;
        }
        self.due = None;
        if self.log.is_none() {
            (self.log, self.source) = (self.open)();
        }
        let result = match (&mut self.log, &self.source) {
            (Some(log), source) => {
                let said = |event| {
                    say(&self.told, source, tell);
                    tell(event);
                };
                log.drain(&said)
            }
            (None, LogSource::Off { why }) => Err(Unread(why.clone())),
            (None, source) => Err(Unread(source.to_string())),
        };
        match result {
            Ok(()) => {
                say(&self.told, &self.source, tell);
                self.failures = 0;
                // What says by itself that there is more need not be asked.
                self.due = self.fd().is_none().then(|| now + SYSLOG_EVERY);
            }
            Err(why) => self.failed(&why.to_string(), now, tell),
        }
    }

    fn failed(&mut self, why: &str, now: Instant, tell: &dyn Fn(NodeEvent)) {
        self.log = None;
        if self.failures == 0 {
            tell(NodeEvent::Gap);
        }
        let pause = PAUSE.saturating_mul(2_u32.saturating_pow(self.failures));
        self.due = Some(now + pause.min(LONGEST_PAUSE));
        self.failures = self.failures.saturating_add(1);
        if self.failures >= MAX_FAILURES && !matches!(*self.told.borrow(), Some(LogSource::Off { .. })) {
            let why = why.to_owned();
            say(&self.told, &LogSource::Off { why }, tell);
        }
    }
}

/// Tells where lines come from, if that is news.
fn say(told: &RefCell<Option<LogSource>>, source: &LogSource, tell: &dyn Fn(NodeEvent)) {
    if told.borrow().as_ref() != Some(source) {
        *told.borrow_mut() = Some(source.clone());
        tell(NodeEvent::Log(source.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_log::Klog;
    use std::fs::File;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex};

    /// What is told from now on, one event a line.
    fn told(follow: &mut Follow, now: Instant) -> Vec<String> {
        let told = RefCell::new(Vec::new());
        follow.drain(now, &|event| {
            told.borrow_mut().push(match event {
                NodeEvent::Line(line) => line.text,
                NodeEvent::Log(source) => format!("log {source}"),
                other => format!("{other:?}"),
            });
        });
        told.into_inner()
    }

    fn records(text: &str) -> Log {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Log::Kmsg(File::open(file.path()).unwrap().into())
    }

    /// Every read of it fails.
    fn broken() -> Log {
        Log::Kmsg(File::open("/").unwrap().into())
    }

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn syslog_is_read_when_it_is_due_whatever_else_happens() {
        static READ: AtomicU32 = AtomicU32::new(0);
        let read = || {
            let n = READ.fetch_add(1, Ordering::SeqCst);
            Ok(format!("<6>[{n:5}.000000] line {n}\n").into_bytes())
        };
        let source = LogSource::Syslog { no_kmsg: "so".to_owned() };
        let log = Log::Syslog(Klog::default(), read);
        let mut follow = Follow::new(log, source, Box::new(|| (None, LogSource::NotAsked)));
        let start = Instant::now();
        assert_eq!(told(&mut follow, start).last().map(String::as_str), Some("line 0"));
        for second in 1..10 {
            assert_eq!(told(&mut follow, start + secs(second)), [""; 0]);
        }
        assert_eq!((READ.load(Ordering::SeqCst), follow.due()), (1, Some(start + secs(10))));
        assert_eq!(told(&mut follow, start + secs(10)).last().map(String::as_str), Some("line 1"));
    }

    #[test]
    fn a_log_that_fails_is_tried_again_said_to_be_off_and_found_again() {
        let next: Arc<Mutex<Vec<Log>>> = Arc::default();
        let opened = Arc::clone(&next);
        let open = move || match opened.lock().unwrap().pop() {
            Some(log) => (Some(log), LogSource::Kmsg),
            None => {
                let why = "refused".to_owned();
                (None, LogSource::Off { why })
            }
        };
        let mut follow = Follow::new(records("6,1,5,-;first\n"), LogSource::Kmsg, Box::new(open));
        let mut now = Instant::now();
        assert_eq!(told(&mut follow, now), ["log /dev/kmsg", "first"]);
        assert_eq!(follow.due(), None, "it says itself when there is more");
        follow.log = Some(broken());
        assert_eq!(told(&mut follow, now), ["Gap"]);
        // Once is not enough to be off.
        next.lock().unwrap().push(records("6,2,6,-;second\n"));
        assert_eq!(told(&mut follow, now), [""; 0], "not at once");
        now += secs(1);
        assert_eq!(told(&mut follow, now), ["second"]);
        follow.log = Some(broken());
        assert_eq!(told(&mut follow, now), ["Gap"]);
        next.lock().unwrap().push(broken());
        now += secs(1);
        assert_eq!(told(&mut follow, now), [""; 0]);
        now += secs(2);
        assert_eq!(told(&mut follow, now), ["log off: refused"]);
        for _ in 0..10 {
            now += LONGEST_PAUSE;
            assert_eq!(told(&mut follow, now), [""; 0], "said once");
            assert!(follow.due().is_some_and(|due| due <= now + LONGEST_PAUSE));
        }
        next.lock().unwrap().push(records("6,3,7,-;third\n"));
        assert_eq!(told(&mut follow, now + LONGEST_PAUSE), ["log /dev/kmsg", "third"]);
    }
}
