//! Ids of units, made from kernel names.

use std::hash::Hasher;

/// The longest id that the contract allows, in bytes.
const MAX_BYTES: usize = 63;

/// The id of the unit that a device of this kernel name is: the name itself, as nearly all kernel names may be ids. In the
/// others, what an id may not contain becomes `_`; what is too long is cut, and ends with a digest of the whole.
pub(crate) fn of(kernel_name: &str) -> String {
    let mut id = String::with_capacity(kernel_name.len());
    for c in kernel_name.chars() {
        let allowed =
            is_allowed(c) && !(c == ':' && id.ends_with(':')) && (c.is_ascii_alphanumeric() || !id.is_empty());
        id.push(if allowed { c } else { '_' });
    }
    if !id.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        id.insert(0, 'x');
    }
    if id.len() > MAX_BYTES {
        let mut digest = Fnv::default();
        digest.write(kernel_name.as_bytes());
        id.truncate(MAX_BYTES - 17);
        id = format!("{id}-{:016x}", digest.finish());
    }
    id
}

/// What is wrong with an id that the admin wrote, if anything.
pub(crate) fn problem(id: &str) -> Option<&'static str> {
    if of(id) == id && !id.is_empty() {
        None
    } else {
        Some("must have 1 to 63 letters, digits and -_.:+@!, start with a letter or digit, and contain no \"::\"")
    }
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.:+@!".contains(c)
}

/// FNV-1a, 64 bit: stable across builds, which the standard library's hashers do not promise.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_names_are_ids() {
        for name in ["fuse", "ttyUSB0", "0000:3b:00.0", "tenstorrent!0", "1-1.2:1.0", "PNP0C0A:00"] {
            assert_eq!(of(name), name);
            assert_eq!(problem(name), None);
        }
    }

    #[test]
    fn what_may_not_be_in_an_id_is_replaced() {
        assert_eq!(of("a b/c,d"), "a_b_c_d");
        assert_eq!(of("a::b"), "a:_b");
        assert_eq!(of("-a"), "x_a");
        assert_eq!(of("ü0"), "x_0");
        for bad in ["", "a::b", "-a", "a/b", "a b", &"x".repeat(64)] {
            assert!(problem(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        assert_eq!(of(&"x".repeat(63)), "x".repeat(63));
        let (one, other) = (of(&("x".repeat(70) + "1")), of(&("x".repeat(70) + "2")));
        assert!(one.len() == 63 && other.len() == 63 && one != other, "{one} {other}");
        assert_eq!(of(&"x".repeat(64)), format!("{}-{}", "x".repeat(46), "b96a5acbb56db825"));
    }
}
