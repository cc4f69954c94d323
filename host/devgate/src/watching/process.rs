//! What the host's own process uses.

use rustix::time::{ClockId, clock_gettime};

/// Resident memory in bytes.
pub(super) fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Open file descriptors.
pub(super) fn descriptors() -> Option<usize> {
    // One of them is the directory that is read.
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1))
}

/// Processor time so far, in seconds.
pub(super) fn processor() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    std::time::Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
    .as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something() {
        assert!(resident() > Some(1 << 20), "{:?}", resident());
        assert!(descriptors() >= Some(3), "{:?}", descriptors());
        assert!(processor() > 0.0);
    }
}
