//! What the host's own process uses, and may use.

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{read_dir, read_to_string};
use std::time::Duration;

/// What the process uses at one moment; nothing for what cannot be known here.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Resident memory in bytes.
    pub(super) resident: Option<u64>,
    /// The memory in bytes that its control group may use, which is that of its container or service. Nothing where there is no
    /// limit.
    pub(super) memory_limit: Option<u64>,
    /// Open file descriptors.
    pub(super) descriptors: Option<u64>,
    /// How many of them it may have open. Nothing where there is no limit.
    pub(super) most_descriptors: Option<u64>,
    /// Processor time so far, in seconds.
    pub(super) processor: f64,
}

impl Usage {
    /// Of this process, now.
    pub(super) fn now() -> Self {
        Self {
            resident: resident(),
            memory_limit: devgate_runner::memory_limit().map(|limit| limit.0),
            descriptors: descriptors(),
            most_descriptors: getrlimit(Resource::Nofile).current,
            processor: processor(),
        }
    }
}

fn resident() -> Option<u64> {
    let status = read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn descriptors() -> Option<u64> {
    // One of them is the directory that is read.
    let open = read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
    open.try_into().ok()
}

fn processor() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something() {
        let usage = Usage::now();
        assert!(usage.resident > Some(1 << 20), "{usage:?}");
        assert!(usage.descriptors >= Some(3) && usage.descriptors < usage.most_descriptors, "{usage:?}");
        assert!(usage.processor > 0.0);
    }
}
