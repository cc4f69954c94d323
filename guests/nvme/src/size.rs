//! Sizes as people write them, and as the kernel tells them.

/// What `size` of a block device counts in, whatever its blocks are (`Documentation/ABI/stable/sysfs-block`).
const SECTOR: u64 = 512;

/// Units, each with its bytes. Disks are sold in powers of ten.
const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

/// The bytes of `500GB`, `1TiB` or `4096B`: a whole number and its unit, without a space.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let (number, unit) = UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, bytes)))?;
    let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| plain)?.checked_mul(*unit)
}

/// The bytes of a block device whose attribute `size` reads so.
pub(crate) fn of_sectors(text: &str) -> Option<u64> {
    text.parse::<u64>().ok()?.checked_mul(SECTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_number_and_a_unit() {
        for (text, bytes) in [
            ("0B", Some(0)),
            ("4096B", Some(4096)),
            ("500GB", Some(500_000_000_000)),
            ("1TiB", Some(1 << 40)),
            ("3kB", Some(3000)),
            ("", None),
            ("GB", None),
            ("+1GB", None),
            ("1 GB", None),
            ("1.5TB", None),
            ("1", None),
            ("99999999999TB", None),
        ] {
            assert_eq!(parse(text), bytes, "{text:?}");
        }
    }

    #[test]
    fn the_kernel_counts_in_sectors() {
        assert_eq!(of_sectors("7501476528"), Some(3_840_755_982_336));
        assert_eq!(of_sectors("-1"), None);
        assert_eq!(of_sectors(&u64::MAX.to_string()), None);
    }
}
