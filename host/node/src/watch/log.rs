//! Where the kernel's log comes from, in this order: `/dev/kmsg`, `syslog(2)`, nowhere. Never a read that takes lines away
//! from others.

use crate::events::NodeEvent;
use crate::kernel_log::{KernelLine, Klog, Record, kmsg_record};
use crate::live::Live;
use crate::tree::{Kind, Tree};
use crate::watch::syslog::{self, Action};
use devgate_types::{NodeKind, NodeNumber, escape};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::cell::RefCell;
use std::fmt;
use std::io::{self, ErrorKind};

const KMSG: &str = "dev/kmsg";
const KMSG_NUMBER: NodeNumber = NodeNumber { kind: NodeKind::Character, major: 1, minor: 11 };
/// The kernel refuses a read that has no room for the record; they are at most 8,192 bytes (`CONSOLE_EXT_LOG_MAX`).
const MAX_RECORD_BYTES: usize = 16 << 10;
/// The largest log that is read as a whole; distributions have up to 1 MiB, and `log_buf_len=` can ask for more.
const MAX_LOG_BYTES: usize = 16 << 20;
/// The most characters of an error's own words.
const MAX_WORDS: usize = 128;

/// Where the lines of the kernel's log come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogSource {
    /// `/dev/kmsg`: each line at once.
    Kmsg,
    /// `syslog(2)`, every ten seconds, because `/dev/kmsg` cannot be opened for this reason.
    Syslog {
        /// In words.
        no_kmsg: String,
    },
    /// A recorded node's own lines.
    Recorded,
    /// Nowhere.
    Off {
        /// Why neither source can be read, in words.
        why: String,
    },
    /// It is not wanted.
    NotAsked,
}

impl fmt::Display for LogSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kmsg => f.write_str("/dev/kmsg"),
            Self::Syslog { no_kmsg } => write!(f, "syslog(2), every 10 s, as {no_kmsg}"),
            Self::Recorded => f.write_str("the recording"),
            Self::Off { why } => write!(f, "off: {why}"),
            Self::NotAsked => f.write_str("off: nothing is granted of it"),
        }
    }
}

/// Why what the kernel has said cannot be read: in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unread(pub(super) String);

impl From<Errno> for Unread {
    fn from(errno: Errno) -> Self {
        Self(errno.to_string())
    }
}

/// `syslog(2)` asks for a capability (`check_syslog_permissions` of kernel/printk/printk.c; container runtimes' default
/// seccomp profiles ask for the same).
const NOT_ALLOWED: &str = "syslog(2) is not allowed (EPERM): the host has no CAP_SYSLOG, and kernel.dmesg_restrict or \
    a seccomp profile asks for it; give it to the host (in a pod the overlay kernel-log, as a service the drop-in \
    kernel-log.conf)";

/// All that there still is of a live node's log, oldest first.
pub(super) fn lines(live: &Live) -> Result<Vec<KernelLine>, Unread> {
    let mut log = match Log::open(live) {
        (Some(log), _) => log,
        (None, source) => return Err(Unread(source.to_string())),
    };
    let lines = RefCell::new(Vec::new());
    log.drain(&|event| {
        if let NodeEvent::Line(line) = event {
            lines.borrow_mut().push(line);
        }
    })?;
    Ok(lines.into_inner())
}

/// A source that is open.
pub(super) enum Log {
    Kmsg(OwnedFd),
    /// With what reads all of it.
    Syslog(Klog, fn() -> Result<Vec<u8>, Unread>),
}

impl Log {
    /// The first source that can be read.
    pub(super) fn open(live: &Live) -> (Option<Self>, LogSource) {
        let no_kmsg = match kmsg(live) {
            Ok(kmsg) => return (Some(Self::Kmsg(kmsg)), LogSource::Kmsg),
            Err(why) => format!("/dev/kmsg cannot be read ({why})"),
        };
        if !live.is_this_kernel() {
            let why = format!("{no_kmsg}, and the node's /sys is not this kernel's");
            return (None, LogSource::Off { why });
        }
        match whole() {
            Ok(_) => (Some(Self::Syslog(Klog::default(), whole)), LogSource::Syslog { no_kmsg }),
            Err(why) => {
                let why = format!("{no_kmsg} and {why}");
                (None, LogSource::Off { why })
            }
        }
    }

    /// What says that there is more, if anything does.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Kmsg(kmsg) => Some(kmsg.as_fd()),
            Self::Syslog(..) => None,
        }
    }

    /// Tells what is new. Fails with a reason if it has to be opened anew.
    pub(super) fn drain(&mut self, tell: &dyn Fn(NodeEvent)) -> Result<(), Unread> {
        match self {
            Self::Kmsg(kmsg) => Ok(drain_kmsg(kmsg, tell)?),
            Self::Syslog(klog, whole) => {
                let news = klog.news(&whole()?);
                if news.gap {
                    tell(NodeEvent::Gap);
                }
                news.lines.into_iter().map(NodeEvent::Line).for_each(tell);
                Ok(())
            }
        }
    }
}

