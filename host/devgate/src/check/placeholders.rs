//! What a skeleton leaves to its author, and is not filled in yet.

use super::finding::Finding;
use super::{PluginReport, of_line};
use crate::policy::Texts;
use devgate_policy::Policy;

/// What `devgatectl inspect --output policy` writes in place of what it cannot know.
const PLACEHOLDER: &str = "CHANGE-ME";

/// Finds it in the policy's files, outside of comments.
pub(super) fn look(texts: &Texts, policy: &Policy, reports: &mut [PluginReport]) {
    for (file, text) in texts {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| without_comment(line).contains(PLACEHOLDER));
        for (line, _) in lines {
            let Some((at, report)) = of_line(policy, reports, file, line) else { continue };
            let why = "stands where the skeleton of a policy could not know: put in what is meant";
            report.findings.push(Finding::error("placeholder", Some(&at), format!("{PLACEHOLDER} {why}")));
        }
    }
}

/// A line of YAML without its comment.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (at, character) in line.char_indices() {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, '#') if before.is_whitespace() => return line.get(..at).unwrap_or(line),
            _ => {}
        }
        before = character;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_told_from_what_looks_like_one() {
        for (line, kept) in [
            ("a: b # c", "a: b "),
            ("# c", ""),
            ("a: '# b' # c", "a: '# b' "),
            ("a: b#c", "a: b#c"),
            ("a: \"it's # b\"", "a: \"it's # b\""),
        ] {
            assert_eq!(without_comment(line), kept);
        }
    }
}
