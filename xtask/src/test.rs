//! Everything that CI checks.

mod beside;
mod cdi_library;
mod cluster;
mod image;
mod package;
mod spelling;
mod stages;

use anyhow::{Result, bail};
use beside::Beside;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How to test.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Leave out what takes long and seldom fails: clippy, documentation, doc tests, spelling
    #[arg(long)]
    quick: bool,
    /// Also run tests that take long, build and test the example in all languages, which brings their tools (pip, npm), hold CDI files against the CNCF's
    /// library, and the static binaries and the image of them, and play the scenarios on a real Kubernetes: minutes each
    #[arg(long)]
    full: bool,
    /// Go on after a stage that fails, and fail at the end
    #[arg(long)]
    keep_going: bool,
    /// Only this stage (may be repeated); the names are those in the table at the end
    #[arg(long, value_name = "STAGE")]
    only: Vec<String>,
}

/// One thing to check: its name, when, and how.
struct Stage(&'static str, When, fn() -> Result<Outcome>);

/// When a stage is checked if it is not named.
enum When {
    Always,
    /// Not with `--quick`.
    Slow,
    /// With `--full` alone, and not with `--quick`.
    Full,
}

/// How a stage ended, if not with an error.
#[derive(Debug)]
enum Outcome {
    Passed,
    /// It cannot run here, and why.
    Skipped(String),
    /// It waits more than it computes, and goes on beside the stages that follow.
    Continues(Beside),
}

/// A line of the table.
struct Line {
    name: &'static str,
    time: Duration,
    result: Result<Outcome>,
}

impl Line {
    fn of(name: &'static str, start: Instant, result: Result<Outcome>) -> Self {
        if let Err(error) = &result {
            println!("{name}: {error:#}");
        }
        let time = start.elapsed();
        Self { name, time, result }
    }
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let chosen = choose(stages::ALL, options)?;
    let mut lines = Vec::new();
    let mut beside = Vec::new();
    for Stage(name, _, check) in chosen {
        println!("\n== {name} ==");
        let start = Instant::now();
        let result = match check() {
            Ok(Outcome::Continues(program)) => {
                beside.push((*name, start, program));
                continue;
            }
            result => result,
        };
        let line = Line::of(name, start, result);
        let failed = line.result.is_err();
        lines.push(line);
        if failed && !options.keep_going {
            break;
        }
    }
    for (name, start, program) in beside {
        println!("\n== {name} ==");
        let result = program.end().map(|()| Outcome::Passed);
        lines.push(Line::of(name, start, result));
    }
    print!("\n{}", table(&lines));
    let failed: Vec<&str> = lines.iter().filter(|line| line.result.is_err()).map(|line| line.name).collect();
    if failed.is_empty() {
        println!("All stages passed.");
        return Ok(ExitCode::SUCCESS);
    }
    bail!("failed: {}; again by itself: cargo xtask test --only {}", failed.join(", "), failed.join(" --only "));
}

fn choose<'a>(all: &'a [Stage], options: &Options) -> Result<Vec<&'a Stage>> {
    if let Some(unknown) = options.only.iter().find(|wanted| all.iter().all(|Stage(name, ..)| name != wanted)) {
        let names: Vec<&str> = all.iter().map(|Stage(name, ..)| *name).collect();
        bail!("no stage {unknown}; there are {}", names.join(", "));
    }
    let wanted = |Stage(name, when, _): &&Stage| match when {
        _ if !options.only.is_empty() => options.only.iter().any(|only| only == name),
        When::Always => true,
        When::Slow => !options.quick,
        When::Full => options.full && !options.quick,
    };
    Ok(all.iter().filter(wanted).collect())
}

fn table(lines: &[Line]) -> String {
    let row = |line: &Line| {
        let result = match &line.result {
            Ok(Outcome::Passed | Outcome::Continues(_)) => "passed".to_owned(),
            Ok(Outcome::Skipped(why)) => format!("skipped: {why}"),
            Err(_) => "FAILED".to_owned(),
        };
        format!("{:<14} {:>7.1} s  {result}\n", line.name, line.time.as_secs_f64())
    };
    lines.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    fn names(options: &Options) -> Vec<&'static str> {
        let pass = || Ok(Outcome::Passed);
        let all = [
            Stage("a", When::Always, pass),
            Stage("b", When::Slow, pass),
            Stage("c", When::Always, pass),
            Stage("d", When::Full, pass),
        ];
        let chosen = choose(&all, options).unwrap();
        chosen.iter().map(|Stage(name, ..)| *name).collect()
    }

    fn options(quick: bool, only: &[&str]) -> Options {
        Options { quick, full: false, keep_going: false, only: only.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn stages_are_chosen_in_order() {
        assert_eq!(names(&options(false, &[])), ["a", "b", "c"]);
        assert_eq!(names(&options(true, &[])), ["a", "c"]);
        assert_eq!(names(&options(true, &["c", "b"])), ["b", "c"]);
        assert_eq!(names(&options(false, &["d"])), ["d"]);
        let full = Options { full: true, ..options(false, &[]) };
        assert_eq!(names(&full), ["a", "b", "c", "d"]);
        let error = choose(stages::ALL, &options(false, &["tets"])).err().unwrap();
        assert!(error.to_string().starts_with("no stage tets; there are setup, "), "{error}");
    }

    #[test]
    fn the_table_says_how_each_ended() {
        let line = |name, result| Line { name, time: Duration::from_millis(1_250), result };
        let lines = [
            line("tests", Ok(Outcome::Passed)),
            line("spelling", Ok(Outcome::Skipped("no typos here".to_owned()))),
            line("docs", Err(anyhow!("rustdoc failed"))),
        ];
        let expected = "tests              1.2 s  passed\nspelling           1.2 s  skipped: no typos here\n\
                        docs               1.2 s  FAILED\n";
        assert_eq!(table(&lines), expected);
    }
}
