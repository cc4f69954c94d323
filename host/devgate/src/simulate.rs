//! `devgate simulate`: scenarios of a recorded node, its kubelet and its pods, played with the real `devgate run`.

mod check;
mod hardware;
mod outcome;
mod patch;
mod play;
mod scenario;
mod text;

use crate::cli::SimulateArgs;
use crate::{exit, output};
use anyhow::{Context, bail};
use play::Prepared;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs the command.
pub(crate) fn simulate(args: &SimulateArgs) -> anyhow::Result<u8> {
    let prepared = prepare(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.context("start the runtime")?;
    runtime.block_on(async {
        tokio::select! {
            result = play(args, &prepared) => result,
            // The host is ended and its directory removed when `play` is dropped.
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        }
    })
}

async fn play(args: &SimulateArgs, prepared: &[Prepared]) -> anyhow::Result<u8> {
    let begun = Instant::now();
    let mut outcomes = Vec::new();
    for scenario in prepared {
        let outcome = scenario.play().await;
        output::print(&text::scenario(&outcome, args.verbose))?;
        outcomes.push(outcome);
    }
    output::print(&text::summary(&outcomes, begun.elapsed()))?;
    let passed = outcomes.iter().all(outcome::Outcome::passed);
    Ok(if passed { exit::OK } else { exit::FOUND })
}

/// All scenarios, with what they name; what is wrong is told of all of them.
fn prepare(args: &SimulateArgs) -> anyhow::Result<Vec<Prepared>> {
    let mut files = BTreeSet::new();
    for path in &args.scenarios {
        find(path, &mut files)?;
    }
    let (mut prepared, mut wrong) = (Vec::new(), Vec::new());
    for file in &files {
        let scenario = scenario::open(file).and_then(|scenario| play::prepare(scenario, args.components.as_deref()));
        match scenario {
            Ok(scenario) => prepared.push(scenario),
            Err(error) => wrong.push(error),
        }
    }
    match wrong.first() {
        None => Ok(prepared),
        Some(first) => {
            let code = first
                .downcast_ref::<exit::Coded>()
                .map_or(exit::FAILED, |coded| coded.code);
            let all: Vec<_> = wrong.iter().map(|error| format!("{error:#}")).collect();
            Err(exit::with_code(code, all.join("\n")))
        }
    }
}

/// The file itself, or all YAML files in a folder and beneath it.
fn find(path: &Path, files: &mut BTreeSet<PathBuf>) -> anyhow::Result<()> {
    let wrong = |why: String| exit::with_code(exit::USAGE, format!("scenario {}: {why}", path.display()));
    let metadata = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    if !metadata.is_dir() {
        files.insert(path.to_owned());
        return Ok(());
    }
    let before = files.len();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| wrong(error.to_string()))? {
            let entry = entry.map_err(|error| wrong(error.to_string()))?;
            let file = entry.path();
            // Links to folders could go in circles.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(file);
            } else if file.extension().is_some_and(|ext| ext == "yaml" || ext == "yml") {
                files.insert(file);
            }
        }
    }
    if files.len() == before {
        return Err(wrong("the folder has no .yaml or .yml file".to_owned()));
    }
    Ok(())
}
