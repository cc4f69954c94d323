//! A pattern for files, part by part, so that it also says which directories may be listed.

use crate::error::Problem;
use crate::path;
use crate::pattern::Pattern;

/// Stands for what a wildcard matches; in no list of names.
const ANYTHING: char = '\u{e000}';

/// An absolute path whose parts may be patterns; `**` alone is any number of parts, at least one at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePattern {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    One(Pattern),
    Many,
}

impl FilePattern {
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let has = |why| Problem::has(text, why);
        if let Some(problem) = path::problem(text) {
            return Err(Problem::which(text, problem));
        }
        // Read as a whole first, which says what is wrong with it as other patterns do.
        Pattern::path(text)?;
        let mut parts = Vec::new();
        for part in text.split('/').skip(1) {
            parts.push(match part {
                "**" => Part::Many,
                other if other.contains("**") => {
                    return Err(has("in which \"**\" must stand alone between \"/\""));
                }
                other => Part::One(Pattern::path(other)?),
            });
        }
        if parts.iter().filter(|part| **part == Part::Many).count() > 1 {
            return Err(has("which may have only one \"**\""));
        }
        if !matches!(parts.first(), Some(Part::One(first)) if first.is_literal()) {
            return Err(has("which must begin with a directory that is written out, such as /proc"));
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a file is listed.
    pub(crate) fn matches(&self, path: &[&str]) -> bool {
        matches(&self.parts, path)
    }

    /// Whether the entries of a directory may be told, or that one.
    pub(crate) fn lists(&self, dir: &[&str], entry: Option<&str>) -> bool {
        // There is at most one `**`, so this looks at each part a few times.
        (0..self.parts.len()).any(|at| {
            let (before, after) = self.parts.split_at(at);
            match after.first() {
                Some(Part::One(next)) => {
                    !next.is_literal() && matches(before, dir) && entry.is_none_or(|name| next.matches(name))
                }
                Some(Part::Many) => {
                    dir.len() >= at && (matches(before, dir) || matches(self.parts.get(..=at).unwrap_or_default(), dir))
                }
                None => false,
            }
        })
    }

    /// A path that matches nothing but what the pattern writes out: if that is never read, nothing that it matches is.
    pub(crate) fn sample(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            out.push('/');
            match part {
                Part::Many => out.push(ANYTHING),
                Part::One(pattern) if pattern.is_literal() => out.push_str(pattern.as_str()),
                Part::One(pattern) => sample(pattern.as_str(), &mut out),
            }
        }
        out
    }
}

fn matches(pattern: &[Part], path: &[&str]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((Part::One(first), rest)) => {
            path.split_first().is_some_and(|(part, others)| first.matches(part) && matches(rest, others))
        }
        // At the end it stands for at least one part, elsewhere also for none.
        Some((Part::Many, [])) => !path.is_empty(),
        Some((Part::Many, rest)) => (0..=path.len()).any(|n| path.get(n..).is_some_and(|others| matches(rest, others))),
    }
}

/// What a part says whatever its wildcards match; a class of digits stands for a digit.
fn sample(part: &str, out: &mut String) {
    let mut rest = part.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => out.extend(rest.next()),
            '*' | '?' => out.push(ANYTHING),
            '[' => {
                let behind = rest.as_str();
                // A "]" that stands first is one of the class.
                let end = behind.get(1..).and_then(|inner| inner.find(']'));
                let class = end.and_then(|at| behind.get(..=at)).unwrap_or(behind);
                let is_digits = class.bytes().all(|b| b.is_ascii_digit() || b == b'-');
                let has_digit = class.bytes().any(|b| b.is_ascii_digit());
                out.push(if is_digits && has_digit { '0' } else { ANYTHING });
                rest = behind.get(class.len() + 1..).unwrap_or_default().chars();
            }
            '{' => {
                out.push(ANYTHING);
                let mut depth = 1_u32;
                while depth > 0 {
                    match rest.next() {
                        Some('{') => depth += 1,
                        Some('}') => depth -= 1,
                        Some(_) => {}
                        None => return,
                    }
                }
            }
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_match_one_by_one() {
        let matches = |pattern: &str, path: &str| {
            let parts: Vec<&str> = path.split('/').skip(1).collect();
            FilePattern::parse(pattern).unwrap().matches(&parts)
        };
        assert!(matches("/proc/driver/acme/version", "/proc/driver/acme/version"));
        assert!(matches("/proc/driver/acme/gpus/*/information", "/proc/driver/acme/gpus/0000:3b:00.0/information"));
        assert!(!matches("/proc/driver/*", "/proc/driver/acme/version"));
        assert!(matches("/proc/driver/**", "/proc/driver/acme/version"));
        assert!(!matches("/proc/driver/**", "/proc/driver"));
        assert!(matches("/opt/**/version", "/opt/version") && matches("/opt/**/version", "/opt/a/b/version"));
        assert!(!matches("/opt/**/version", "/opt/a/versions"));
    }

    #[test]
    fn a_sample_says_what_is_written_out() {
        let sample = |text: &str| FilePattern::parse(text).unwrap().sample().replace(ANYTHING, "_");
        assert_eq!(sample("/sys/a*/resource[0-9]*"), "/sys/a_/resource0_");
        assert_eq!(sample("/sys/[!a]b/{x,{y,z}}c/**"), "/sys/_b/_c/_");
        assert_eq!(sample("/sys/a\\*b/[]a]c?"), "/sys/a*b/_c_");
    }

    #[test]
    fn what_lists_too_much_is_refused() {
        for bad in ["/*/x", "/**", "/", "x", "/a/../b", "/a/**/b/**", "/a/b**", "/a/[", "/{a/b,c}", "/a//b"] {
            assert!(FilePattern::parse(bad).is_err(), "{bad}");
        }
    }
}
