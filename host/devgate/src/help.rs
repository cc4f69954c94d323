//! `devgate help`: what a command does, or what the code of a finding means and what to do about it.

use crate::cli::HelpArgs;
use crate::{exit, output};
use clap::Command;
use devgate_policy::nearest;
use devgate_types::escape;

const CODES: &str = include_str!("check/codes.txt");
/// What asks for all codes.
const ALL: &str = "codes";

/// What a code means.
#[derive(Debug, Clone, Copy)]
pub struct Code {
    /// As it is shown with what was found: `component-digest`.
    pub code: &'static str,
    /// What carries it: `error`, `warning`, `danger`, `condition`.
    pub kind: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

/// The findings of `check` and the conditions of `status`.
pub fn codes() -> Vec<Code> {
    let row = |line: &'static str| {
        let mut cells = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ");
        let code = cells.next()?.trim_end_matches('`');
        Some(Code { code, kind: cells.next()?, meaning: cells.next()?, remedy: cells.next()? })
    };
    CODES.lines().filter_map(row).collect()
}

/// Runs the command for a program that has these codes. Fails when neither a command nor a code is called so; names what is.
pub fn help(args: &HelpArgs, mut program: Command, codes: &[Code]) -> anyhow::Result<u8> {
    program.build();
    let mut command = &mut program;
    for (depth, word) in args.topic.iter().enumerate() {
        if depth == 0 && command.find_subcommand(word).is_none() {
            return explain(word, codes, command);
        }
        let unknown = || exit::with_code(exit::USAGE, format!("help: there is no command {}", escape(word, 80)));
        command = command.find_subcommand_mut(word).ok_or_else(unknown)?;
    }
    output::print(&command.render_long_help().to_string())?;
    Ok(exit::OK)
}

fn explain(word: &str, codes: &[Code], program: &Command) -> anyhow::Result<u8> {
    if word == ALL {
        let rows = codes.iter().map(|it| [it.code, it.kind, it.meaning].map(str::to_owned));
        output::print(&output::columns(0, &rows.collect::<Vec<_>>()))?;
        return Ok(exit::OK);
    }
    let same = codes.iter().filter(|it| it.code == word);
    let told: String = same
        .map(|it| format!("{} ({})\n  meaning  {}\n  to do    {}\n", it.code, it.kind, it.meaning, it.remedy))
        .collect();
    if !told.is_empty() {
        output::print(&told)?;
        return Ok(exit::OK);
    }
    let commands = program.get_subcommands().map(Command::get_name);
    let near = nearest(word, codes.iter().map(|it| it.code).chain(commands));
    let meant = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let (word, called) = (escape(word, 80), output::program());
    Err(exit::with_code(
        exit::USAGE,
        format!("help: there is no command and no code {word}{meant}; `{called} help {ALL}` lists the codes"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitoring::Condition;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/devgatectl.md");

    /// The sources of `check`, and of what it has codes from.
    fn sources() -> Vec<String> {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/check");
        let mut files: Vec<PathBuf> = std::fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.extend([own.with_extension("rs"), own.join("../../../core/src/status.rs")]);
        files.retain(|file| file.extension().is_some_and(|ext| ext == "rs"));
        files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
    }

    fn findings() -> Vec<Code> {
        codes().into_iter().filter(|it| it.kind != "condition").collect()
    }

    #[test]
    fn every_condition_is_explained_in_the_words_of_the_guide() {
        let guide = include_str!("../../../docs/operate.md");
        let conditions = codes().into_iter().filter(|it| it.kind == "condition");
        let names: Vec<_> = conditions
            .map(|it| {
                assert!(guide.contains(&format!("\n| `{}` | {} | ", it.code, it.meaning)), "{it:?}");
                it.code
            })
            .collect();
        assert_eq!(names, Condition::ALL.map(Condition::as_str));
    }

    #[test]
    fn each_code_that_is_found_is_in_the_table_and_each_of_the_table_is_found() {
        let known: BTreeSet<_> = findings().iter().map(|it| it.code).collect();
        assert_eq!(known.len(), findings().len(), "one is there twice");
        let sources = sources();
        let written = |code: &&str| sources.iter().any(|text| text.contains(&format!("\"{code}\"")));
        let unused: Vec<_> = known.iter().copied().filter(|code| !written(code)).collect();
        assert_eq!(unused, [""; 0]);
        // What is no literal where it is found is checked there: `Finding::new`.
        let literal = |call: &str| call.trim_start().strip_prefix('"')?.split('"').next().map(str::to_owned);
        let calls = |text: &String, call: &str| text.split(call).skip(1).filter_map(literal).collect::<Vec<_>>();
        let found: BTreeSet<_> = sources
            .iter()
            .flat_map(|text| {
                [".finds(", ".finds_at(", "Finding::new(", "find(policy, reports, "].map(|call| calls(text, call))
            })
            .flatten()
            .collect();
        assert!(found.len() > 25, "{found:?}");
        let missing: Vec<_> = found.iter().filter(|code| !known.contains(code.as_str())).collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn the_findings_of_the_documents_are_fresh() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let (before, rest) = page.split_once("Errors:\n\n").unwrap();
        let (_, after) = rest.split_once("\n\nJSON: ").unwrap();
        let tables = [("Errors", "error"), ("Warnings", "warning"), ("Dangers", "danger")].map(|(heading, kind)| {
            let same = findings().into_iter().filter(|it| it.kind == kind);
            let rows: Vec<_> = same.map(|it| format!("- `{}`: {}", it.code, it.meaning)).collect();
            format!("{heading}:\n\n{}", rows.join("\n"))
        });
        let fresh = format!("{before}{}\n\nJSON: {after}", tables.join("\n\n"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(PAGE, &fresh).unwrap();
        } else {
            assert!(page == fresh, "docs/devgatectl.md is stale: run `UPDATE_DOCS=1 cargo test -p devgate documents`");
        }
    }
}
