//! `devgatectl man` and `devgatectl completions`: both made of the command lines of both programs.

mod page;

use crate::cli::{Cli, CompletionsArgs, ManArgs, Product};
use anyhow::Context;
use clap::{Command, CommandFactory};
use devgate::output;
use page::Page;
use std::path::Path;

/// Prints what makes a shell complete a program's commands.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut program = program(args.program);
    let (name, mut script) = (program.get_name().to_owned(), Vec::new());
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    output::print(&String::from_utf8(script)?)
}

/// Prints a program's page, or writes all pages.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<()> {
    let Some(folder) = &args.out else {
        return output::print(&Page::of(&program(args.program)).text);
    };
    std::fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    for program in [Product::Devgate, Product::Devgatectl] {
        write(&self::program(program), folder)?;
    }
    Ok(())
}

/// Writes the page of a command, and those of the commands that it has.
fn write(command: &Command, folder: &Path) -> anyhow::Result<()> {
    let page = Page::of(command);
    let file = folder.join(page.file);
    std::fs::write(&file, page.text).with_context(|| format!("write {}", file.display()))?;
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    commands.into_iter().try_for_each(|command| write(command, folder))
}

/// A program's command line.
fn program(program: Product) -> Command {
    let command = match program {
        Product::Devgate => devgate::cli::Cli::command(),
        Product::Devgatectl => Cli::command(),
    };
    let mut command = without_help(command);
    command.build();
    command
}

/// Without the commands that clap adds beneath each command that has some: each would be a page.
fn without_help(command: Command) -> Command {
    command.mut_subcommands(without_help).disable_help_subcommand(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Names of all commands, as pages have them.
    fn names(command: &Command, above: &str, found: &mut BTreeSet<String>) {
        let name = format!("{above}{}", command.get_name());
        let below = command.get_subcommands().filter(|command| !command.is_hide_set());
        below.for_each(|command| names(command, &format!("{name}-"), found));
        found.insert(name);
    }

    #[test]
    fn every_command_of_both_programs_has_a_page_and_nothing_else_has_one() {
        let folder = tempfile::tempdir().unwrap();
        man(&ManArgs { program: Product::Devgatectl, out: Some(folder.path().to_owned()) }).unwrap();
        let mut expected = BTreeSet::new();
        for command in [devgate::cli::Cli::command(), Cli::command()] {
            names(&command, "", &mut expected);
        }
        for name in ["devgate", "devgate-cdi-lease", "devgate-help", "devgatectl-conform", "devgatectl-check"] {
            assert!(expected.contains(name), "{expected:?}");
        }
        let written = std::fs::read_dir(folder.path()).unwrap();
        let written = written.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(written.collect::<BTreeSet<_>>(), expected.iter().map(|name| format!("{name}.1")).collect());
        for name in &expected {
            let page = std::fs::read_to_string(folder.path().join(format!("{name}.1"))).unwrap();
            let called = name.replace('-', "\\-");
            assert!(page.contains(&format!(".SH NAME\n{called} \\- ")), "{page}");
        }
    }

    #[test]
    fn what_comes_after_the_options_of_registries_is_not_under_their_heading() {
        for (command, option) in
            [("check", "strict"), ("explain", "status_socket"), ("simulate", "jobs"), ("run", "log")]
        {
            let program = program(Product::Devgatectl);
            let mut options = program.find_subcommand(command).unwrap().get_arguments();
            let option = options.find(|it| it.get_id() == option).unwrap();
            assert_eq!(option.get_help_heading(), None, "{command} {option}");
        }
    }

    #[test]
    fn examples_and_exit_codes_are_sections_of_their_own() {
        let program = program(Product::Devgatectl);
        let page = Page::of(program.find_subcommand("conform").unwrap());
        assert_eq!(page.file, "devgatectl-conform.1");
        for part in [".SH EXAMPLES\n.nf\n", "\n.SH \"EXIT CODES\"\n.nf\n", "\n5  a check failed\n.fi\n"] {
            assert!(page.text.contains(part), "{part}: {}", page.text);
        }
        let host = Page::of(&super::program(Product::Devgate)).text;
        assert!(host.contains("\n.SH FILES\n") && host.contains("\n.SH SIGNALS\n"), "{host}");
    }
}
