//! The manual page, held against the program.

use crate::cli::Cli;
use crate::exit;
use clap::CommandFactory;

const PAGE: &str = include_str!("../../../../deploy/debian/devgate.1");

#[test]
fn the_manual_page_has_every_command() {
    let commands = PAGE.split(".SH COMMANDS").nth(1).unwrap().split(".SH ").next().unwrap();
    let listed: Vec<_> = commands.lines().filter_map(|line| line.strip_prefix(".B ")).collect();
    let program = Cli::command();
    let there = program.get_subcommands().filter(|command| !command.is_hide_set());
    let missing: Vec<_> = there.map(clap::Command::get_name).filter(|name| !listed.contains(name)).collect();
    assert_eq!(missing, [""; 0], "not on the manual page");
}

#[test]
fn the_manual_page_has_every_exit_code() {
    let codes = PAGE.split(".SH EXIT STATUS").nth(1).unwrap().split(".SH ").next().unwrap();
    let listed: Vec<u8> = codes.lines().filter_map(|line| line.strip_prefix(".B ")?.parse().ok()).collect();
    let told: Vec<u8> =
        exit::HELP.lines().filter_map(|line| line.trim_start().split("  ").next()?.parse().ok()).collect();
    assert_eq!(listed, told);
    assert_eq!(told, [exit::OK, exit::FAILED, exit::USAGE, exit::POLICY, exit::NODE, exit::FOUND]);
}
