//! `devgatectl simulate`: scenarios of a recorded node, its kubelet and its pods, played with the real `devgate run`.

mod check;
mod hardware;
mod json;
mod keep;
mod outcome;
mod patch;
mod play;
mod registry;
mod scenario;
mod text;
mod timeline;

use crate::cli::SimulateArgs;
use crate::junit::{self, Case, Suite};
use anyhow::{Context, bail};
use devgate::cli::Output;
use devgate::progress::Progress;
use devgate::{exit, output};
use outcome::Outcome;
use play::Prepared;
use std::collections::BTreeSet;
use std::fs::DirEntry;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

/// Runs the command.
pub(crate) fn simulate(args: &SimulateArgs) -> anyhow::Result<u8> {
    let prepared = prepare(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("start the runtime")?;
    let begun = Instant::now();
    let outcomes = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        // The hosts are ended and their directories removed when the runtime is dropped.
        tokio::select! {
            result = play(args, prepared) => result,
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
            _ = terminate.recv() => bail!("terminated"),
        }
    });
    drop(runtime);
    let (outcomes, took) = (outcomes?, begun.elapsed());
    if let Some(file) = &args.junit {
        let suite = junit(&outcomes);
        std::fs::write(file, junit::xml("devgatectl simulate", &[suite]))
            .with_context(|| file.display().to_string())?;
    }
    match args.output {
        Output::Text => output::print(&text::summary(&outcomes, took, args.components.as_deref()))?,
        Output::Json => output::print_json(&json::results(&outcomes, took))?,
    }
    let passed = outcomes.iter().all(Outcome::passed);
    Ok(if passed { exit::OK } else { exit::FOUND })
}

/// Plays them, so many at a time; shows each in its turn.
async fn play(args: &SimulateArgs, prepared: Vec<Prepared>) -> anyhow::Result<Vec<Outcome>> {
    let room = Arc::new(Semaphore::new(args.jobs.into()));
    let playing = prepared.into_iter().map(|scenario| {
        let (room, keep) = (Arc::clone(&room), args.keep.clone());
        tokio::spawn(async move {
            let _place = room.acquire().await;
            // In a pipeline the results say as much.
            let watched = std::io::stderr().is_terminal();
            let what = || format!("playing {}", scenario.scenario.file.display());
            let _progress = watched.then(|| Progress::begin(what()));
            scenario.play(keep.as_deref()).await
        })
    });
    let playing: Vec<_> = playing.collect();
    let mut outcomes = Vec::new();
    for scenario in playing {
        let outcome = scenario.await.context("a scenario could not be played to its end")?;
        if args.output == Output::Text {
            output::print(&text::scenario(&outcome, args.verbose))?;
            if args.trace {
                output::print(&format!("  what happened when:\n{}", timeline::timeline(&outcome)))?;
            }
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// One case for each scenario.
fn junit(outcomes: &[Outcome]) -> Suite {
    let case = |outcome: &Outcome| {
        let steps = output::plain(&text::steps(outcome));
        let step = outcome.failure().and_then(|step| {
            let (number, line, what) = (step.number, step.line, step.failure.as_ref()?.line());
            Some(format!("step {number}, line {line}: {}: {what}", step.summary))
        });
        let broken = outcome.broken.as_ref().and_then(|broken| broken.lines().next());
        let first = broken.map(str::to_owned).or(step);
        Case {
            class: outcome.file.display().to_string(),
            name: text::title(outcome),
            took: Some(outcome.took),
            output: if first.is_none() { steps.clone() } else { String::new() },
            failure: first.map(|first| (first, steps + &text::last_words(outcome))),
            skipped: None,
        }
    };
    Suite { name: "scenarios".to_owned(), cases: outcomes.iter().map(case).collect() }
}

/// All scenarios, with what they name; what is wrong is told of all of them.
fn prepare(args: &SimulateArgs) -> anyhow::Result<Vec<Prepared>> {
    let mut files = BTreeSet::new();
    for path in &args.scenarios {
        find(path, &mut files)?;
    }
    let (mut prepared, mut wrong) = (Vec::new(), Vec::new());
    for file in &files {
        let scenario = scenario::open(file).and_then(|scenario| {
            play::prepare(scenario, args.components.as_deref(), registry::passed_on(&args.registry, args.pull))
        });
        match scenario {
            Ok(scenario) => prepared.push(scenario),
            Err(error) => wrong.push(error),
        }
    }
    match wrong.first() {
        None => Ok(prepared),
        Some(first) => {
            let code = first.downcast_ref::<exit::Coded>().map_or(exit::FAILED, |coded| coded.code);
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
        let entries = std::fs::read_dir(&folder).and_then(Iterator::collect);
        let entries: Vec<DirEntry> = entries.map_err(|error| wrong(error.to_string()))?;
        // Links to folders could go in circles.
        let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let (inner, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_folder);
        folders.extend(inner.iter().map(DirEntry::path));
        let is_yaml = |file: &PathBuf| file.extension().is_some_and(|ext| ext == "yaml" || ext == "yml");
        files.extend(others.iter().map(DirEntry::path).filter(is_yaml));
    }
    if files.len() == before {
        return Err(wrong("the folder has no .yaml or .yml file".to_owned()));
    }
    Ok(())
}
