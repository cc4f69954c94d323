//! The names in a query. `promtool` parses queries; this only finds what they name.

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::str::Chars;

/// What stands before labels in parentheses.
const GROUPINGS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
/// Words that are neither names nor before a parenthesis.
const WORDS: [&str; 21] = [
    "and",
    "or",
    "unless",
    "atan2",
    "bool",
    "offset",
    "inf",
    "nan",
    "sum",
    "min",
    "max",
    "avg",
    "group",
    "count",
    "stddev",
    "stdvar",
    "topk",
    "bottomk",
    "quantile",
    "count_values",
    "end",
];

/// What makes one series of many.
const AGGREGATIONS: [&str; 7] = ["sum", "min", "max", "avg", "group", "count", "quantile"];

/// The names in a query.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    /// Each metric that is asked for.
    pub(super) selectors: Vec<Selector>,
    /// The labels that are grouped by, or matched on.
    pub(super) groupings: BTreeSet<String>,
    /// Whether it makes one series of many anywhere.
    pub(super) aggregates: bool,
}

/// `name{label="value"}`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Selector {
    pub(super) name: String,
    pub(super) matchers: Vec<Matcher>,
}

/// `label="value"`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Matcher {
    pub(super) label: String,
    /// Whether the value is a regular expression.
    pub(super) is_pattern: bool,
    pub(super) value: String,
}

/// Finds the names in a query.
pub(super) fn scan(query: &str) -> Result<Scan> {
    let mut scan = Scan::default();
    let mut rest = query.chars().peekable();
    while let Some(&next) = rest.peek() {
        match next {
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            '"' | '\'' | '`' => drop(string(&mut rest)?),
            // Durations; the query within one of a subquery was read before.
            '[' => while rest.next().is_some_and(|c| c != ']') {},
            '{' => bail!("{query}: braces without a metric before them"),
            '0'..='9' => while rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '.').is_some() {},
            c if starts_name(c) => {
                let name = name(&mut rest);
                scan.aggregates |= AGGREGATIONS.contains(&name.as_str());
                if GROUPINGS.contains(&name.as_str()) {
                    scan.groupings.extend(list(&mut rest));
                    continue;
                }
                skip_space(&mut rest);
                match rest.peek() {
                    Some('(') => {}
                    Some('{') => {
                        let matchers = matchers(&mut rest).with_context(|| query.to_owned())?;
                        scan.selectors.push(Selector { name, matchers });
                    }
                    _ if WORDS.contains(&name.to_ascii_lowercase().as_str()) => {}
                    _ => scan.selectors.push(Selector {
                        name,
                        matchers: Vec::new(),
                    }),
                }
            }
            _ => drop(rest.next()),
        }
    }
    Ok(scan)
}

fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == ':'
}

fn name(rest: &mut Peekable<Chars<'_>>) -> String {
    std::iter::from_fn(|| rest.next_if(|c| starts_name(*c) || c.is_ascii_digit())).collect()
}

fn skip_space(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| c.is_whitespace()).is_some() {}
}

/// Names in parentheses, if there are any.
fn list(rest: &mut Peekable<Chars<'_>>) -> Vec<String> {
    skip_space(rest);
    let mut all = Vec::new();
    if rest.next_if_eq(&'(').is_none() {
        return all;
    }
    while rest.peek().is_some_and(|c| *c != ')') {
        match name(rest) {
            name if name.is_empty() => drop(rest.next()),
            name => all.push(name),
        }
    }
    rest.next();
    all
}

fn matchers(rest: &mut Peekable<Chars<'_>>) -> Result<Vec<Matcher>> {
    rest.next();
    let mut all = Vec::new();
    loop {
        while rest.next_if(|c| c.is_whitespace() || *c == ',').is_some() {}
        if rest.next_if_eq(&'}').is_some() {
            return Ok(all);
        }
        let label = name(rest);
        let operator: String = std::iter::from_fn(|| rest.next_if(|c| " =!~".contains(*c))).collect();
        if label.is_empty() || operator.trim().is_empty() {
            bail!("what is in braces is no label and value");
        }
        all.push(Matcher {
            label,
            is_pattern: operator.contains('~'),
            value: string(rest)?,
        });
    }
}

fn string(rest: &mut Peekable<Chars<'_>>) -> Result<String> {
    let quote = rest.next().filter(|c| "\"'`".contains(*c)).context("no string")?;
    let mut text = String::new();
    loop {
        match rest.next().context("a string does not end")? {
            c if c == quote => return Ok(text),
            '\\' if quote != '`' => text.extend(rest.next()),
            c => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(query: &str) -> Vec<String> {
        let selectors = scan(query).unwrap().selectors;
        selectors.into_iter().map(|selector| selector.name).collect()
    }

    #[test]
    fn metrics_are_told_from_functions_words_and_labels() {
        let query = "# a comment with words\nhistogram_quantile(0.99, sum by (node, le) (rate(took_bucket{call=\"x\"}[5m]))) * 1e3\n\
                     and on (node) group_left () (up == bool 1) unless ignoring(a) level:thing:sum offset 1d > +Inf or time()";
        assert_eq!(names(query), ["took_bucket", "up", "level:thing:sum"]);
        let scan = scan(query).unwrap();
        assert_eq!(scan.groupings.iter().collect::<Vec<_>>(), ["a", "le", "node"]);
        assert_eq!(names("topk(5, sum(a) by (b)) / count(c)"), ["a", "c"]);
        assert_eq!(names("sum by (a) (b)"), ["b"]);
        let aggregates = |query| super::scan(query).unwrap().aggregates;
        assert!(aggregates("sum by (a) (b)") && aggregates("time() - max(b)"));
        assert!(
            !aggregates("topk(5, b)")
                && !aggregates("histogram_quantile(0.5, b)")
                && !aggregates("max_over_time(b[1d])")
        );
    }

    #[test]
    fn matchers_have_labels_and_values() {
        let scan = scan(r#"a{b="c\"}", d=~'e|f', g!~`\d`,}"#).unwrap();
        let matcher = |label: &str, is_pattern, value: &str| Matcher {
            label: label.into(),
            is_pattern,
            value: value.into(),
        };
        let expected = [
            matcher("b", false, "c\"}"),
            matcher("d", true, "e|f"),
            matcher("g", true, "\\d"),
        ];
        assert_eq!(scan.selectors[0].matchers, expected);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for bad in ["{job=\"x\"}", "a{b}", "a{b=c}", "a{b=\"c", "a{=\"c\"}"] {
            assert!(scan(bad).is_err(), "{bad}");
        }
    }
}
