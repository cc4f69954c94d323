//! What a label's value may be, and how text becomes one.

use crate::error::Problem;
use crate::qualified::{MAX_NAME, is_name};
use devgate_types::escape;

/// Text as a label may have it: each run of what is no ASCII letter, digit, `-`, `_` or `.` is one `-`, and the ends are letters or
/// digits. `ACME Z9 (PCIe)` is `ACME-Z9-PCIe`. Fails where nothing is left, or more than 63 characters: half a name would say something
/// else.
pub(super) fn label_value(text: &str) -> Result<String, Problem> {
    let ok = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let parts: Vec<&str> = text.split(|c| !ok(c)).filter(|part| !part.is_empty()).collect();
    let value = parts.join("-");
    let value = value.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if is_name(value) {
        return Ok(value.to_owned());
    }
    let shown = escape(text, 80);
    Err(Problem(match value.len() {
        0 => format!("\"{shown}\" has no letter or digit that a label could have"),
        _ => format!("\"{shown}\" is longer than the {MAX_NAME} characters of a label"),
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
        let longest = "x".repeat(MAX_NAME);
        assert_eq!(label_value(&longest).as_deref(), Ok(longest.as_str()));
    }

    #[test]
    fn what_a_label_cannot_have_is_told() {
        let why = |text: &str| label_value(text).unwrap_err().to_string();
        insta::assert_snapshot!(why(""), @r#""" has no letter or digit that a label could have"#);
        insta::assert_snapshot!(why("™\u{202e} --"), @r#""™\u{202e} --" has no letter or digit that a label could have"#);
        assert!(why(&"x".repeat(MAX_NAME + 1)).contains("longer than the 63 characters"));
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
