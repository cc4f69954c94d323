//! A whole Kubernetes of one node, real in every part, with devgate installed in it as an admin does, and the scenarios that are played
//! there. `cargo xtask cluster` builds what it needs and starts it; CONTRIBUTING.md says how to get the binaries.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a command line tool says what it does on its standard output")]
#![expect(clippy::indexing_slicing, reason = "a JSON value gives null for what is not there; nothing else is indexed")]

mod api;
mod archive;
mod audit;
mod chart;
mod cluster;
mod configs;
mod devgate;
mod disks;
mod go;
mod images;
mod keys;
mod needs;
mod part;
mod pod;
mod pod_resources;
mod policy;
mod process;
mod prometheus;
mod runtime;
mod scenarios;
mod second;
mod space;
mod wait;

use anyhow::{Context, Result, bail};
use clap::Parser;
use cluster::{Cluster, Given};
use scenarios::{ALL, Scenario};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Plays scenarios on a real Kubernetes.
#[derive(Parser)]
#[command(name = "devgate-cluster")]
struct Arguments {
    /// What to play, by name; `--list` shows the names [default: all, in the order of the list]
    scenarios: Vec<String>,
    /// A folder with kubelet, kube-apiserver, kube-controller-manager, kube-scheduler and etcd
    #[arg(long, value_name = "DIR")]
    kubernetes: Option<PathBuf>,
    /// Where the cluster's files and logs lie: not below /etc, /run, /var/lib and /var/log, which are its own inside
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The archive of devgate's image
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    /// devgate's chart
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// The folder of the chart's rendered profiles
    #[arg(long, value_name = "DIR")]
    rendered: Option<PathBuf>,
    /// What a release has for registries, of the same image, for `mirror`
    #[arg(long, value_name = "DIR")]
    layout: Option<PathBuf>,
    /// The static program, for what runs on the node itself
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The static program of the version before, for `rollout` [default: this version's, in another image]
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
    /// The folder of the components
    #[arg(long, value_name = "DIR")]
    components: Option<PathBuf>,
    /// The repository's root, for the documentation's steps
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// kubectl
    #[arg(long, value_name = "FILE", default_value = "kubectl")]
    kubectl: PathBuf,
    /// Helm
    #[arg(long, value_name = "FILE", default_value = "helm")]
    helm: PathBuf,
    /// Leave the cluster up, and say how to use and to end it; without the name of a scenario none is played
    #[arg(long)]
    keep: bool,
    /// End a cluster that was left up
    #[arg(long, conflicts_with_all = ["keep", "scenarios"])]
    down: bool,
    /// Only say whether everything is here that a cluster needs
    #[arg(long)]
    check: bool,
    /// The longer forms of scenarios that have one
    #[arg(long)]
    long: bool,
    /// List the scenarios
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<ExitCode> {
    if arguments.list {
        for scenario in ALL {
            println!("{:<12} {}", scenario.name, scenario.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    std::fs::create_dir_all(&arguments.dir)?;
    let dir = std::path::absolute(&arguments.dir)?;
    if arguments.down {
        space::end(&dir)?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = choose(&arguments.scenarios, arguments.keep)?;
    if arguments.check {
        needs::all(&arguments.kubernetes.unwrap_or_default())?;
        return Ok(ExitCode::SUCCESS);
    }
    let start = Instant::now();
    let mut cluster = Cluster::up(Given {
        dir,
        kubernetes: arguments.kubernetes.unwrap_or_default(),
        before: arguments.before,
        image: arguments.image.unwrap_or_default(),
        chart: arguments.chart.unwrap_or_default(),
        rendered: arguments.rendered.unwrap_or_default(),
        layout: arguments.layout,
        program: arguments.program.unwrap_or_default(),
        components: arguments.components.unwrap_or_default(),
        root: arguments.root.unwrap_or_default(),
        kubectl: arguments.kubectl,
        helm: arguments.helm,
        long: arguments.long,
        keep: arguments.keep,
    })?;
    let mut table = vec![line("(bring-up)", start.elapsed(), "")];
    let mut failed = Vec::new();
    if arguments.keep && chosen.is_empty() {
        cluster.install()?;
    }
    for (at, scenario) in chosen.iter().enumerate() {
        println!("\n== {} == {}", scenario.name, scenario.about);
        let start = Instant::now();
        let begin = if scenario.bare { cluster.bare() } else { cluster.fresh() };
        let result = begin.and_then(|()| (scenario.play)(&mut cluster));
        let how = if result.is_ok() { "passed" } else { "FAILED" };
        table.push(line(scenario.name, start.elapsed(), how));
        if let Err(error) = result {
            println!("{}: {error:#}", scenario.name);
            cluster.show();
            let why = format!("{error:#}");
            if !arguments.keep && at + 1 < chosen.len() {
                cluster = cluster.renew(scenario.name).with_context(|| format!("after {}: {why}", scenario.name))?;
            }
            failed.push((scenario.name, why));
        }
    }
    print!("\n{}", cluster.notes());
    println!();
    for line in table {
        println!("{line}");
    }
    if arguments.keep {
        cluster.say_how_to_use();
    } else {
        cluster.down()?;
    }
    if !failed.is_empty() {
        // Once more at the end, as what came after may be all that a log still shows.
        for (name, why) in &failed {
            println!("{name}: {why}");
        }
        let names: Vec<_> = failed.iter().map(|(name, _)| *name).collect();
        bail!("failed: {}; again by itself: cargo xtask cluster {}", names.join(", "), names.join(" "));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(name: &str, time: Duration, how: &str) -> String {
    format!("{name:<14} {:>7.1} s  {how}", time.as_secs_f64())
}

fn choose(names: &[String], keep: bool) -> Result<Vec<&'static Scenario>> {
    if names.is_empty() {
        return Ok(if keep { Vec::new() } else { ALL.iter().collect() });
    }
    names
        .iter()
        .map(|name| {
            let Some(found) = ALL.iter().find(|scenario| scenario.name == name) else {
                let all: Vec<_> = ALL.iter().map(|scenario| scenario.name).collect();
                bail!("there is no scenario {name}; there are {}", all.join(", "));
            };
            Ok(found)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_chosen_by_name() {
        assert_eq!(choose(&[], false).unwrap().len(), ALL.len());
        assert!(choose(&[], true).unwrap().is_empty());
        let error = choose(&["instal".to_owned()], false).err().unwrap().to_string();
        assert!(error.starts_with("there is no scenario instal; there are install, "), "{error}");
    }
}
