//! What a skeleton leaves to its author, and is not filled in yet.

use super::PluginReport;
use super::finding::Finding;
use crate::policy;
use devgate_policy::{Origin, Policy};
use std::path::PathBuf;

/// What `devgatectl inspect --output policy` writes in place of what it cannot know.
const PLACEHOLDER: &str = "CHANGE-ME";

/// Finds it in the policy's files, outside of comments.
pub(super) fn look(paths: &[PathBuf], policy: &Policy, reports: &mut [PluginReport]) {
    for file in paths.iter().filter_map(|path| policy::files(path).ok()).flatten() {
        // What cannot be read by now was a moment ago, and is not what was parsed.
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let name = file.display().to_string();
        for (number, line) in (1..).zip(text.lines()) {
            if !without_comment(line).contains(PLACEHOLDER) {
                continue;
            }
            let all = policy.plugins.values().map(|plugin| &plugin.origin).zip(&mut *reports);
            let own = all.filter(|(origin, _)| *origin.file == *name && origin.line <= number);
            let Some((_, report)) = own.max_by_key(|(origin, _)| origin.line) else {
                continue;
            };
            let (file, line) = (name.as_str().into(), number);
            let why = "stands where the skeleton of a policy could not know: put in what is meant";
            let finding = Finding::error("placeholder", Some(&Origin { file, line }), format!("{PLACEHOLDER} {why}"));
            report.findings.push(finding);
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
