//! What stands in the policy's files: what a skeleton leaves to its author, and what an earlier version would refuse.

use super::PluginReport;
use crate::node::LookForVersion;
use crate::policy::Texts;
use devgate_policy::{Origin, Policy};

/// What `devgatectl inspect --output policy` writes in place of what it cannot know.
const PLACEHOLDER: &str = "CHANGE-ME";

/// Finds what is not filled in yet, outside of comments.
pub(super) fn placeholders(texts: &Texts, policy: &Policy, reports: &mut [PluginReport]) {
    for (file, text) in texts {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| without_comment(line).contains(PLACEHOLDER));
        for (line, _) in lines {
            let why = "stands where the skeleton of a policy could not know: put in what is meant";
            find(policy, reports, "placeholder", (file, line), format!("{PLACEHOLDER} {why}"));
        }
    }
}

/// `--for`: finds what an earlier version of devgate would refuse.
pub(super) fn refused_by(
    version: &str,
    refused_by: LookForVersion,
    texts: &Texts,
    policy: &Policy,
    reports: &mut [PluginReport],
) -> anyhow::Result<()> {
    for (file, text) in texts {
        for (line, message) in refused_by(version, text)? {
            find(policy, reports, "version-refuses", (file, line), message);
        }
    }
    Ok(())
}

/// Adds it to the plugin in whose entry the line stands; to the first one for what stands before all.
fn find(policy: &Policy, reports: &mut [PluginReport], code: &'static str, (file, line): (&str, u32), message: String) {
    let origins = policy.plugins.values().map(|plugin| &plugin.origin).enumerate();
    let own = origins.filter(|(_, origin)| *origin.file == *file && origin.line <= line);
    let index = own.max_by_key(|(_, origin)| origin.line).map_or(0, |(index, _)| index);
    if let Some(report) = reports.get_mut(index) {
        report.finds_at(code, &Origin { file: file.into(), line }, message);
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
