//! What a GPU's PCI device id says of it. After `include/drm/intel/pciids.h` of the kernel and Intel's own lists; a GPU that is not in
//! here does without.

/// The family of discrete GPUs, by the range that a device id is in.
const FAMILIES: &[(u32, u32, &str)] = &[
    (0x0bd0, 0x0bdb, "Max"),
    (0x4905, 0x4909, "Xe"),
    (0x5690, 0x56b6, "Arc A"),
    (0x56ba, 0x56bf, "Arc A"),
    (0x56c0, 0x56c2, "Flex"),
    (0xe202, 0xe223, "Arc B"),
];

/// Products by their exact ids.
const PRODUCTS: &[(u32, &str)] = &[
    (0x0bd5, "Intel Data Center GPU Max 1550"),
    (0x0bda, "Intel Data Center GPU Max 1100"),
    (0x56a0, "Intel Arc A770"),
    (0x56a1, "Intel Arc A750"),
    (0x56a5, "Intel Arc A380"),
    (0x56c0, "Intel Data Center GPU Flex 170"),
    (0x56c1, "Intel Data Center GPU Flex 140"),
    (0xe20b, "Intel Arc B580"),
    (0xe20c, "Intel Arc B570"),
    (0xe211, "Intel Arc Pro B60"),
    (0xe212, "Intel Arc Pro B50"),
];

/// Where the GPU that is a part of the processor is, in every machine that has one.
const INTEGRATED: &str = "0000:00:02.0";

fn number(id: &str) -> Option<u32> {
    u32::from_str_radix(id.strip_prefix("0x")?, 16).ok()
}

/// The family of a GPU, by its device id as the kernel writes it and its address.
pub(crate) fn family(id: &str, address: &str) -> Option<&'static str> {
    let of = |number: u32| {
        let found = FAMILIES.iter().find(|(first, last, _)| (*first..=*last).contains(&number));
        found.map(|(.., family)| *family)
    };
    // First by the id: a virtual machine may have a discrete one at that address.
    let integrated = || (address == INTEGRATED).then_some("integrated");
    number(id).and_then(of).or_else(integrated)
}

/// The product of a device id.
pub(crate) fn product(id: &str) -> Option<&'static str> {
    let number = number(id)?;
    PRODUCTS.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_families_and_products() {
        assert_eq!(
            (family("0x56c0", "0000:4d:00.0"), product("0x56c0")),
            (Some("Flex"), Some("Intel Data Center GPU Flex 170"))
        );
        assert_eq!((family("0x56a0", "0000:03:00.0"), product("0x56a0")), (Some("Arc A"), Some("Intel Arc A770")));
        assert_eq!((family("0xe211", "0000:03:00.0"), product("0xe211")), (Some("Arc B"), Some("Intel Arc Pro B60")));
        assert_eq!((family("0x4680", "0000:00:02.0"), product("0x4680")), (Some("integrated"), None));
        assert_eq!(family("0x56be", "0000:03:00.0"), Some("Arc A"));
        assert_eq!(family("0x56c0", "0000:00:02.0"), Some("Flex"));
    }

    #[test]
    fn what_is_not_known_has_none() {
        for id in ["", "56c0", "0x", "0xffff", "0x1ffffffff", "0x56b7", "0x56c3"] {
            assert_eq!((family(id, "0000:03:00.0"), product(id)), (None, None), "{id}");
        }
    }

    #[test]
    fn every_product_is_of_a_family() {
        for (id, name) in PRODUCTS {
            assert!(family(&format!("{id:#06x}"), "0000:03:00.0").is_some(), "{name}");
        }
    }
}
