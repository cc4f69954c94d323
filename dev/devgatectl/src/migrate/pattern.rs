//! Regular expressions of other plugins as the patterns of a policy, where these can say the same.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

/// The most patterns that one expression becomes.
const MAX_PATTERNS: usize = 32;
/// The longest pattern.
const MAX_LENGTH: usize = 200;
/// The most characters of one place.
const MAX_CLASS: usize = 8;

/// Why an expression is no pattern.
const TOO_MUCH: &str = "this expression is no pattern of a policy; write the names that it means";
const NO_BEGINNING: &str = "matches in the midst of a name; write `^` and what names begin with";

/// The patterns that match what an expression matches from a text's beginning on: it has a `^`, and where it has no `$`, anything
/// may follow. Of digits at a name's end only the first is held.
///
/// # Errors
/// Where the expression is none, begins anywhere, or means what patterns cannot say.
pub(super) fn from_beginning(expression: &str) -> Result<Vec<String>, &'static str> {
    let parts = flat(&parsed(expression)?);
    let Some(rest) = parts.strip_prefix(&[Hir::look(Look::Start)]) else { return Err(NO_BEGINNING) };
    let (rest, end) = match rest.strip_suffix(&[Hir::look(Look::End)]) {
        Some(rest) => (rest, ""),
        None => (rest, "*"),
    };
    Ok(product(rest)?.into_iter().map(|pattern| format!("{pattern}{end}").replace("**", "*")).collect())
}

/// The pattern that matches what an expression matches from one end of a text to the other.
///
/// # Errors
/// Where the expression is none, or means what one pattern cannot say.
pub(super) fn whole(expression: &str) -> Result<String, &'static str> {
    let parts = flat(&parsed(expression)?);
    let parts: Vec<_> = parts.into_iter().filter(|part| !matches!(part.kind(), HirKind::Look(_))).collect();
    <[String; 1]>::try_from(product(&parts)?).map(|[one]| one).map_err(|_| TOO_MUCH)
}

fn parsed(expression: &str) -> Result<Hir, &'static str> {
    regex_syntax::parse(expression).map_err(|_| "is no regular expression")
}

fn flat(hir: &Hir) -> Vec<Hir> {
    match hir.kind() {
        HirKind::Concat(parts) => parts.clone(),
        _ => vec![hir.clone()],
    }
}

/// Each way in which parts follow each other.
fn product(parts: &[Hir]) -> Result<Vec<String>, &'static str> {
    let mut texts = vec![String::new()];
    for part in parts {
        let next = expanded(part)?;
        let both = |text: &String| next.iter().map(|next| format!("{text}{next}")).collect::<Vec<_>>();
        texts = texts.iter().flat_map(both).collect();
        if texts.len() > MAX_PATTERNS || texts.iter().any(|text| text.len() > MAX_LENGTH) {
            return Err(TOO_MUCH);
        }
    }
    Ok(texts)
}

fn expanded(hir: &Hir) -> Result<Vec<String>, &'static str> {
    match hir.kind() {
        HirKind::Empty => Ok(vec![String::new()]),
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) if !text.contains(['*', '?', '[', ']', '{', '}', '\\']) => Ok(vec![text.to_owned()]),
            _ => Err(TOO_MUCH),
        },
        HirKind::Class(Class::Unicode(class)) => Ok(vec![one_of(class)?]),
        HirKind::Repetition(repetition) => repeated(repetition),
        HirKind::Capture(group) => expanded(&group.sub),
        HirKind::Concat(parts) => product(parts),
        HirKind::Alternation(parts) => {
            let all: Result<Vec<_>, _> = parts.iter().map(expanded).collect();
            Ok(all?.concat())
        }
        HirKind::Class(Class::Bytes(_)) | HirKind::Look(_) => Err(TOO_MUCH),
    }
}

