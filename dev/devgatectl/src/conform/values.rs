//! What attributes, files, links and directories are made to say: what a kernel, firmware or driver may say one day, made of
//! what they say in the recording where that is known.

use crate::query::Fake;
use devgate_types::FailureKind;

/// More than 64 bits hold.
const HUGE: &str = "340282366920938463463374607431768211456";

/// The ways in which an attribute or file is faked: the names of their checks.
pub(super) const TEXTS: [&str; 13] = [
    "missing",
    "unreadable",
    "denied",
    "gone",
    "empty",
    "binary",
    "long",
    "huge",
    "negative",
    "control",
    "multibyte",
    "cut",
    "separators",
];
/// Those that anything may fail with.
pub(super) const FAILURES: [&str; 4] = ["missing", "unreadable", "denied", "gone"];

/// The answers that are faked in one way instead of a text, if that is known; several where there is more than one.
pub(super) fn fakes(way: &str, known: Option<&str>) -> Vec<Fake> {
    match way {
        "missing" => vec![Fake::failure(FailureKind::NotFound, "", "not there")],
        "unreadable" => vec![
            Fake::failure(FailureKind::Io, "EIO", "Input/output error"),
            Fake::failure(FailureKind::Io, "ETIMEDOUT", "Connection timed out"),
            Fake::failure(FailureKind::Io, "EAGAIN", "Resource temporarily unavailable"),
        ],
        "denied" => vec![Fake::denied()],
        "gone" => vec![Fake::failure(FailureKind::Gone, "", "the device is gone")],
        "nothing" => vec![Fake::Nothing],
        "names" => names(),
        // Not text: the host says so where text is asked for, and gives it where bytes are.
        "binary" => {
            let all = (0..=u8::MAX).collect();
            let not_utf8 = vec![b'o', b'k', 0xff, 0xfe, 0xc3];
            [vec![0; 64], all, not_utf8, vec![0xff; 64]].map(Fake::Bytes).to_vec()
        }
        _ => {
            let larger = Fake::failure(FailureKind::Limit, "", "is larger than 4096 bytes");
            let known = known.or((way == "control").then_some("on"));
            let changed = known.map(|known| changed(way, known)).unwrap_or_default();
            let fakes = fixed(way).into_iter().chain(changed).map(text);
            fakes.chain((way == "long").then_some(larger)).collect()
        }
    }
}

/// What nothing need be known for.
fn fixed(way: &str) -> Vec<String> {
    let fixed: &[&str] = match way {
        "empty" => &["", "\n", "   \t\n"],
        "long" => {
            return [("x", 4_096), ("9", 4_096), ("a\n", 2_048), ("1 ", 2_048)]
                .map(|(text, n)| text.repeat(n))
                .to_vec();
        }
        "huge" => &[HUGE, "0x100000000000000000000000000000000", "4294967296", "9223372036854775808"],
        "negative" => &["-1", "0", "0x", "NaN", "1.5"],
        "control" => &["\u{1b}[31mred\u{7}\u{8}\r\n\u{1b}]0;title\u{7}"],
        // Letters of more than one byte, so that a component that cuts by bytes cuts one in two.
        "multibyte" => &["漢字:漢字=漢字 漢字/漢字", "🦀", "éééééééééééééééééééééééééééééééééééééééé"],
        // As a reader sees it that is too fast, or after a driver's format has changed.
        "cut" => &["?", "N/A"],
        "separators" => &[":", "=", ",,,,", "0-", "-0", "//", "..", "{\"["],
        _ => &[],
    };
    fixed.iter().map(|&text| text.to_owned()).collect()
}

/// A known text, changed in one way.
fn changed(way: &str, known: &str) -> Vec<String> {
    let is_plain = |c: &char| c.is_ascii_alphanumeric();
    let first = |length| known.chars().take(length).collect();
    match (way, known.chars().count()) {
        ("huge", _) => vec![with_numbers(known, HUGE), with_numbers(known, "99999")],
        ("negative", _) => ["-1", "0", ""].map(|number| with_numbers(known, number)).to_vec(),
        ("control", _) => {
            vec![format!("{known}\n{known}\r\n\t{known}"), format!("\n\n{known}"), format!("{known}\u{202e}\u{feff}")]
        }
        ("separators", _) => {
            vec![known.chars().filter(|c| !is_plain(c)).collect(), known.chars().filter(is_plain).collect()]
        }
        ("long", 1..) => vec![format!("{known}\n").repeat((4_096 / (known.len() + 1)).max(1))],
        ("multibyte", 1..) => {
            let second = known.chars().enumerate().map(|(n, c)| if n == 1 { '漢' } else { c });
            let letters = known.chars().map(|c| if is_plain(&c) { 'é' } else { c });
            vec![format!("é{known}"), format!("{known}é"), letters.collect(), second.collect()]
        }
        ("cut", count @ 2..) => vec![
            first(1),
            first(count / 2),
            first(count - 1),
            known.lines().skip(1).collect::<Vec<_>>().join("\n"),
            format!("{known} {known}"),
            known.chars().rev().collect(),
        ],
        _ => Vec::new(),
    }
}

/// Names that a directory may have.
fn names() -> Vec<Fake> {
    let strange = ["é".repeat(100), "漢".into(), "a b\tc".into(), "\u{1b}[2J".into()];
    let long = ["x".repeat(255), "-1".into(), HUGE.into(), ".".into(), "a:b".into()];
    let many = (0..1_000).map(|n| format!("entry{n}"));
    let all = [Vec::new(), strange.to_vec(), long.to_vec(), many.collect()];
    all.map(Fake::Names).to_vec()
}

fn text(text: String) -> Fake {
    Fake::Bytes(text.into_bytes())
}

/// The same with every number another one.
fn with_numbers(known: &str, number: &str) -> String {
    let mut changed = String::with_capacity(known.len());
    let mut in_number = false;
    for c in known.chars() {
        if !c.is_ascii_digit() {
            changed.push(c);
        } else if !in_number {
            changed.push_str(number);
        }
        in_number = c.is_ascii_digit();
    }
    changed
}

#[cfg(test)]
mod tests;
