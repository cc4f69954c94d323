//! `devgatectl`: the program of vendors, testers and admins. What it has of the host is the host's own library.
#![forbid(unsafe_code)]

mod admin;
mod author_policy;
mod call;
mod cli;
mod config_schema;
mod conform;
mod custom_section;
mod demo;
mod dev;
mod dra;
mod fault_injector;
mod fleet;
mod index;
mod inspect;
mod junit;
mod manual;
mod migrate;
mod new;
mod node;
mod pack;
mod plan;
mod policy_schema;
mod push;
mod query;
mod record;
mod registry;
mod reply;
mod show;
mod signing_key;
mod simulate;
mod stage;
mod trace;

use clap::{CommandFactory, Parser};
use cli::Command;
use devgate::cli::Command as HostCommand;
use devgate::exit;
use devgate::node::{OpenNode, Sources};
use devgate_runner::{Program, Programs};
use std::process::ExitCode;

fn main() -> ExitCode {
    // One file: what devgate has programs of their own for, this one does itself where it is called so.
    if devgate_runner::child::is_called(devgate_compile::NAME) {
        return devgate_compile::main();
    }
    if devgate_runner::child::is_called(devgate_runner_program::NAME) {
        return devgate_runner_program::main();
    }
    if devgate_runner::child::is_called(devgate_pull::NAME) {
        return devgate_pull::main();
    }
    devgate::keep_inherited();
    let done = |()| exit::OK;
    let result = match cli::Cli::parse().command {
        Command::Demo(args) => demo::demo(&args).map(done),
        Command::Simulate(args) => simulate::simulate(&args),
        Command::New(args) => new::new(&args).map(done),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Record(args) => record::record(&args),
        Command::Pack(args) => pack::pack(&args),
        Command::Push(args) => push::push(&args),
        Command::Show(args) => show::show(&args),
        Command::Dra(args) => match args.command {
            cli::DraCommand::Classes(args) => dra::classes(&args),
        },
        Command::Index(args) => match args.command {
            cli::IndexCommand::Build(args) => index::build(&args),
        },
        Command::Search(args) => index::search(&args),
        Command::Add(args) => admin::add(&args),
        Command::Upgrade(args) => admin::upgrade(&args),
        Command::Dev(args) => dev::dev(&args),
        Command::Call(args) => call::call(&args),
        Command::Fleet(args) => fleet::fleet(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Migrate(args) => migrate::migrate(&args),
        Command::Conform(args) => conform::conform(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Completions(args) => manual::completions(&args).map(done),
        Command::Man(args) => manual::man(&args).map(done),
        Command::Host(HostCommand::Help(args)) => {
            let codes = [devgate::help::codes(), conform::codes()].concat();
            devgate::help::help(&args, cli::Cli::command(), &codes)
        }
        Command::Host(command @ HostCommand::Run(_)) => devgate::run(&command, sources(node::open_and_follow)),
        Command::Host(command) => devgate::run(&command, sources(node::open)),
    };
    match result {
        Ok(code) => code.into(),
        Err(error) => exit::report(&error),
    }
}

fn sources(node: OpenNode) -> Sources {
    let (programs, puller) = (Programs::beside_or_own, Program::puller_or_own);
    Sources { node, programs, puller, config: config_schema::look, version: policy_schema::look }
}
