//! What a GPU is called: by the version of its instruction set, and by its PCI device id where the driver tells no name.

/// The name of an instruction set from KFD's `gfx_target_version`, which is major x 10,000 + minor x 100 + step: 90010 is
/// `gfx90a`, 110000 is `gfx1100`. Minor and step are one hexadecimal digit each (LLVM's AMDGPU back end).
pub(crate) fn name(version: u64) -> Option<String> {
    let (major, minor, step) = (version / 10_000, version / 100 % 100, version % 100);
    (major > 0 && minor < 16 && step < 16).then(|| format!("gfx{major}{minor:x}{step:x}"))
}

/// The family of an instruction set, as AMD's marketing calls it.
pub(crate) fn family(version: u64) -> Option<&'static str> {
    Some(match (version / 10_000, version / 100 % 100, version % 100) {
        (9, 0, 0..=6) => "Vega",
        (9, 0, 8) => "CDNA",
        (9, 0, 10) => "CDNA2",
        (9, 4, _) => "CDNA3",
        (9, 5, _) => "CDNA4",
        (10, 1, _) => "RDNA",
        (10, 3, _) => "RDNA2",
        (11, 0, _) => "RDNA3",
        (11, 5, _) => "RDNA3.5",
        (12, 0, _) => "RDNA4",
        _ => return None,
    })
}

/// The product of a PCI device id: accelerators for servers, whose boards may not tell their `product_name`. After
/// `amdgpu.ids` of libdrm.
pub(crate) fn product(device: &str) -> Option<&'static str> {
    Some(match device.strip_prefix("0x")? {
        "738c" | "738e" => "AMD Instinct MI100",
        "7408" => "AMD Instinct MI250X",
        "740c" => "AMD Instinct MI250X / MI250",
        "740f" => "AMD Instinct MI210",
        "74a0" => "AMD Instinct MI300A",
        "74a1" => "AMD Instinct MI300X",
        "74a2" => "AMD Instinct MI308X",
        "74a5" => "AMD Instinct MI325X",
        "74b5" => "AMD Instinct MI300X VF",
        "75a0" => "AMD Instinct MI350X",
        "75a3" => "AMD Instinct MI355X",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_names_and_families() {
        for (version, expected, of) in [
            (90_010, "gfx90a", Some("CDNA2")),
            (90_402, "gfx942", Some("CDNA3")),
            (90_008, "gfx908", Some("CDNA")),
            (100_300, "gfx1030", Some("RDNA2")),
            (110_501, "gfx1151", Some("RDNA3.5")),
            (80_003, "gfx803", None),
        ] {
            assert_eq!((name(version).as_deref(), family(version)), (Some(expected), of));
        }
    }

    #[test]
    fn what_is_no_version_has_none() {
        for none in [0, 90, u64::MAX, 91_600] {
            assert_eq!((name(none), family(none)), (None, None), "{none}");
        }
    }

    #[test]
    fn products_go_by_device_id() {
        assert_eq!(product("0x740f"), Some("AMD Instinct MI210"));
        assert_eq!((product("0x0000"), product("740f")), (None, None));
    }
}
