//! What a label's value may be, and how text becomes one.

use super::name::is_name;
use devgate_types::escape;
use std::fmt;

/// The longest value of a label, and the longest name behind the `/`.
pub(super) const MOST: usize = 63;

/// Text of which no value can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmappable(String);

impl fmt::Display for Unmappable {
    /// Why, escaped and cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Text as a label may have it: each run of what is no ASCII letter, digit, `-`, `_` or `.` is one `-`, and the ends are letters or
/// digits. `ACME Z9 (PCIe)` is `ACME-Z9-PCIe`.
///
/// # Errors
/// Where nothing is left, or more than 63 characters: half a name would say something else.
pub fn label_value(text: &str) -> Result<String, Unmappable> {
    let mut value = String::new();
    let mut gap = false;
    for c in text.chars() {
        if value.is_empty() && !c.is_ascii_alphanumeric() {
            continue;
        }
        if !(c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            gap = true;
            continue;
        }
        if std::mem::take(&mut gap) {
            value.push('-');
        }
        value.push(c);
        // There is nothing to be had from what is longer still.
        if value.len() > 64 * MOST {
            break;
        }
    }
    let value = value.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if is_name(value) {
        return Ok(value.to_owned());
    }
    let shown = escape(text, 80);
    Err(Unmappable(match value.len() {
        0 => format!("\"{shown}\" has no letter or digit that a label could have"),
        _ => format!("\"{shown}\" is longer than the {MOST} characters of a label"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_becomes_what_a_label_may_have() {
        for (text, value) in [
            ("ACME H100 PCIe", "ACME-H100-PCIe"),
            ("acme (R) Arc™ 770", "acme-R-Arc-770"),
            ("550.54.15", "550.54.15"),
            ("a_b-c.d", "a_b-c.d"),
            ("  x  ", "x"),
            ("example.com/gpu", "example.com-gpu"),
            ("-1", "1"),
            ("größer", "gr-er"),
            ("\u{1b}[2J\n", "2J"),
        ] {
            assert_eq!(label_value(text).as_deref(), Ok(value), "{text}");
        }
        let longest = "x".repeat(MOST);
        assert_eq!(label_value(&longest).as_deref(), Ok(longest.as_str()));
    }

    #[test]
    fn what_a_label_cannot_have_is_told() {
        let why = |text: &str| label_value(text).unwrap_err().to_string();
        insta::assert_snapshot!(why(""), @r#""" has no letter or digit that a label could have"#);
        insta::assert_snapshot!(why("™\u{202e} --"), @r#""™\u{202e} --" has no letter or digit that a label could have"#);
        assert!(why(&"x".repeat(MOST + 1)).contains("longer than the 63 characters"));
    }

    proptest! {
        #[test]
        fn whatever_a_component_says_the_value_is_a_labels(text in ".{0,300}") {
            if let Ok(value) = label_value(&text) {
                prop_assert!(is_name(&value), "{value}");
            }
        }
    }
}
