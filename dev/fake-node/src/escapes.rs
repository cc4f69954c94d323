//! How umockdev writes bytes as text: C escapes in `A:` lines (GLib's `g_strcompress`), hexadecimal in `H:` lines.

/// The bytes that an escaped value stands for.
pub(crate) fn unescape(value: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let Some(next) = rest.next() else {
            return Err("value ends in the middle of an escape; write \\\\ for a backslash".to_owned());
        };
        bytes.push(match next {
            b'0'..=b'7' => {
                let mut code = u32::from(next - b'0');
                for _ in 0..2 {
                    match rest.peek() {
                        Some(digit @ b'0'..=b'7') => code = code * 8 + u32::from(digit - b'0'),
                        _ => break,
                    }
                    rest.next();
                }
                u8::try_from(code).map_err(|_| format!("\\{code:o} is more than a byte can hold"))?
            }
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            // GLib takes any other character as itself, quotes and the backslash among them.
            other => other,
        });
    }
    Ok(bytes)
}

/// Bytes as `umockdev-record` writes them: GLib's `g_strescape`.
pub(crate) fn escape(bytes: &[u8]) -> String {
    let one = |byte: &u8| match byte {
        8 => "\\b".to_owned(),
        12 => "\\f".to_owned(),
        b'\n' => "\\n".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'\t' => "\\t".to_owned(),
        11 => "\\v".to_owned(),
        b'\\' => "\\\\".to_owned(),
        b'"' => "\\\"".to_owned(),
        0x20..0x7f => char::from(*byte).to_string(),
        other => format!("\\{other:03o}"),
    };
    bytes.iter().map(one).collect()
}

/// The bytes that pairs of hexadecimal digits stand for.
pub(crate) fn unhex(value: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? * 16 + digit(low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = value.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| "value must be pairs of hexadecimal digits".to_owned())
}

/// Bytes as pairs of hexadecimal digits, as an `H:` line has them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_glibs() {
        assert_eq!(unescape("10:229\\n").unwrap(), b"10:229\n");
        assert_eq!(unescape("\\\"a\\\\b\\\"").unwrap(), b"\"a\\b\"");
        assert_eq!(unescape("\\303\\244").unwrap(), "ä".as_bytes());
        assert_eq!(unescape("\\0x\\18\\1").unwrap(), b"\0x\x018\x01");
        assert_eq!(unescape("ä\\q").unwrap(), "äq".as_bytes());
        assert!(unescape("x\\").unwrap_err().contains("middle of an escape"));
        assert!(unescape("\\400").unwrap_err().contains("\\400"));
    }

    #[test]
    fn hexadecimal_is_pairs() {
        assert_eq!(unhex("0081FEfe").unwrap(), [0, 0x81, 0xfe, 0xfe]);
        assert_eq!(unhex("").unwrap(), []);
        assert!(unhex("0").is_err() && unhex("0g").is_err() && unhex("+1").is_err() && unhex("é").is_err());
    }

    proptest! {
        #[test]
        fn what_was_escaped_comes_back(bytes: Vec<u8>) {
            prop_assert_eq!(unescape(&escape(&bytes)).unwrap(), bytes.clone());
            prop_assert_eq!(unhex(&hex(&bytes)).unwrap(), bytes);
        }

        #[test]
        fn any_text_is_understood_or_refused(text in "\\PC*|[\\\\0-9a-f]*") {
            let _ = unescape(&text);
            let _ = unhex(&text);
        }
    }
}
