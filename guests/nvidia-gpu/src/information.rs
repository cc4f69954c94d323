//! The driver's text about one GPU, `/proc/driver/nvidia/gpus/<address>/information`, and about itself.
//!
//! Lines are a name, a colon, white space and a value, as `kernel-open/nvidia/nv-procfs.c` of NVIDIA's open kernel modules
//! writes them; the value may have colons.

/// What the driver says of a GPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Information {
    /// None where the driver does not know it, which it writes as `GPU-????????-…`: the GPU is not initialized, or failed.
    pub(crate) uuid: Option<String>,
    pub(crate) model: Option<String>,
    /// Whether the driver has read the firmware of a running GPU. It has not (`??.??.??.??.??`) before the GPU is
    /// initialized and after it failed to be; nothing in here tells the two apart.
    pub(crate) is_running: bool,
    /// The number in `/dev/nvidia<minor>`.
    pub(crate) minor: Option<u32>,
    /// Whether the admin told the driver to leave this GPU alone (`NVreg_ExcludedGpus`).
    pub(crate) is_excluded: bool,
}

impl Information {
    /// None where the text is empty: the driver then could not wake the GPU to ask it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            text.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                (key.trim() == name).then(|| value.trim())
            })
        };
        if text.trim().is_empty() {
            return None;
        }
        Some(Self {
            uuid: value("GPU UUID").filter(|uuid| is_uuid(uuid)).map(str::to_owned),
            model: value("Model").filter(|model| is_known(model)).map(str::to_owned),
            is_running: value("Video BIOS").is_none_or(is_known),
            minor: value("Device Minor").and_then(|minor| minor.parse().ok()),
            // Drivers of before 2020 say "Blacklisted".
            is_excluded: ["GPU Excluded", "Blacklisted"].iter().any(|name| value(name) == Some("Yes")),
        })
    }
}

fn is_known(value: &str) -> bool {
    !value.is_empty() && value != "Unknown" && !value.contains('?')
}

/// `GPU-` and a UUID in lower case.
fn is_uuid(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("GPU-") else {
        return false;
    };
    let groups: Vec<&str> = rest.split('-').collect();
    let is_group = |(group, length): (&&str, usize)| {
        group.len() == length && group.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    groups.len() == 5 && groups.iter().zip([8, 4, 4, 4, 12]).all(is_group)
}

/// The driver's version in `/proc/driver/nvidia/version`: the first word with a dot that is all digits and dots. Between
/// drivers the words around it differ (`NVIDIA UNIX x86_64 Kernel Module`, `… Open Kernel Module for x86_64`).
pub(crate) fn driver_version(text: &str) -> Option<&str> {
    let line = text.lines().find_map(|line| line.strip_prefix("NVRM version:"))?;
    line.split_whitespace().find(|word| word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V100: &str = "Model: \t\t Tesla V100-SXM2-16GB\nIRQ:   \t\t 408\n\
        GPU UUID: \t GPU-edfee158-11c1-52b8-0517-92f30e7fac88\nVideo BIOS: \t 88.00.41.00.01\nBus Type: \t PCIe\n\
        DMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\nBus Location: \t 0000:06:00.0\nDevice Minor: \t 3\nGPU Excluded:\t No\n";

    #[test]
    fn what_the_driver_writes_is_read() {
        let expected = Information {
            uuid: Some("GPU-edfee158-11c1-52b8-0517-92f30e7fac88".to_owned()),
            model: Some("Tesla V100-SXM2-16GB".to_owned()),
            is_running: true,
            minor: Some(3),
            is_excluded: false,
        };
        assert_eq!(Information::parse(V100), Some(expected.clone()));
        let spaces = V100.replace('\t', " ").replace("GPU Excluded", "GPU Firmware: 550.54.15\nGPU Excluded");
        assert_eq!(Information::parse(&spaces), Some(expected));
    }

    #[test]
    fn question_marks_are_no_values() {
        let text = V100
            .replace("GPU-edfee158-11c1-52b8-0517-92f30e7fac88", "GPU-????????-????-????-????-????????????")
            .replace("88.00.41.00.01", "??.??.??.??.??")
            .replace("Tesla V100-SXM2-16GB", "Unknown");
        let parsed = Information::parse(&text).unwrap();
        assert_eq!((parsed.uuid, parsed.model, parsed.is_running), (None, None, false));
    }

    #[test]
    fn only_a_whole_uuid_is_one() {
        assert!(is_uuid("GPU-edfee158-11c1-52b8-0517-92f30e7fac88"));
        for bad in [
            "",
            "GPU-",
            "edfee158-11c1-52b8-0517-92f30e7fac88",
            "GPU-edfee158-11c1-52b8-0517-92f30e7fac8",
            "GPU-EDFEE158-11c1-52b8-0517-92f30e7fac88",
            "GPU-edfee158-11c1-52b8-0517-92f30e7fac88-0",
            "GPU-edfee158-11c1-52b8-0517-92f30e7fac8,",
            "MIG-edfee158-11c1-52b8-0517-92f30e7fac88",
        ] {
            assert!(!is_uuid(bad), "{bad}");
        }
    }

    #[test]
    fn an_excluded_gpu_says_so() {
        for line in ["GPU Excluded:\t Yes", "Blacklisted:\t Yes"] {
            let text = V100.replace("GPU Excluded:\t No", line);
            assert!(Information::parse(&text).unwrap().is_excluded, "{line}");
        }
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(Information::parse(""), None);
        assert_eq!(Information::parse("\n"), None);
        let odd = Information::parse("no colon\nDevice Minor: many\n").unwrap();
        assert_eq!((odd.uuid, odd.minor), (None, None));
    }

    #[test]
    fn the_version_is_found_in_all_forms_of_the_line() {
        for (text, version) in [
            (
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version:  gcc version 12.3.0\n",
                Some("550.54.15"),
            ),
            (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build  (dvs-builder@U16)\n",
                Some("570.86.10"),
            ),
            ("GCC version:  gcc version 12.3.0\n", None),
            ("", None),
        ] {
            assert_eq!(driver_version(text), version, "{text}");
        }
    }
}
