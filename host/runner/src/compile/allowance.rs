//! What compiling may take: each component for itself, and all that are compiled at the same time together.

use devgate_types::{ByteSize, Mutex};
use std::fs;
use std::path::Path;
use std::sync::{Condvar, PoisonError};
use std::time::Duration;

/// What all children together may have, where nothing smaller is said: room for one that is large, or for four of the usual size.
const TOGETHER: ByteSize = ByteSize::mib(512);
/// What the host itself needs, of what the container or the service may have.
const HOST: ByteSize = ByteSize::mib(64);
/// Where the limit of a cgroup stands, of either version. In a container its own is the root of what is seen; a service's own directory
/// is found by [`own`].
const LIMITS: [&str; 2] = ["memory.max", "memory.limit_in_bytes"];

/// What compiling one component may take. JavaScript's 3 s, Go's 6 and Python's 16 are less than half of it on a slow machine, and the
/// memory of the shipped ones less than 64 MiB, of Python's some 20 times its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    /// Of the processor.
    pub(super) seconds: u64,
    /// Address space; no page is given back before the end.
    pub(super) memory: ByteSize,
    /// Whether that is what there is, and not what the component might need.
    is_short: bool,
    size: u64,
}

impl Allowance {
    pub(super) const fn of(size: u64) -> Self {
        Self {
            seconds: 20 + size / (128 << 10),
            memory: ByteSize::mib(128 + size.saturating_mul(64).div_ceil(1 << 20)),
            is_short: false,
            size,
        }
    }

    /// By the clock. What computes without end is ended by what it uses; this is for nodes where it gets next to nothing.
    pub(super) const fn patience(self) -> Duration {
        Duration::from_secs(self.seconds * 30)
    }

    /// The most machine code, in bytes.
    pub(super) fn code(self) -> usize {
        let most = self.size.saturating_mul(16).saturating_add(16 << 20);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// The memory, for people.
    pub(super) fn memory_in_words(self) -> String {
        let memory = self.memory;
        match self.is_short {
            true => format!("{memory}, which is what this container or service may have beside the host"),
            false => memory.to_string(),
        }
    }
}

/// What all children together may have.
#[derive(Debug)]
pub(super) struct Budget {
    most: ByteSize,
    used: Mutex<u64>,
    freed: Condvar,
}

/// A child's share; it ends when this is dropped.
pub(super) struct Share<'a>(&'a Budget, u64);

impl Default for Budget {
    fn default() -> Self {
        Self::new(limit())
    }
}

impl Budget {
    fn new(limit: Option<ByteSize>) -> Self {
        let left = limit.map_or(u64::MAX, |limit| limit.0.saturating_sub(HOST.0).max(HOST.0));
        Self {
            most: ByteSize(left),
            used: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    /// What a component of so many bytes may take: never more than there is.
    pub(super) fn allow(&self, size: u64) -> Allowance {
        let wanted = Allowance::of(size);
        Allowance {
            memory: wanted.memory.min(self.most),
            is_short: wanted.memory > self.most,
            ..wanted
        }
    }

    /// Waits until there is so much left, or nobody else has any.
    pub(super) fn wait(&self, memory: ByteSize) -> Share<'_> {
        let most = self.most.min(TOGETHER).0;
        let mut used = self.used.lock();
        while *used > 0 && used.saturating_add(memory.0) > most {
            used = self.freed.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used = used.saturating_add(memory.0);
        Share(self, memory.0)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut used = self.0.used.lock();
        *used = used.saturating_sub(self.1);
        self.0.freed.notify_all();
    }
}

/// What this process's cgroup may have, if that is limited.
fn limit() -> Option<ByteSize> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    own.lines().filter_map(of_line).min()
}

/// The limit that a line of `/proc/self/cgroup` leads to: `0::/PATH`, or `N:memory:/PATH` with version 1.
fn of_line(line: &str) -> Option<ByteSize> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let root = match controllers {
        "" => Path::new("/sys/fs/cgroup"),
        list if list.split(',').any(|name| name == "memory") => Path::new("/sys/fs/cgroup/memory"),
        _ => return None,
    };
    let dir = root.join(path.trim_start_matches('/'));
    // Each above it counts as well.
    let dirs = dir.ancestors().take_while(|dir| dir.starts_with(root));
    let files = dirs.flat_map(|dir| LIMITS.map(|name| dir.join(name)));
    files
        .filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok().map(ByteSize))
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn what_may_be_taken_grows_with_the_component() {
        let small = Allowance::of(43 << 10);
        assert_eq!(
            (small.seconds, small.memory, small.code() >> 20),
            (20, ByteSize::mib(131), 16)
        );
        let python = Allowance::of(18 << 20);
        assert_eq!(
            (python.seconds, python.memory, python.code() >> 20),
            (164, ByteSize::mib(1_280), 304)
        );
        assert!(python.patience() > Duration::from_secs(python.seconds));
    }

    #[test]
    fn nothing_may_take_more_than_its_cgroup_has() {
        let small = Budget::new(Some(ByteSize::mib(256)));
        assert_eq!(small.allow(1 << 10), Allowance::of(1 << 10));
        let short = small.allow(18 << 20);
        assert_eq!(short.memory, ByteSize::mib(192));
        assert!(
            short
                .memory_in_words()
                .starts_with("192MiB, which is what this container")
        );
        assert_eq!(Budget::new(None).allow(18 << 20), Allowance::of(18 << 20));
        assert_eq!(Budget::new(Some(ByteSize::mib(16))).allow(0).memory, HOST);
    }

    #[test]
    fn together_they_have_no_more_than_there_is_and_one_always_goes_on() {
        let budget = Budget::new(Some(ByteSize::mib(320)));
        let first = budget.wait(ByteSize::mib(131));
        let (send, got) = mpsc::channel();
        thread::scope(|scope| {
            let (budget, send) = (&budget, &send);
            scope.spawn(move || {
                let _second = budget.wait(ByteSize::mib(131));
                send.send(()).unwrap();
            });
            assert!(
                got.recv_timeout(Duration::from_millis(50)).is_err(),
                "256 MiB are less than both"
            );
            drop(first);
            got.recv_timeout(Duration::from_secs(10)).unwrap();
        });
        // One that is larger than all there is has it alone.
        drop(budget.wait(ByteSize::mib(4_096)));
        assert_eq!(*budget.used.lock(), 0);
    }
}
