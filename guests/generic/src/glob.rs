//! Patterns for kernel names and attribute values: `*` any text, `?` one character, `[a-c]` one of these, `[!a-c]` one of
//! the others. A `[` without its `]` stands for itself.

/// Whether the whole text fits the pattern.
///
/// Takes at most the product of both lengths in steps, however many `*` there are: only the last one seen is ever tried
/// again, which finds a match whenever there is one.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let (mut rest, mut left) = (pattern, text);
    let mut retry: Option<(&str, &str)> = None;
    loop {
        if let Some(after) = rest.strip_prefix('*') {
            rest = after;
            retry = Some((after, left));
        } else if let Some((next_rest, next_left)) = step(rest, left) {
            rest = next_rest;
            left = next_left;
        } else if rest.is_empty() && left.is_empty() {
            return true;
        } else if let Some((after, from)) = retry {
            let mut shorter = from.chars();
            if shorter.next().is_none() {
                return false;
            }
            rest = after;
            left = shorter.as_str();
            retry = Some((after, left));
        } else {
            return false;
        }
    }
}

/// Takes one character off both, if it fits.
fn step<'a>(pattern: &'a str, text: &'a str) -> Option<(&'a str, &'a str)> {
    let mut chars = text.chars();
    let c = chars.next()?;
    let mut items = pattern.chars();
    match items.next()? {
        '?' => {}
        '[' => {
            if let Some((set, after)) = set(items.as_str()) {
                return holds(set, c).then_some((after, chars.as_str()));
            }
            if c != '[' {
                return None;
            }
        }
        literal if literal != c => return None,
        _ => {}
    }
    Some((items.as_str(), chars.as_str()))
}

/// What is between the brackets, and what comes after. A `]` right at the start belongs to the set.
fn set(pattern: &str) -> Option<(&str, &str)> {
    let start = usize::from(pattern.starts_with('!'));
    let close = pattern.char_indices().skip(start + 1).find(|(_, c)| *c == ']')?.0;
    Some((pattern.get(..close)?, pattern.get(close + 1..)?))
}

fn holds(set: &str, c: char) -> bool {
    let (negated, mut items) = match set.strip_prefix('!') {
        Some(rest) => (true, rest.chars()),
        None => (false, set.chars()),
    };
    let mut found = false;
    while let Some(low) = items.next() {
        let mut ahead = items.clone();
        if ahead.next() == Some('-')
            && let Some(high) = ahead.next()
        {
            found |= (low..=high).contains(&c);
            items = ahead;
        } else {
            found |= low == c;
        }
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn what_fits() {
        for (pattern, text) in [
            ("fuse", "fuse"),
            ("ttyUSB*", "ttyUSB0"),
            ("ttyUSB*", "ttyUSB"),
            ("*", ""),
            ("", ""),
            ("USB Capture*", "USB Capture HDMI: ü"),
            ("pcmC0D?c", "pcmC0D0c"),
            ("video[0-3]", "video2"),
            ("video[!0-3]", "video4"),
            ("a[]]", "a]"),
            ("a[-x]", "a-"),
            ("a[b", "a[b"),
            ("*a*b*c", "xaxbxbxc"),
            ("tenstorrent!?", "tenstorrent!0"),
            ("[ä-ö]", "ö"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn what_does_not_fit() {
        for (pattern, text) in [
            ("fuse", "fuse0"),
            ("fuse", "xfuse"),
            ("", "x"),
            ("?", ""),
            ("ttyUSB*", "ttyS0"),
            ("video[0-3]", "video4"),
            ("video[!0-3]", "video0"),
            ("*a*b*c", "abcx"),
            ("a[b", "ab"),
            ("Fuse", "fuse"),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        assert!(!fits(&("a*".repeat(100) + "b"), &"a".repeat(4_000)));
    }
}
