//! Addresses and ids that are known by their form, wherever they stand.

use super::Counts;
use super::made_up::MadeUp;
use anyhow::Context;
use regex::Regex;

/// Digits of the part of an address that says who made the device: kept, as it says nothing of which one it is.
const MAKER: usize = 6;

pub(super) struct Forms {
    /// By kind.
    all: Vec<(&'static str, Regex)>,
    ids: Regex,
}

const UUID: &str = "UUIDs";
const MAC: &str = "MAC addresses";
const GUID: &str = "GUIDs";
const WWID: &str = "WWIDs";
const WIRE: &str = "1-Wire ids";

impl Forms {
    pub(super) fn new() -> anyhow::Result<Self> {
        let compile = |text: &str| Regex::new(text).context("a built-in pattern");
        let forms = [
            (
                UUID,
                r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
            ),
            // As in the NVMe qualified name of some disks.
            (GUID, r"(?i)\b[0-9a-f]{12}-[0-9a-f]{4}-[0-9a-f]{16}\b"),
            (GUID, r"(?i)\b[0-9a-f]{4}(?::[0-9a-f]{4}){3,7}\b"),
            (MAC, r"(?i)\b[0-9a-f]{2}(?::[0-9a-f]{2}){5,19}\b"),
            (GUID, r"(?i)\b[0-9a-f]{2}(?:-[0-9a-f]{2}){7}\b"),
            (MAC, r"(?i)\b[0-9a-f]{2}(?:-[0-9a-f]{2}){5}\b"),
            (MAC, r"\benx([0-9a-f]{12})\b"),
            (WWID, r"(?i)\b(?:eui|naa)\.([0-9a-f]{16}|[0-9a-f]{32})\b"),
            // As the kernel writes the names of SAS and Fibre Channel: the first digit is the kind of name (NAA).
            (WWID, r"(?i)\b0x([1256][0-9a-f]{15})\b"),
            // Family and id, which are the directory and the name of a device on a 1-Wire bus.
            (WIRE, r"\b[0-9a-f]{2}-([0-9a-f]{12})\b"),
        ];
        let all = forms.into_iter().map(|(kind, text)| Ok((kind, compile(text)?)));
        Ok(Self {
            all: all.collect::<anyhow::Result<_>>()?,
            ids: compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")?,
        })
    }

    /// Whether a text is an address or id with hardly anything beside it, so that nothing is left of it when that is replaced.
    pub(super) fn cover(&self, text: &str) -> bool {
        /// Letters that may stand beside it, such as `uuid:` and `GPU-`.
        const LETTERS: usize = 7;
        let mut rest = text.to_owned();
        for (kind, pattern) in &self.all {
            rest = replace(pattern, &rest, |found| {
                other(kind, found, &mut MadeUp::default()).map(|_| " ".to_owned())
            });
        }
        let rest = rest.trim_start_matches("0x ");
        rest.len() < text.len()
            && !rest.chars().any(|c| c.is_ascii_digit())
            && rest.chars().filter(|c| c.is_alphanumeric()).count() <= LETTERS
    }

    /// The digits of all UUIDs in a text, also of those without dashes.
    pub(super) fn ids(&self, text: &str) -> Vec<String> {
        self.ids.find_iter(text).map(|found| digits(found.as_str())).collect()
    }

    /// The text with others in their place.
    pub(super) fn replaced(&self, text: &str, made_up: &mut MadeUp, counts: &mut Counts) -> String {
        // Most texts are a number, and short.
        if text.len() < 12 {
            return text.to_owned();
        }
        self.all.iter().fold(text.to_owned(), |text, (kind, pattern)| {
            replace(pattern, &text, |found| {
                let made = other(kind, found, made_up)?;
                counts.add(kind, found);
                Some(written_as(found, &made))
            })
        })
    }
}

/// Other digits in the place of those of an address or id.
fn other(kind: &str, found: &str, made_up: &mut MadeUp) -> Option<String> {
    let old = digits(found);
    let old = old.as_str();
    match old.len() {
        // Nothing in it says who made the device.
        _ if kind == WIRE => made_up.digits(old, 0),
        // A broadcast address or one of a group is nobody's.
        12 if u8::from_str_radix(old.get(..2)?, 16).is_ok_and(|first| first & 1 == 1) => None,
        // Nothing but who made it, or a mask.
        12 | 16 if old.bytes().skip(MAKER).all(|digit| digit == b'0') => None,
        12 | 16 => made_up.digits(old, MAKER),
        // An id, or an address of IPv6 with the id of a port in its second half.
        32 if found.contains('-') => made_up.digits(old, 0),
        32 => {
            let (prefix, id) = old.split_at_checked(16)?;
            // Of IPv4.
            if let Some(address) = id
                .strip_prefix("0000ffff")
                .filter(|_| prefix.bytes().all(|b| b == b'0'))
            {
                let made = made_up.digits(address, 0)?;
                return Some(format!("{prefix}0000ffff{made}"));
            }
            let made = made_up.digits(id, MAKER);
            let local = prefix.starts_with("fe80") || prefix.bytes().all(|b| b == b'0');
            let prefix = if local { None } else { made_up.digits(prefix, 4) }.unwrap_or_else(|| prefix.to_owned());
            Some(format!("{prefix}{}", made.unwrap_or_else(|| id.to_owned())))
        }
        // The address of an interface over InfiniBand ends with its port's id.
        40 => {
            let (head, id) = old.split_at_checked(24)?;
            Some(format!("{head}{}", made_up.digits(id, MAKER)?))
        }
        _ => None,
    }
}

/// A text with what a pattern finds replaced: its first group, or all of it. What becomes nothing stays.
pub(super) fn replace(pattern: &Regex, text: &str, mut with: impl FnMut(&str) -> Option<String>) -> String {
    let (mut new, mut end) = (String::with_capacity(text.len()), 0);
    for found in pattern.captures_iter(text) {
        let Some(part) = found.get(1).or_else(|| found.get(0)).filter(|part| !part.is_empty()) else {
            continue;
        };
        if let (Some(before), Some(other)) = (text.get(end..part.start()), with(part.as_str())) {
            new.push_str(before);
            new.push_str(&other);
            end = part.end();
        }
    }
    new.push_str(text.get(end..).unwrap_or_default());
    new
}

pub(super) fn digits(text: &str) -> String {
    text.chars()
        .filter(char::is_ascii_hexdigit)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// Digits with what stood between the others, in the same case.
pub(super) fn written_as(text: &str, digits: &str) -> String {
    let upper = text.chars().any(|c| c.is_ascii_uppercase());
    let mut digits = digits.chars();
    let one = |c: char| match c.is_ascii_hexdigit() {
        true => digits
            .next()
            .map_or(c, |digit| if upper { digit.to_ascii_uppercase() } else { digit }),
        false => c,
    };
    text.chars().map(one).collect()
}
