//! What the host's own process uses, and may use.

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{read_dir, read_to_string};
use std::path::Path;
use std::time::Duration;

/// Where control groups are, in a container as well.
const GROUPS: &str = "/sys/fs/cgroup";

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
            memory_limit: read_to_string("/proc/self/cgroup")
                .ok()
                .and_then(|groups| memory_limit(&groups, Path::new(GROUPS))),
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

/// The limit of the group that `/proc/self/cgroup` names, or of the root that a container sees as its own. Version 2 of control
/// groups, which has `max` for no limit; version 1 is not looked at.
fn memory_limit(groups: &str, root: &Path) -> Option<u64> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let limit = |group: &Path| {
        let text = read_to_string(group.join("memory.max")).ok()?;
        text.trim().parse().ok()
    };
    limit(&root.join(own)).or_else(|| limit(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something() {
        let usage = Usage::now();
        assert!(usage.resident > Some(1 << 20), "{usage:?}");
        assert!(
            usage.descriptors >= Some(3) && usage.descriptors < usage.most_descriptors,
            "{usage:?}"
        );
        assert!(usage.processor > 0.0);
    }

    #[test]
    fn the_limit_is_that_of_the_own_group_if_there_is_one() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("system.slice/devgate.service");
        std::fs::create_dir_all(&group).unwrap();
        let of = |groups: &str| memory_limit(groups, root.path());
        let (own, other) = ("0::/system.slice/devgate.service\n", "0::/kubepods/../elsewhere\n");
        assert_eq!(of(own), None, "nothing says anything");
        std::fs::write(group.join("memory.max"), "max\n").unwrap();
        assert_eq!(of(own), None, "unlimited");
        std::fs::write(group.join("memory.max"), "134217728\n").unwrap();
        assert_eq!(of(own), Some(128 << 20));
        // A container sees its own group as the root, whatever it is called outside.
        std::fs::write(root.path().join("memory.max"), "67108864\n").unwrap();
        assert_eq!(of(other), Some(64 << 20));
        assert_eq!(of("0::/\n"), Some(64 << 20));
        assert_eq!(of("5:memory:/old\n"), None, "version 1");
    }
}