fn repeated(repetition: &Repetition) -> Result<Vec<String>, &'static str> {
    let of = expanded(&repetition.sub)?;
    let is_class = matches!(repetition.sub.kind(), HirKind::Class(_));
    match (repetition.min, repetition.max, of.as_slice()) {
        (0, Some(1), _) => Ok([vec![String::new()], of].concat()),
        (0, None, [any]) if any == "?" => Ok(vec!["*".to_owned()]),
        (0 | 1, None, [one]) if is_class => Ok(vec![format!("{one}*")]),
        (n, Some(most), [one]) if n == most => Ok(vec![one.repeat(n.try_into().map_err(|_| TOO_MUCH)?)]),
        _ => Err(TOO_MUCH),
    }
}

/// A place that one of some characters takes.
fn one_of(class: &ClassUnicode) -> Result<String, &'static str> {
    // As `.`: anything, but for the end of a line.
    let all_but_few = class.ranges().iter().any(|range| range.end() == char::MAX);
    if all_but_few && class.ranges().iter().all(|range| range.start() == '\0' || range.start() == '\u{b}') {
        return Ok("?".to_owned());
    }
    // The kernel's names are of ASCII alone.
    let mut class = class.clone();
    class.intersect(&ClassUnicode::new([ClassUnicodeRange::new('\0', '\u{7f}')]));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
    if class.ranges().len() > MAX_CLASS {
        return Err(TOO_MUCH);
    }
    let ranges = class.ranges().iter().map(|range| match (range.start(), range.end()) {
        (start, end) if !is_plain(start) || !is_plain(end) => Err(TOO_MUCH),
        (start, end) if start == end => Ok(start.to_string()),
        (start, end) => Ok(format!("{start}-{end}")),
    });
    Ok(format!("[{}]", ranges.collect::<Result<String, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_becomes_patterns_that_mean_the_same() {
        let shown = |expression| from_beginning(expression).map(|patterns| patterns.join(" "));
        for (expression, patterns) in [
            ("^fuse$", "fuse"),
            ("^video[0-9]*$", "video[0-9]*"),
            (r"^ttyUSB\d+$", "ttyUSB[0-9]*"),
            ("^ttyUSB.*$", "ttyUSB*"),
            ("^hidraw.+$", "hidraw?*"),
            ("^tty(USB|ACM)[0-3]$", "ttyUSB[0-3] ttyACM[0-3]"),
            ("^(kvm|net/tun)$", "kvm net/tun"),
            ("^i2c-[17]$", "i2c-[17]"),
            ("^bus/usb/", "bus/usb/*"),
            ("^renderD12[89]$", "renderD12[8-9]"),
            (r"^card\.?0$", "card0 card.0"),
            ("^a{3}$", "aaa"),
            (r"^\w+$", "[0-9A-Z_a-z]*"),
        ] {
            assert_eq!(shown(expression).as_deref(), Ok(patterns), "{expression}");
        }
    }

    #[test]
    fn what_patterns_cannot_say_is_refused() {
        for (expression, why) in [
            ("fuse", NO_BEGINNING),
            ("^*tun$", NO_BEGINNING),
            ("^a$|b", NO_BEGINNING),
            ("^kvm$|^net/tun$", TOO_MUCH),
            ("^(ab)+$", TOO_MUCH),
            ("^[^a]$", TOO_MUCH),
            ("^a{2,4}$", TOO_MUCH),
            (r"^a\*$", TOO_MUCH),
            ("^(a|b|cc)(a|b|cc)(a|b|cc)(a|b|cc)$", TOO_MUCH),
            ("^a{999}$", TOO_MUCH),
            ("^($", "is no regular expression"),
        ] {
            assert_eq!(from_beginning(expression), Err(why), "{expression}");
        }
    }

    #[test]
    fn a_whole_text_is_one_pattern() {
        assert_eq!(whole("video[0-9]*").as_deref(), Ok("video[0-9]*"));
        assert_eq!(whole("^mlx5_core$").as_deref(), Ok("mlx5_core"));
        assert_eq!(whole("EnOcean USB 300 DC").as_deref(), Ok("EnOcean USB 300 DC"));
        assert_eq!(whole("a|bb"), Err(TOO_MUCH));
    }
}
