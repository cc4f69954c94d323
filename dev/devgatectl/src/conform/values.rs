//! What attributes, files, links and directories are made to say: what a kernel, firmware or driver may say one day, made of
//! what they say in the recording where that is known.

use super::thing::Given;
use devgate_types::FailureKind;

/// More than 64 bits hold.
const HUGE: &str = "340282366920938463463374607431768211456";

/// Makes what is given instead of a text; several where there is more than one way.
pub(super) type Make = fn(Option<&str>) -> Vec<Given>;

pub(super) fn missing(_: Option<&str>) -> Vec<Given> {
    vec![Given::failure(FailureKind::NotFound, "", "not there")]
}

pub(super) fn unreadable(_: Option<&str>) -> Vec<Given> {
    vec![
        Given::failure(FailureKind::Io, "EIO", "Input/output error"),
        Given::failure(FailureKind::Io, "ETIMEDOUT", "Connection timed out"),
        Given::failure(FailureKind::Io, "EAGAIN", "Resource temporarily unavailable"),
    ]
}

pub(super) fn denied(_: Option<&str>) -> Vec<Given> {
    vec![Given::failure(FailureKind::Denied, "", "only root may read it")]
}

pub(super) fn gone(_: Option<&str>) -> Vec<Given> {
    vec![Given::failure(FailureKind::Gone, "", "the device is gone")]
}

pub(super) fn empty(_: Option<&str>) -> Vec<Given> {
    [&b""[..], b"\n", b"   \t\n"]
        .map(|bytes| Given::Bytes(bytes.to_vec()))
        .to_vec()
}

/// Not text: the host says so where text is asked for, and gives it where bytes are.
pub(super) fn binary(_: Option<&str>) -> Vec<Given> {
    let zeros = vec![0; 64];
    let all = (0..=u8::MAX).collect();
    let not_utf8 = vec![b'o', b'k', 0xff, 0xfe, 0xc3];
    let ones = vec![0xff; 64];
    [zeros, all, not_utf8, ones].map(Given::Bytes).to_vec()
}

pub(super) fn long(known: Option<&str>) -> Vec<Given> {
    let mut values = vec![
        text("x".repeat(4_096)),
        text("9".repeat(4_096)),
        text("a\n".repeat(2_048)),
        text("1 ".repeat(2_048)),
        Given::failure(FailureKind::Limit, "", "is larger than 4096 bytes"),
    ];
    if let Some(known) = known.filter(|known| !known.is_empty()) {
        let most = 4_096 / (known.len() + 1);
        values.push(text(format!("{known}\n").repeat(most.max(1))));
    }
    values
}

pub(super) fn huge(known: Option<&str>) -> Vec<Given> {
    let numbers = [
        HUGE,
        "0x100000000000000000000000000000000",
        "4294967296",
        "9223372036854775808",
    ];
    let mut values: Vec<_> = numbers.map(|number| text(number.to_owned())).to_vec();
    values.extend(known.map(|known| text(with_numbers(known, HUGE))));
    values.extend(known.map(|known| text(with_numbers(known, "99999"))));
    values
}

pub(super) fn negative(known: Option<&str>) -> Vec<Given> {
    let numbers = ["-1", "0", "0x", "NaN", "1.5"];
    let mut values: Vec<_> = numbers.map(|number| text(number.to_owned())).to_vec();
    values.extend(known.map(|known| text(with_numbers(known, "-1"))));
    values.extend(known.map(|known| text(with_numbers(known, "0"))));
    values.extend(known.map(|known| text(with_numbers(known, ""))));
    values
}

pub(super) fn control(known: Option<&str>) -> Vec<Given> {
    let known = known.unwrap_or("on");
    vec![
        text("\u{1b}[31mred\u{7}\u{8}\r\n\u{1b}]0;title\u{7}".to_owned()),
        text(format!("{known}\n{known}\r\n\t{known}")),
        text(format!("\n\n{known}")),
        text(format!("{known}\u{202e}\u{feff}")),
    ]
}

/// Letters of more than one byte, so that whoever cuts by bytes cuts one in two.
pub(super) fn multibyte(known: Option<&str>) -> Vec<Given> {
    let mut values = vec![
        text("é".repeat(40)),
        text("漢字:漢字=漢字 漢字/漢字".to_owned()),
        text("🦀".to_owned()),
    ];
    if let Some(known) = known.filter(|known| !known.is_empty()) {
        values.push(text(format!("é{known}")));
        values.push(text(format!("{known}é")));
        values.push(text(
            known
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { 'é' } else { c })
                .collect(),
        ));
        let mut cut: Vec<char> = known.chars().collect();
        if let Some(second) = cut.get_mut(1) {
            *second = '漢';
            values.push(text(cut.into_iter().collect()));
        }
    }
    values
}

/// As a reader sees it that is too fast, or after a driver's format has changed.
pub(super) fn cut(known: Option<&str>) -> Vec<Given> {
    let mut values = vec![text("?".to_owned()), text("N/A".to_owned())];
    if let Some(known) = known.filter(|known| known.chars().count() > 1) {
        let count = known.chars().count();
        let lengths = [1, count / 2, count - 1];
        values.extend(lengths.map(|length| text(known.chars().take(length).collect())));
        values.push(text(known.lines().skip(1).collect::<Vec<_>>().join("\n")));
        values.push(text(format!("{known} {known}")));
        values.push(text(known.chars().rev().collect()));
    }
    values
}

pub(super) fn separators(known: Option<&str>) -> Vec<Given> {
    let all = [":", "=", ",,,,", "0-", "-0", "//", "..", "{\"["];
    let mut values: Vec<_> = all.map(|separators| text(separators.to_owned())).to_vec();
    if let Some(known) = known {
        values.push(text(known.chars().filter(|c| !c.is_ascii_alphanumeric()).collect()));
        values.push(text(known.chars().filter(char::is_ascii_alphanumeric).collect()));
    }
    values
}

/// Names that a directory may have.
pub(super) fn names(_: Option<&str>) -> Vec<Given> {
    let names = |names: Vec<String>| Given::Names(names);
    vec![
        names(Vec::new()),
        names(vec![
            "é".repeat(100),
            "漢".to_owned(),
            "a b\tc".to_owned(),
            "\u{1b}[2J".to_owned(),
        ]),
        names(vec![
            "x".repeat(255),
            "-1".to_owned(),
            HUGE.to_owned(),
            ".".to_owned(),
            "a:b".to_owned(),
        ]),
        names((0..1_000).map(|n| format!("entry{n}")).collect()),
    ]
}

fn text(text: String) -> Given {
    Given::Bytes(text.into_bytes())
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
mod tests {
    use super::*;

    #[test]
    fn numbers_are_replaced_where_they_stand() {
        assert_eq!(with_numbers("bad: 0\nok: 12", "-1"), "bad: -1\nok: -1");
        assert_eq!(with_numbers("8.0 GT/s", ""), ". GT/s");
        assert_eq!(with_numbers("no", "1"), "no");
    }

    #[test]
    fn each_way_makes_something_else_than_what_is_known() {
        for make in [
            missing, unreadable, denied, gone, empty, binary, long, huge, negative, control, multibyte, cut, separators,
        ] {
            for known in [None, Some(""), Some("x"), Some("é"), Some("8.0 GT/s PCIe")] {
                let made = make(known);
                assert!(
                    made.iter()
                        .any(|given| *given != text(known.unwrap_or_default().to_owned()))
                );
            }
        }
    }
}
