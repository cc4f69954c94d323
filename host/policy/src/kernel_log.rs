//! Lines of the kernel's log that a component may have parts of.

use crate::Origin;
use crate::error::Problem;
use crate::fields::Item;
use devgate_types::escape;
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::Look;

/// The most patterns of one plugin.
const MAX_PATTERNS: usize = 64;
/// The longest pattern, in bytes.
const MAX_BYTES: usize = 512;
/// The most memory of one compiled pattern, in bytes.
const MAX_MEMORY: usize = 1024 * 1024;

/// One pattern of `kernel-log:`: anchored at the start of a line, with at least one capture. Only captures are told.
#[derive(Debug, Clone)]
pub struct KernelPattern {
    regex: Regex,
    /// Where it is written.
    pub origin: Origin,
}

impl KernelPattern {
    /// The pattern as the policy writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// What the pattern captures from a line, in order, with nothing for a group that took no part; nothing if the line does
    /// not match.
    #[must_use]
    pub fn captures<'l>(&self, line: &'l str) -> Option<Vec<&'l str>> {
        let found = self.regex.captures(line)?;
        let text = |group: Option<regex::Match<'l>>| group.map_or("", |group| group.as_str());
        Some(found.iter().skip(1).map(text).collect())
    }

    /// The part of a line that the pattern matches, if it does: what captures are taken from.
    #[must_use]
    pub fn matched<'l>(&self, line: &'l str) -> Option<&'l str> {
        Some(self.regex.find(line)?.as_str())
    }

    fn parse(text: &str, origin: Origin) -> Result<Self, Problem> {
        let has = |why: &str| Problem::has(text, why);
        if text.len() > MAX_BYTES {
            return Err(Problem(format!("must have at most {MAX_BYTES} bytes")));
        }
        let regex = RegexBuilder::new(text).size_limit(MAX_MEMORY).build().map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => has("which is too large when it is compiled"),
            other => {
                // The last line says what is wrong, those before show where.
                let text = other.to_string();
                let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                has(&format!("which is not a regular expression: {}", escape(last, 120)))
            }
        })?;
        if !starts_at_line(text) {
            return Err(has("which must start with \"^\", and have no \"|\" outside brackets"));
        }
        if regex.captures_len() < 2 {
            return Err(has("which captures nothing: put what the component needs in \"( )\""));
        }
        Ok(Self { regex, origin })
    }

    pub(crate) fn read_list(item: &Item<'_>) -> Vec<Self> {
        let texts = item.texts_once(MAX_PATTERNS).into_iter();
        let parsed = texts.map(|(item, text)| Self::parse(text, item.origin()).map_err(|problem| item.error(problem)));
        parsed.flatten().collect()
    }
}

/// Whether a pattern starts with a `^`, and can match from the start of a line only: no alternative goes around it.
fn starts_at_line(text: &str) -> bool {
    let prefix = regex_syntax::parse(text).map(|hir| hir.properties().look_set_prefix());
    text.starts_with('^') && prefix.is_ok_and(|looks| looks.contains(Look::Start))
}

impl PartialEq for KernelPattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() && self.origin == other.origin
    }
}

impl Eq for KernelPattern {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<KernelPattern, Problem> {
        let origin = Origin { file: "x".into(), line: 1 };
        KernelPattern::parse(text, origin)
    }

    #[test]
    fn captures_alone_are_told() {
        let fault = parse(r"^ACME: Fault \(PCI:([0-9a-f:]+)\): ([0-9]+),").unwrap();
        let line = "ACME: Fault (PCI:0000:05:00): 79, pid='<unknown>', name=evil";
        assert_eq!(fault.captures(line), Some(vec!["0000:05:00", "79"]));
        assert_eq!(fault.captures(&format!("evil: {line}")), None);
        assert_eq!(parse("^a(b)?(c)").unwrap().captures("ac"), Some(vec!["", "c"]));
    }

    #[test]
    fn what_is_not_anchored_captures_nothing_or_does_not_compile_is_refused() {
        for bad in [
            "ACME: (x)",
            "^(a)|b(c)",
            "^*(a)",
            "^?(a)",
            "^a",
            "^(?:a)",
            "^(a",
            "^(a{1000}){1000}",
            "^[a",
            "(^a)",
            "(?m)^(a)",
            "^(?x)(a) # (\n | b",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        for good in ["^(a|b)", "^[|](a)", r"^\|(a)", "^((?:a|b)|c)", "^[]|](a)"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        let long = |n: usize| format!("^(){}", "x".repeat(n - 3));
        assert!(parse(&long(MAX_BYTES)).is_ok() && parse(&long(MAX_BYTES + 1)).is_err());
    }
}
