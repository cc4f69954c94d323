//! UUIDs as the DFL drivers write them, 32 hexadecimal digits without dashes (`afu_id_show` in `drivers/fpga/dfl-afu-main.c`,
//! `compat_id_show` in `drivers/fpga/fpga-region.c`), and names made of them.

/// The letters of URL-safe base64 (RFC 4648, section 5).
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// An id of an interface or a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Uuid(pub(crate) [u8; 16]);

impl Uuid {
    /// Reads 32 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 16];
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, at) in bytes.iter_mut().zip((0..32).step_by(2)) {
            *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// Whether it is what a device that does not answer reads as.
    pub(crate) fn is_all_ones(&self) -> bool {
        self.0 == [0xff; 16]
    }

    /// As the kernel writes it.
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The name of a function's resource behind the domain: `af-695.d84.aVKNtusxV3qMNmj5-qCB9thCTcSko8QT-J5DNoP5BAs` for a function of
/// an interface. Interface and function in one, since the same function is another bitstream on another interface. The name
/// is that of the device plugin that Intel has for these cards, so that pods need not change.
pub(crate) fn function_name(interface: &Uuid, function: &Uuid) -> String {
    let (a, b) = (interface.text(), function.text());
    let both: Vec<u8> = interface.0.iter().chain(&function.0).copied().collect();
    let short = |text: &str| text.chars().take(3).collect::<String>();
    format!("af-{}.{}.{}", short(&a), short(&b), base64(&both))
}

/// Without padding. Of 32 bytes the last letter has four bits only, and so is a letter or digit, as a resource's name must end.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let group = three.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for n in 0..=three.len() {
            let letter = usize::try_from(group >> (18 - 6 * n) & 0x3f).unwrap_or(0);
            text.extend(LETTERS.get(letter).map(|letter| char::from(*letter)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_32_digits() {
        let text = "d8424dc4a4a3c413f89e433683f9040b";
        assert_eq!(Uuid::parse(text).unwrap().text(), text);
        assert_eq!(Uuid::parse(&text.to_uppercase()), Uuid::parse(text));
        for bad in ["", "d8424dc4", "g8424dc4a4a3c413f89e433683f9040b", "+8424dc4a4a3c413f89e433683f9040b"] {
            assert_eq!(Uuid::parse(bad), None, "{bad}");
        }
        assert!(Uuid::parse(&"f".repeat(32)).unwrap().is_all_ones());
        assert!(!Uuid::parse(text).unwrap().is_all_ones());
    }

    /// The name is the one in the documentation of Intel's plugin.
    #[test]
    fn functions_are_named_as_pods_know_them() {
        let uuid = |text| Uuid::parse(text).unwrap();
        assert_eq!(
            function_name(&uuid("69528db6eb31577a8c3668f9faa081f6"), &uuid("d8424dc4a4a3c413f89e433683f9040b")),
            "af-695.d84.aVKNtusxV3qMNmj5-qCB9thCTcSko8QT-J5DNoP5BAs"
        );
    }

    #[test]
    fn base64_is_that_of_the_standard() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg"),
            (b"ab", "YWI"),
            (b"foo", "Zm9v"),
            (b"foobar", "Zm9vYmFy"),
            (&[0xfb, 0xff], "-_8"),
        ] {
            assert_eq!(base64(bytes), text);
        }
    }
}
