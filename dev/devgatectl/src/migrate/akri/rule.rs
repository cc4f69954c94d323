//! A udev rule, as far as Akri's handler takes it.

use regex::Regex;

/// A match of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// `ATTRS`, `KERNEL` and the like.
    pub(super) field: String,
    /// What is in braces behind it.
    pub(super) key: String,
    /// As it must not be.
    pub(super) is_negated: bool,
    pub(super) value: String,
}

/// What their handler refuses, as it changes something or is not understood.
const REFUSED: &str = "their handler refuses the rule, too";

/// The matches of a rule, all of which must hold.
///
/// # Errors
/// Where it is no rule of matches alone.
pub(super) fn parse(rule: &str) -> Result<Vec<Match>, String> {
    let one = Regex::new(r#"\A\s*([A-Z]+)(?:\{([^}]*)\})?\s*(==|!=|\+=|-=|:=|=)\s*"([^"]*)"\s*(?:,|\z)"#);
    let one = one.map_err(|error| error.to_string())?;
    let (mut rest, mut matches) = (rule, Vec::new());
    while !rest.trim().is_empty() {
        let Some(found) = one.captures(rest) else { return Err(format!("is no rule; {REFUSED}")) };
        let text = |n: usize| found.get(n).map_or("", |part| part.as_str());
        if !matches!(text(3), "==" | "!=") {
            return Err(format!("{} {} sets something; {REFUSED}", text(1), text(3)));
        }
        matches.push(Match {
            field: text(1).to_owned(),
            key: text(2).to_owned(),
            is_negated: text(3) == "!=",
            value: text(4).to_owned(),
        });
        rest = rest.get(text(0).len()..).unwrap_or_default();
    }
    if matches.is_empty() { Err("is empty and means every device".to_owned()) } else { Ok(matches) }
}

impl Match {
    /// As it stands in the rule.
    pub(super) fn shown(&self) -> String {
        let key = if self.key.is_empty() { String::new() } else { format!("{{{}}}", self.key) };
        format!("{}{key}{}\"{}\"", self.field, if self.is_negated { "!=" } else { "==" }, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_its_matches() {
        let rule = r#"SUBSYSTEM=="tty", ATTRS{idVendor}=="1a86",ENV{ID_X}!="a b""#;
        let shown: Vec<_> = parse(rule).unwrap().iter().map(Match::shown).collect();
        assert_eq!(shown, [r#"SUBSYSTEM=="tty""#, r#"ATTRS{idVendor}=="1a86""#, r#"ENV{ID_X}!="a b""#]);
    }

    #[test]
    fn what_their_handler_refuses_is_refused() {
        for (rule, why) in [
            (r#"KERNEL=="a", SYMLINK+="b""#, "SYMLINK += sets something"),
            (r#"KERNEL=="a" KERNEL=="b""#, "is no rule"),
            ("KERNEL==a", "is no rule"),
            ("", "is empty"),
        ] {
            let said = parse(rule).unwrap_err();
            assert!(said.starts_with(why), "{rule}: {said}");
        }
    }
}
