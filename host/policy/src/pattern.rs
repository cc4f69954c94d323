//! Patterns for names, paths and values.

use crate::error::Problem;
use devgate_types::escape;
use globset::{GlobBuilder, GlobMatcher};
use std::fmt;

/// A glob: `*`, `?`, `[abc]`, `{a,b}` and `\` before one that is meant literally; `**` crosses `/`, nothing else does.
#[derive(Clone, Default)]
pub(crate) struct Pattern {
    text: String,
    /// Nothing where the text stands for itself.
    matcher: Option<GlobMatcher>,
    /// How many `/` a match has; nothing where `**` or the kind of pattern leaves that open.
    slashes: Option<usize>,
}

impl Pattern {
    /// The longest pattern, in bytes.
    pub(crate) const MAX_BYTES: usize = 256;

    /// A pattern for a name or a path, where only `**` matches a `/`.
    pub(crate) fn path(text: &str) -> Result<Self, Problem> {
        Self::checked(text, true)
    }

    /// A pattern for a value, where `*` matches everything.
    pub(crate) fn value(text: &str) -> Result<Self, Problem> {
        Self::checked(text, false)
    }

    /// As [`Self::path`], of what is known to be no longer than it may be.
    pub(crate) fn of_any_length(text: &str) -> Result<Self, Problem> {
        Self::new(text, true)
    }

    fn checked(text: &str, separate: bool) -> Result<Self, Problem> {
        if text.len() > Self::MAX_BYTES {
            return Err(Problem(format!("must have at most {} bytes", Self::MAX_BYTES)));
        }
        Self::new(text, separate)
    }

    fn new(text: &str, separate: bool) -> Result<Self, Problem> {
        if !text.contains(['*', '?', '[', ']', '{', '}', '\\']) {
            return Ok(Self { text: text.to_owned(), matcher: None, slashes: None });
        }
        let refuse = |why: &str| Problem(format!("is not a pattern: \"{}\": {why}", escape(text, 80)));
        if separate && slash_inside(text) {
            return Err(refuse("a \"/\" stands inside brackets"));
        }
        let glob = GlobBuilder::new(text).literal_separator(separate).backslash_escape(true).build();
        let glob = glob.map_err(|error| refuse(&escape(&error.kind().to_string(), 80)))?;
        let bounded = separate && !text.contains("**");
        Ok(Self {
            matcher: Some(glob.compile_matcher()),
            // globset lets a class ([!a], [+-9]) match a "/".
            slashes: bounded.then(|| text.bytes().filter(|b| *b == b'/').count()),
            text: text.to_owned(),
        })
    }

    /// Whether `text` matches as a whole.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let Some(matcher) = &self.matcher else {
            return self.text == text;
        };
        self.slashes.is_none_or(|n| text.bytes().filter(|b| *b == b'/').count() == n) && matcher.is_match(text)
    }

    /// Whether it matches one text only, itself.
    pub(crate) fn is_literal(&self) -> bool {
        self.matcher.is_none()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether two patterns might match the same text: certain where one is a literal, otherwise told by what both
    /// write out before their first and after their last wildcard, so that it may be said where it is not so.
    pub(crate) fn may_overlap(&self, other: &Self) -> bool {
        if self.is_literal() {
            return other.matches(&self.text);
        }
        if other.is_literal() {
            return self.matches(&other.text);
        }
        let ((a, x), (b, y)) = (self.ends(), other.ends());
        (a.starts_with(b) || b.starts_with(a)) && (x.ends_with(y) || y.ends_with(x))
    }

    /// The text before the first wildcard and that after the last.
    fn ends(&self) -> (&str, &str) {
        let wild = ['*', '?', '[', ']', '{', '}', '\\'];
        let before = self.text.find(wild).unwrap_or(self.text.len());
        let after = self.text.rfind(wild).map_or(0, |at| at + 1);
        // What a backslash makes literal is left out: it tells too little to be read for.
        let after = if self.text.contains('\\') { self.text.len() } else { after };
        (self.text.get(..before).unwrap_or_default(), self.text.get(after..).unwrap_or_default())
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

/// Whether a `/` stands between brackets or braces, where it could make a pattern match more levels than it shows.
fn slash_inside(text: &str) -> bool {
    let mut depth = 0_u32;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next() == Some('/') => return true,
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            '/' if depth > 0 => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_a_double_star_crosses_a_slash() {
        let path = |text| Pattern::path(text).unwrap();
        assert!(path("/dev/acme[0-9]*").matches("/dev/acme10"));
        assert!(!path("/dev/acme[0-9]*").matches("/dev/acmectl"));
        for crossing in ["/dev/*", "/dev/x*", "/dev/x?y", "/dev/x[!a]y", "/dev/x[+-9]y", "/dev/{x,y}*"] {
            assert!(!path(crossing).matches("/dev/x/y"), "{crossing}");
        }
        assert!(path("/dev/x[!a]y").matches("/dev/xby"));
        assert!(path("/dev/**").matches("/dev/x/y"));
        assert!(path("/dev/dri/*").matches("/dev/dri/card0"));
        assert!(Pattern::value("*").unwrap().matches("40 Gb/sec (4X NDR)"));
    }

    #[test]
    fn literals_are_compared_and_mistakes_reported() {
        let name = Pattern::path("acmecard!0").unwrap();
        assert!(name.is_literal() && name.matches("acmecard!0") && !name.matches("acmecard!01"));
        assert!(Pattern::path("a\\*").unwrap().matches("a*"));
        for bad in ["[", "{a", "a]b[", "[z-a]", "/dev/{a/b,c}", "[/]", "a\\/b", "a}{"] {
            assert!(Pattern::path(bad).is_err(), "{bad}");
        }
        assert!(Pattern::path(&"*a".repeat(128)).is_ok() && Pattern::path(&"*a".repeat(129)).is_err());
    }

    #[test]
    fn patterns_that_cannot_meet_are_told_by_their_ends() {
        let path = |text| Pattern::path(text).unwrap();
        for (a, b, overlap) in [
            ("af-*", "af-1", true),
            ("af-1", "af-*", true),
            ("af-*", "region-*", false),
            ("af-*", "af-1*", true),
            ("*-x", "*-y", false),
            ("*-x", "af-*", true),
            ("a[0-4]", "a[5-9]", true),
            ("a\\*", "ab*", true),
            ("x", "y", false),
        ] {
            assert_eq!(path(a).may_overlap(&path(b)), overlap, "{a} {b}");
            assert_eq!(path(b).may_overlap(&path(a)), overlap, "{b} {a}");
        }
    }

    proptest! {
        #[test]
        fn what_two_patterns_match_is_an_overlap(a in "[ab*?\\[\\]!{},\\\\-]{0,6}", b in "[ab*?\\[\\]!{},\\\\-]{0,6}", text in "[ab-]{0,5}") {
            if let (Ok(a), Ok(b)) = (Pattern::path(&a), Pattern::path(&b))
                && a.matches(&text) && b.matches(&text)
            {
                prop_assert!(a.may_overlap(&b));
            }
        }

        #[test]
        fn no_pattern_without_a_double_star_crosses_a_slash(pattern in "[a-c*?/\\[\\]!{},\\\\-]{0,12}", text in "[a-c/]{0,8}") {
            prop_assume!(!pattern.contains("**"));
            if let Ok(compiled) = Pattern::path(&pattern)
                && compiled.matches(&text)
            {
                let slashes = |s: &str| s.matches('/').count();
                prop_assert_eq!(slashes(&pattern), slashes(&text));
            }
        }
    }
}
