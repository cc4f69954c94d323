//! The kernel's names of NVMe devices (`nvme_alloc_ns` and `nvme_mpath_alloc_disk` in `drivers/nvme/host`), and ids made of what
//! names a namespace.
//!
//! - `nvme3`: a controller; `nvme-subsys3`: the subsystem, which is a drive or a target with all its controllers.
//! - `nvme3n1`: a disk. Beneath its controller, or, where several controllers may lead to it, beneath the subsystem in
//!   `/sys/devices/virtual`; then `nvme3c5n1` beneath controller 5 is one path to it, hidden and without a node.
//! - `ng3n1`: the same namespace as a character device, which takes NVMe commands.

/// The longest id that the contract allows, in bytes.
const MAX_ID: usize = 63;

/// The disk that a path leads to: `nvme3n1` for `nvme3c5n1`. Nothing for what is no path.
pub(crate) fn disk_of_path(path: &str) -> Option<String> {
    let (subsystem, rest) = path.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    let numbers = [subsystem, controller, namespace];
    numbers.iter().all(|number| is_number(number)).then(|| format!("nvme{subsystem}n{namespace}"))
}

/// Whether it is the name of a disk, not of one of its partitions.
pub(crate) fn is_disk(name: &str) -> bool {
    let numbers = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n'));
    numbers.is_some_and(|(drive, namespace)| is_number(drive) && is_number(namespace))
}

/// Whether it is the name of a controller.
pub(crate) fn is_controller(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(is_number)
}

/// The character device of the same namespace: `ng3n1` for `nvme3n1`.
pub(crate) fn generic(disk: &str) -> Option<String> {
    Some(format!("ng{}", disk.strip_prefix("nvme")?))
}

/// An id of a text that names one thing: what an id may not contain becomes `_`, and what is too long is cut and ends with a
/// digest of the whole. A worldwide name that the kernel makes of serial number and model is up to 130 bytes.
pub(crate) fn id(text: &str) -> String {
    let may = |c: char| c.is_ascii_alphanumeric() || "-_.:+@!".contains(c);
    let mut id: String = text.chars().map(|c| if may(c) { c } else { '_' }).collect();
    while let Some(at) = id.find("::") {
        id.replace_range(at + 1..at + 2, "_");
    }
    if id.len() > MAX_ID {
        id.truncate(MAX_ID - 17);
        id = format!("{id}-{:016x}", digest(text));
    }
    id
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// FNV-1a, 64 bit: stable across builds, which the standard library's hashers do not promise.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |digest: u64, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_their_disk() {
        assert_eq!(disk_of_path("nvme3c5n1").as_deref(), Some("nvme3n1"));
        assert_eq!(disk_of_path("nvme0c12n34").as_deref(), Some("nvme0n34"));
        for other in ["nvme3n1", "nvme3c5", "nvmec5n1", "nvme3cn1", "nvme3c5n1p1", "sda", "nvme"] {
            assert_eq!(disk_of_path(other), None, "{other}");
        }
    }

    #[test]
    fn disks_controllers_and_partitions_are_told_apart() {
        for (name, disk, controller) in [
            ("nvme0n1", true, false),
            ("nvme10n22", true, false),
            ("nvme0n1p1", false, false),
            ("nvme0c0n1", false, false),
            ("nvme0", false, true),
            ("nvme-subsys0", false, false),
            ("nvme", false, false),
            ("ng0n1", false, false),
        ] {
            assert_eq!((is_disk(name), is_controller(name)), (disk, controller), "{name}");
        }
        assert_eq!(generic("nvme10n22").as_deref(), Some("ng10n22"));
        assert_eq!(generic("sda"), None);
    }

    #[test]
    fn ids_are_short_and_stay_apart() {
        assert_eq!(id("eui.0025385391b0a1c2"), "eui.0025385391b0a1c2");
        assert_eq!(id("0000:20:00.0-n1"), "0000:20:00.0-n1");
        assert_eq!(id("a b::c"), "a_b:_c");
        assert_eq!(id(":::"), ":_:");
        let long = |last: char| id(&format!("nvme.144d-{}-{last}", "53".repeat(40)));
        assert!(long('1').len() == MAX_ID && long('1') != long('2'), "{}", long('1'));
    }
}
