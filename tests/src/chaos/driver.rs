//! Takes the steps of a plan, looks after each calm, and says how it went.

use super::calm::{self, Baseline, Seen};
use super::plan::Plan;
use super::step::Act;
use super::world::World;
use devgate_fake_kubelet::KubeletVersion;
use std::fmt::{self, Write};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// The most that a host's own memory may grow between its first calm and its last, in MiB.
const GROWTH: f64 = 32.0;
/// The most bytes of log for each step and each kubelet that started, and whatever happens.
const LOG_PER_EVENT: u64 = 8 * 1024;
const LOG_AT_LEAST: u64 = 64 * 1024;
/// How many of the last events are shown when a rule is broken.
const SHOWN: usize = 40;

/// Hears of each step: its number, and what it is.
pub type Told = Box<dyn FnMut(usize, &str) + Send>;

/// How a plan is run.
pub struct Options {
    /// Which kubelet is played.
    pub version: KubeletVersion,
    /// Only these steps of the plan are taken, the first is 1. The calm at the end always is.
    pub steps: RangeInclusive<usize>,
    /// After this time no step is taken but those up to the next calm.
    pub time: Duration,
    /// Gets each step as it is taken, with its number.
    pub told: Told,
    /// Gets a line for each calm.
    pub progress: Box<dyn FnMut(&str) + Send>,
}

/// How a run went.
#[derive(Debug, Clone, Default)]
pub struct Report {
    steps: u64,
    calms: u64,
    kubelets: u64,
    hosts: u64,
    admitted: u64,
    rejected: u64,
    slowest: Duration,
    log: u64,
    /// Of the host that lived longest: its age, and its own memory in MiB in its first calm and its last.
    oldest: (Duration, f64, f64),
    blind: bool,
}

/// A rule is broken. The text says which, where, and what the host and the kubelet said last.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Broken(String);

/// Runs a plan.
///
/// # Errors
/// When a rule is broken, or something could not be started.
pub async fn run(plan: Plan, mut options: Options) -> Result<Report, Broken> {
    let started = World::new(options.version).await;
    let mut world = started.map_err(|error| Broken(format!("not begun: {error:#}")))?;
    let mut run = Run {
        baseline: None,
        report: Report { blind: world.can_be_blind, ..Report::default() },
        first: Seen::default(),
        begun: Instant::now(),
    };
    run.calm(&mut world, &mut options, 0).await?;
    for (n, step) in (1..).zip(plan) {
        if n > *options.steps.end() {
            break;
        }
        if n < *options.steps.start() {
            continue;
        }
        (options.told)(n, &step.to_string());
        tokio::time::sleep(step.pause).await;
        run.report.steps += 1;
        if step.act == Act::Calm {
            run.calm(&mut world, &mut options, n).await?;
            if run.begun.elapsed() > options.time {
                break;
            }
            continue;
        }
        let mut broken = world.deaths();
        match world.act(&step.act).await {
            Ok(more) => broken.extend(more),
            Err(error) => broken.push(format!("{error:#}")),
        }
        if !broken.is_empty() {
            return Err(told(&world, n, &step.act.to_string(), &broken));
        }
    }
    run.calm(&mut world, &mut options, usize::MAX).await?;
    let baseline = run.baseline.unwrap_or_default();
    let ended = calm::end(&mut world, &baseline).await.unwrap_or_else(|error| vec![format!("{error:#}")]);
    if !ended.is_empty() {
        return Err(told(&world, usize::MAX, "the end", &ended));
    }
    Ok(run.report)
}

struct Run {
    baseline: Option<Baseline>,
    report: Report,
    /// What was seen of the host that runs in its first calm.
    first: Seen,
    begun: Instant,
}

impl Run {
    async fn calm(&mut self, world: &mut World, options: &mut Options, n: usize) -> Result<(), Broken> {
        let mut broken = world.deaths();
        let (seen, more) = match calm::calm(world, &mut self.baseline).await {
            Ok(calm) => calm,
            Err(error) => (Seen::default(), vec![format!("{error:#}")]),
        };
        broken.extend(more);
        broken.extend(world.deaths());
        let report = &mut self.report;
        report.calms += 1;
        (report.kubelets, report.hosts) = (world.kubelets, world.hosts);
        (report.admitted, report.rejected) = (world.pods.admitted, world.pods.rejected);
        report.slowest = report.slowest.max(seen.took);
        report.log = world.log.bytes();
        if self.first.pid != seen.pid {
            self.first = seen.clone();
        }
        if seen.age > report.oldest.0 {
            report.oldest = (seen.age, self.first.resident, seen.resident);
        }
        if seen.resident > self.first.resident + GROWTH {
            broken.push(format!(
                "host {}: its memory grew from {:.1} MiB to {:.1} MiB",
                seen.pid, self.first.resident, seen.resident
            ));
        }
        let allowed = LOG_AT_LEAST + LOG_PER_EVENT * (report.steps + report.kubelets + report.hosts);
        if report.log > allowed {
            broken.push(format!("the log has {} bytes, more than {allowed}", report.log));
        }
        if !broken.is_empty() {
            return Err(told(world, n, "calm", &broken));
        }
        (options.progress)(&format!(
            "{:>7.1} s  step {:>5}  calm after {:>6.0} ms  kubelets {:>5}  hosts {:>4}  pods {:>4}  own memory {:>5.1} MiB  \
             descriptors {:>3}  threads {:>3}  log {:>6} KiB",
            self.begun.elapsed().as_secs_f64(),
            report.steps,
            seen.took.as_secs_f64() * 1e3,
            report.kubelets,
            report.hosts,
            report.admitted,
            seen.resident,
            seen.descriptors,
            seen.threads,
            report.log / 1024,
        ));
        Ok(())
    }
}

fn told(world: &World, n: usize, what: &str, broken: &[String]) -> Broken {
    let place = match n {
        usize::MAX => "at the end".to_owned(),
        n => format!("at step {n}"),
    };
    let mut text = format!("{place}, {what}:\n");
    for rule in broken {
        let _ = writeln!(text, "  {rule}");
    }
    let events = world.kubelet.events();
    text.push_str("the kubelet's last events:\n");
    let last = events.iter().skip(events.len().saturating_sub(SHOWN));
    let end = Instant::now();
    for moment in last {
        let before = end.duration_since(moment.at).as_secs_f64();
        let _ = writeln!(text, "  {before:>8.3} s before: {:?}", moment.event);
    }
    text.push_str("the hosts' last lines:\n");
    for line in world.log.last() {
        let _ = writeln!(text, "  {line}");
    }
    Broken(text)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (age, first, last) = self.oldest;
        writeln!(f, "steps taken              {}", self.steps)?;
        writeln!(f, "calms, slowest           {}, {:.1} s", self.calms, self.slowest.as_secs_f64())?;
        writeln!(f, "kubelets, hosts started  {}, {}", self.kubelets, self.hosts)?;
        writeln!(f, "pods admitted, rejected  {}, {}", self.admitted, self.rejected)?;
        writeln!(f, "log                      {} KiB", self.log / 1024)?;
        write!(
            f,
            "oldest host              {:.0} s, own memory {first:.1} MiB at first, {last:.1} MiB at last",
            age.as_secs_f64()
        )?;
        if !self.blind {
            write!(f, "\nno user namespace can be made here: inotify was never denied to the host")?;
        }
        Ok(())
    }
}
