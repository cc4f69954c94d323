//! The programs of `tests` that run devgate for minutes or hours: the benchmark, and the kubelet from hell.

use crate::dist::Out;
use crate::static_binary::{self, Machine, Product, Profile};
use crate::workspace::{WHOLE, built, cargo, target};
use crate::{components, demo, process};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Names the program that is measured.
const PROGRAM: &str = "DEVGATE_PROGRAM";

/// The profile of what measures (`Cargo.toml`).
const MEASURE: &str = "measure";

/// Builds the components, the programs and this one of `tests`, and becomes it.
pub(crate) fn run(name: &str, arguments: &[String]) -> Result<ExitCode> {
    components::build()?;
    println!("Building {name} (minutes the first time) …");
    let products = [Product::Devgate, Product::Devgatectl];
    let started = products.iter().flat_map(|product| product.programs()).map(|program| program.name());
    let folder = built(&started.chain([name]).collect::<Vec<_>>())?;
    demo::become_it(Command::new(folder.join(name)).args(arguments))
}

/// Builds the components, the programs as a release has them and the benchmark, and becomes that. It measures what nodes get, or else
/// what `DEVGATE_PROGRAM` names.
pub(crate) fn bench(arguments: &[String]) -> Result<ExitCode> {
    components::build()?;
    println!("Building the benchmark (minutes the first time) …");
    // With what a part of it calls in its own process, optimised as that: a floor that is slow flatters.
    let programs = ["bench", "devgate-runner", "devgate-compile"].into_iter().flat_map(|name| ["--bin", name]);
    process::run(cargo().args(["build", "--locked", WHOLE, "--profile", MEASURE]).args(programs))?;
    let mut bench = Command::new(target()?.join(MEASURE).join("bench"));
    bench.args(arguments);
    if std::env::var_os(PROGRAM).is_none() {
        bench.env(PROGRAM, released()?);
    }
    demo::become_it(&mut bench)
}

/// Builds the programs of a release into one folder, and gives the first.
fn released() -> Result<PathBuf> {
    let (folder, machine) = (target()?.join("bench"), Machine::here()?);
    std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    for product in [Product::Devgate, Product::Devgatectl] {
        let main = static_binary::build(product, machine, Profile::Release, &Out::default().folder()?)?;
        product.copy(&main, &folder)?;
    }
    Ok(folder.join(Product::Devgate.name()))
}
