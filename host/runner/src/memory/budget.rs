//! Who may take how much of it.

use super::{COMPILER_MEMORY, HOST_MEMORY, memory_limit};
use devgate_types::{ByteSize, Mutex};
use std::sync::{Arc, Condvar, PoisonError};

/// What all compilers together may have, where nothing smaller is said: room for a component that is large, or for four of the usual size.
const COMPILERS: ByteSize = ByteSize::mib(512);

/// What the children of one host may take, held against what its container or service may have.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: Option<ByteSize>,
    used: Mutex<Used>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Used {
    runners: u64,
    compilers: u64,
    /// Whether it was said that it is more than there is.
    is_said: bool,
}

/// What a plugin's process may take, until this is dropped.
#[derive(Debug)]
pub(crate) struct Reserved(Arc<Budget>, u64);

/// What a compiler may take; it ends when this is dropped.
pub(crate) struct Share<'a>(&'a Budget, u64);

impl Default for Budget {
    fn default() -> Self {
        Self::new(memory_limit())
    }
}

impl Budget {
    pub(crate) fn new(limit: Option<ByteSize>) -> Self {
        Self { limit, used: Mutex::default(), freed: Condvar::new() }
    }

    /// Counts a plugin's process, and warns where all of them may take more than there is: what then ends, and that it may be all of them,
    /// only the kernel knows.
    pub(crate) fn reserve(self: &Arc<Self>, plugin: &str, memory: ByteSize) -> Reserved {
        let mut used = self.used.lock();
        used.runners = used.runners.saturating_add(memory.0);
        let all = ByteSize(used.runners.saturating_add(HOST_MEMORY.0));
        if let Some(limit) = self.limit.filter(|limit| all > *limit)
            && !used.is_said
        {
            used.is_said = true;
            tracing::warn!(
                plugin,
                family = "host",
                "plugin {plugin}: with its process, devgate may take {} MiB, and this container or service may have {limit}: components that \
                 take all that their limits give them end all plugins together; raise the memory of the container or service, or lower \
                 limits.memory of plugins",
                all.0 >> 20
            );
        }
        Reserved(Arc::clone(self), memory.0)
    }

    /// The most that one compiler may have now. Where the plugins' processes alone may take more than there is, which they hardly do, they
    /// do not count: nothing could be compiled.
    pub(crate) fn most_for_compiler(&self) -> ByteSize {
        self.most(&self.used.lock())
    }

    fn most(&self, used: &Used) -> ByteSize {
        let Some(limit) = self.limit else {
            return ByteSize(u64::MAX);
        };
        let beside_host = limit.0.saturating_sub(HOST_MEMORY.0).max(HOST_MEMORY.0);
        match beside_host.checked_sub(used.runners) {
            Some(left) if left >= COMPILER_MEMORY.0 => ByteSize(left),
            _ => ByteSize(beside_host),
        }
    }

    /// Waits until there is so much left for a compiler, or no other one has any.
    pub(crate) fn share(&self, memory: ByteSize) -> Share<'_> {
        let mut used = self.used.lock();
        while used.compilers > 0 && used.compilers.saturating_add(memory.0) > self.most(&used).min(COMPILERS).0 {
            used = self.freed.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        used.compilers = used.compilers.saturating_add(memory.0);
        Share(self, memory.0)
    }
}

impl Reserved {
    /// Counts it as so much from now on.
    pub(crate) fn resize(&mut self, memory: ByteSize) {
        let mut used = self.0.used.lock();
        used.runners = used.runners.saturating_sub(self.1).saturating_add(memory.0);
        self.1 = memory.0;
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut used = self.0.used.lock();
        used.runners = used.runners.saturating_sub(self.1);
        let fits = |limit: ByteSize| used.runners.saturating_add(HOST_MEMORY.0) <= limit.0;
        used.is_said &= !self.0.limit.is_none_or(fits);
        self.0.freed.notify_all();
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut used = self.0.used.lock();
        used.compilers = used.compilers.saturating_sub(self.1);
        self.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    fn budget(mib: u64) -> Arc<Budget> {
        Arc::new(Budget::new(Some(ByteSize::mib(mib))))
    }

    #[test]
    fn a_compiler_has_what_the_host_and_the_plugins_leave() {
        let budget = budget(512);
        let most = || budget.most_for_compiler().0 >> 20;
        assert_eq!(most(), 448);
        let mut first = budget.reserve("first", ByteSize::mib(200));
        assert_eq!(most(), 248);
        first.resize(ByteSize::mib(300));
        assert_eq!(most(), 148);
        // What they might take at the worst leaves nothing; what they take does.
        let second = budget.reserve("second", ByteSize::mib(100));
        assert_eq!(most(), 448);
        drop((first, second));
        assert_eq!(most(), 448);
        assert_eq!(Budget::new(None).most_for_compiler().0, u64::MAX);
        assert_eq!(Budget::new(Some(ByteSize::mib(16))).most_for_compiler(), HOST_MEMORY);
    }

    #[test]
    fn together_they_have_no_more_than_there_is_and_one_always_goes_on() {
        let budget = budget(320);
        let first = budget.share(ByteSize::mib(131));
        let (send, got) = mpsc::channel();
        thread::scope(|scope| {
            let (budget, send) = (&budget, &send);
            scope.spawn(move || {
                let _second = budget.share(ByteSize::mib(131));
                send.send(()).unwrap();
            });
            assert!(got.recv_timeout(Duration::from_millis(50)).is_err(), "256 MiB are less than both");
            drop(first);
            got.recv_timeout(Duration::from_secs(10)).unwrap();
        });
        // One that is larger than all there is has it alone.
        drop(budget.share(ByteSize::mib(4_096)));
        assert_eq!(budget.used.lock().compilers, 0);
    }
}
