//! What the host's own process uses, and may use.

use super::metrics::float;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{read_dir, read_to_string};
use std::time::Duration;

/// What a process uses and may use at one moment, in bytes and numbers, by metric; without what cannot be known here, or has no limit.
/// Under the names that all of Prometheus' own libraries use, where there is one.
pub(super) type Usage = Vec<(&'static str, f64)>;

/// Of this process, now. The memory that it may use is that of its container or service.
pub(super) fn now() -> Usage {
    let limit = devgate_runner::memory_limit().map(|limit| limit.0);
    named([resident(), limit, descriptors(), getrlimit(Resource::Nofile).current], processor())
}

/// Memory and its limit, descriptors and their limit, and seconds of the processor.
pub(super) fn named([resident, limit, open, most]: [Option<u64>; 4], seconds: f64) -> Usage {
    let numbers = [
        ("process_resident_memory_bytes", resident),
        ("devgate_memory_limit_bytes", limit),
        ("process_open_fds", open),
        ("process_max_fds", most),
    ];
    let known = numbers.into_iter().filter_map(|(name, number)| Some((name, float(number?))));
    known.chain([("process_cpu_seconds_total", seconds)]).collect()
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
    use std::collections::BTreeMap;

    #[test]
    fn this_process_uses_something() {
        let usage: BTreeMap<_, _> = now().into_iter().collect();
        assert!(usage["process_resident_memory_bytes"] > 1e6, "{usage:?}");
        let descriptors = usage["process_open_fds"];
        assert!(descriptors >= 3.0 && descriptors < usage["process_max_fds"], "{usage:?}");
        assert!(usage["process_cpu_seconds_total"] > 0.0);
    }
}
