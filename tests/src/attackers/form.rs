//! The outermost parentheses of a text, and the names in them.

use anyhow::{Context, bail};

/// One parenthesis of the outermost level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form(pub(super) String);

impl Form {
    /// The word after the parenthesis.
    pub(super) fn head(&self) -> &str {
        let inner = self.0.trim_start_matches('(').trim_start();
        let end = inner.find(|c: char| c.is_whitespace() || c == '(' || c == ')');
        inner.get(..end.unwrap_or(inner.len())).unwrap_or_default()
    }

    /// What stands behind that word.
    pub(super) fn body(&self) -> &str {
        let inner = self.0.trim_start_matches('(').trim_start();
        let rest = inner.get(self.head().len()..).unwrap_or_default();
        rest.strip_suffix(')').unwrap_or(rest)
    }

    /// The name that it gives to a function, global, memory, table or type; none for what has no name.
    pub(super) fn defines(&self) -> Option<&str> {
        let named = ["func", "global", "import", "memory", "table", "type", "tag"];
        let is_named = named.contains(&self.head());
        names(&self.0).next().filter(|_| is_named)
    }
}

/// Every `$name` in a text, where it stands outside of strings.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split('"').step_by(2);
    parts.flat_map(|part| {
        part.match_indices('$').filter_map(move |(at, _)| {
            let rest = part.get(at..)?;
            let end = rest.find(|c: char| c.is_whitespace() || c == ')' || c == '(');
            rest.get(..end.unwrap_or(rest.len()))
        })
    })
}

/// The outermost forms, without comments.
///
/// # Errors
/// Where parentheses or quotes do not match.
pub(super) fn forms(text: &str) -> anyhow::Result<Vec<Form>> {
    let mut found = Vec::new();
    let (mut depth, mut current) = (0_usize, String::new());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ';' if rest.peek() == Some(&';') => {
                rest.by_ref().find(|c| *c == '\n');
                current.push('\n');
                continue;
            }
            '"' => {
                current.push(c);
                string(&mut rest, &mut current)?;
                continue;
            }
            '(' => depth += 1,
            ')' => {
                depth = depth.checked_sub(1).context("a parenthesis too many is closed")?;
                current.push(c);
                if depth == 0 {
                    found.push(Form(std::mem::take(&mut current).trim().to_owned()));
                }
                continue;
            }
            c if depth == 0 && !c.is_whitespace() => bail!("{c:?} stands outside of parentheses"),
            _ => {}
        }
        current.push(c);
    }
    anyhow::ensure!(depth == 0, "{depth} parentheses are not closed");
    Ok(found)
}

/// The rest of a string, as it is written.
fn string(rest: &mut impl Iterator<Item = char>, into: &mut String) -> anyhow::Result<()> {
    while let Some(c) = rest.next() {
        into.push(c);
        match c {
            '\\' => into.extend(rest.next()),
            '"' => return Ok(()),
            _ => {}
        }
    }
    bail!("a string is not closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_apart_whatever_is_in_their_strings_and_comments() {
        let text = ";; (no form\n(func $a (call $b) ;; )\n) (data \"(\\\")\")";
        let found = forms(text).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].head(), found[0].defines()), ("func", Some("$a")));
        assert_eq!((found[1].head(), found[1].body()), ("data", " \"(\\\")\""));
        assert_eq!(names(&found[0].0).collect::<Vec<_>>(), ["$a", "$b"]);
        assert!(forms("(a").is_err() && forms("a)").is_err() && forms("(\"").is_err());
    }
}