/// The device that gives each reader all records.
fn kmsg(live: &Live) -> Result<OwnedFd, Unread> {
    match live.stat(KMSG).map_err(|error| Unread(error.to_string()))? {
        Kind::Node(number) if number == KMSG_NUMBER => {}
        _ => return Err(Unread("it is another file".to_owned())),
    }
    // What may open it may read it.
    Ok(live.open_to_read(KMSG)?)
}

fn drain_kmsg(kmsg: &OwnedFd, tell: &dyn Fn(NodeEvent)) -> Result<(), Errno> {
    let mut buffer = [0; MAX_RECORD_BYTES];
    loop {
        match rustix::io::read(kmsg, &mut buffer) {
            Ok(0) | Err(Errno::AGAIN) => return Ok(()),
            Ok(length) => {
                let record = buffer.get(..length).and_then(kmsg_record);
                if let Some(Record::Kernel(line)) = record {
                    tell(NodeEvent::Line(line));
                }
            }
            Err(Errno::INTR) => {}
            // What stood here was overwritten; the next read gives the oldest that is left.
            Err(Errno::PIPE) => tell(NodeEvent::Gap),
            Err(error) => return Err(error),
        }
    }
}

/// The whole log, as `syslog(2)` gives it without taking anything away.
fn whole() -> Result<Vec<u8>, Unread> {
    let size = syslog::ask(Action::SizeBuffer, &mut []).map_err(|error| in_words(&error))?;
    let mut log = vec![0; size.clamp(1, MAX_LOG_BYTES)];
    let read = syslog::ask(Action::ReadAll, &mut log).map_err(|error| in_words(&error))?;
    log.truncate(read);
    Ok(log)
}

/// Why `syslog(2)` gives nothing, and what to do.
fn in_words(error: &io::Error) -> Unread {
    if error.kind() == ErrorKind::PermissionDenied {
        return Unread(NOT_ALLOWED.to_owned());
    }
    let why = error.to_string().to_lowercase();
    let why = why.split(" (os error").next().unwrap_or_default();
    Unread(format!("syslog(2) fails ({})", escape(why, MAX_WORDS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_refused_says_what_to_do() {
        let refused = in_words(&Errno::PERM.into()).to_string();
        assert_eq!(
            refused,
            "syslog(2) is not allowed (EPERM): the host has no CAP_SYSLOG, and kernel.dmesg_restrict or a seccomp profile asks for it; give it to the host (in a pod the overlay kernel-log, as a service the drop-in kernel-log.conf)"
        );
        let failed = in_words(&Errno::NOSYS.into()).to_string();
        assert_eq!(failed, "syslog(2) fails (function not implemented)");
    }

    /// What the kernel really says: this asks for a level of the console that there is not, which changes nothing.
    #[test]
    fn the_kernels_own_error_is_said() {
        let error = syslog::ask(Action::ConsoleLevel, &mut []).unwrap_err();
        let words = in_words(&error).to_string();
        let known = [
            "syslog(2) is not allowed (EPERM): ",
            "syslog(2) fails (invalid argument)",
            // Sandboxes that have no such call.
            "syslog(2) fails (function not implemented)",
        ];
        assert!(known.iter().any(|start| words.starts_with(start)), "{words}");
    }

    /// Both sources tell the same lines of this machine's log; where this machine does not let one be read, that is said.
    #[test]
    fn both_sources_tell_the_same() {
        let live = Live::new(std::fs::File::open("/").unwrap().into());
        let (Ok(kmsg), Ok(_)) = (kmsg(&live), whole()) else {
            return println!("not tried: {}", Log::open(&live).1);
        };
        let lines = |log: &mut Log| {
            let lines = RefCell::new(Vec::new());
            let tell = |event| match event {
                NodeEvent::Line(line) => lines.borrow_mut().push(line),
                other => println!("{other:?}"),
            };
            log.drain(&tell).unwrap();
            lines.into_inner()
        };
        let by_device = lines(&mut Log::Kmsg(kmsg));
        let by_call = lines(&mut Log::Syslog(Klog::default(), whole));
        assert!(!by_device.is_empty());
        // Whole microseconds are one line for the call. Both logs may have grown since, or lost their first lines.
        let Some(last) = by_call.last().map(|line| line.micros) else {
            return;
        };
        let texts = |lines: &[KernelLine]| {
            let all: Vec<_> = lines.iter().map(|line| (line.micros, line.text.clone())).collect();
            let once = |micros| all.iter().filter(|(at, _)| *at == micros).count() == 1;
            all.iter()
                .filter(|(at, text)| once(*at) && *at < last && !text.contains("\\x0a"))
                .cloned()
                .collect::<Vec<_>>()
        };
        let (by_device, by_call) = (texts(&by_device), texts(&by_call));
        assert!(!by_call.is_empty());
        assert!(by_call.iter().filter(|line| !by_device.contains(line)).count() == 0);
        println!("{} lines of {} are the same", by_call.len(), by_device.len());
    }
}
