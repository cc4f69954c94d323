//! Numbers in properties: memory, counts, versions.

/// The number that a text is: `8`, `17179869184`, a version's or fraction's whole part (`550` of `550.54.15`), or bytes where a
/// unit follows (`80GB`, `80 GiB`). Nothing where it is none, or more than a label may be compared with (63 bits).
pub(crate) fn number(text: &str) -> Option<u64> {
    let text = text.trim_matches(' ');
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let whole: u64 = digits.parse().ok()?;
    let times = match rest.strip_prefix('.') {
        Some(rest) if rest.split('.').all(is_digits) => 1,
        Some(_) => return None,
        None if rest.is_empty() => 1,
        None => multiple(rest.trim_start_matches(' '))?,
    };
    whole.checked_mul(times).filter(|n| i64::try_from(*n).is_ok())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// How many bytes `B`, `MiB`, `GB` and the like are.
pub(super) fn multiple(word: &str) -> Option<u64> {
    Some(match word {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sizes_and_versions_are_read_and_nothing_else() {
        for (text, value) in [
            ("0", 0),
            ("38", 38),
            ("25767706624", 25_767_706_624),
            ("80GB", 80_000_000_000),
            ("16 GiB", 16 << 30),
            ("550.54.15", 550),
            ("9.0", 9),
            ("9223372036854775807", i64::MAX.unsigned_abs()),
        ] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for bad in [
            "",
            "x",
            "-1",
            "1.5GiB",
            "1.",
            "1..2",
            "0x10",
            "8 gpus",
            "9223372036854775808",
            "9TiBs",
            "99999999TB",
            "1,5",
        ] {
            assert_eq!(number(bad), None, "{bad}");
        }
        assert_eq!(25_767_706_624 / multiple("MiB").unwrap(), 24_574);
        assert_eq!(80_000_000_000 / multiple("GB").unwrap(), 80);
        assert_eq!(multiple("X"), None);
    }
}
