//! What the kernel lets a container or service have.

use devgate_types::ByteSize;
use std::fs::read_to_string;
use std::path::Path;

/// Where control groups are, in a container as well.
const GROUPS: &str = "/sys/fs/cgroup";
/// Where the limit of a group stands, of either version.
const LIMITS: [&str; 2] = ["memory.max", "memory.limit_in_bytes"];
/// Version 1 has no word for no limit; what it shows then is close to this.
const UNLIMITED: u64 = 1 << 62;

/// The memory that this process's container or service may have; `None` without a limit.
#[must_use]
pub fn memory_limit() -> Option<ByteSize> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    limit_of(&groups, Path::new(GROUPS))
}

fn limit_of(groups: &str, root: &Path) -> Option<ByteSize> {
    groups.lines().filter_map(|line| limit_of_line(line, root)).min()
}

/// The limit that a line of `/proc/self/cgroup` leads to: `0::/PATH`, or `N:memory:/PATH` with version 1. A container sees its own group
/// as the root, whatever that is called outside.
fn limit_of_line(line: &str, root: &Path) -> Option<ByteSize> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let root = match controllers {
        "" => root.to_owned(),
        list if list.split(',').any(|name| name == "memory") => root.join("memory"),
        _ => return None,
    };
    let group = root.join(path.trim_start_matches('/'));
    // Each above it counts as well.
    let groups = group.ancestors().take_while(|dir| dir.starts_with(&root));
    let files = groups.flat_map(|dir| LIMITS.map(|name| dir.join(name)));
    let limits = files.filter_map(|file| read_to_string(file).ok()?.trim().parse().ok());
    limits.filter(|limit| *limit < UNLIMITED).min().map(ByteSize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_limit_is_that_of_the_own_group_or_of_one_above() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("system.slice/devgate.service");
        fs::create_dir_all(&group).unwrap();
        let of = |groups: &str| limit_of(groups, root.path()).map(|limit| limit.0 >> 20);
        let own = "0::/system.slice/devgate.service\n";
        assert_eq!(of(own), None, "nothing says anything");
        fs::write(group.join("memory.max"), "max\n").unwrap();
        assert_eq!(of(own), None, "unlimited");
        fs::write(group.join("memory.max"), "134217728\n").unwrap();
        assert_eq!(of(own), Some(128));
        assert_eq!(of("garbage\n"), None);
        // What a container sees.
        fs::write(root.path().join("memory.max"), "67108864\n").unwrap();
        assert_eq!(of("0::/kubepods/../elsewhere\n"), Some(64));
        assert_eq!(of("0::/\n"), Some(64));
        assert_eq!(of(own), Some(64));
    }

    #[test]
    fn version_1_has_a_number_for_no_limit() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("memory/devgate");
        fs::create_dir_all(&group).unwrap();
        let file = group.join("memory.limit_in_bytes");
        let of = |line: &str| limit_of(line, root.path());
        fs::write(&file, "9223372036854771712\n").unwrap();
        assert_eq!(of("4:memory:/devgate\n"), None);
        fs::write(&file, "1048576\n").unwrap();
        assert_eq!(of("5:cpu:/\n4:hugetlb,memory:/devgate\n"), Some(ByteSize::mib(1)));
        assert_eq!(of("5:cpu:/devgate\n"), None);
    }
}
