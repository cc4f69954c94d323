//! The trial of a class: all of its attackers at once, beside a plugin that is well; then those whose mechanism can be off, with it off.

use super::asks::{Service, Told, pods};
use super::host::{TIMEOUT, attacked, held, quiet, recovered};
use super::seen::{Mechanism, Seen, watch_memory, would_win};
use super::unchecked;
use crate::reload::pid;
use anyhow::{Context, bail, ensure};
use devgate_tests::Host;
use devgate_tests::attackers::{Ask, Attacker, Off, of_class};
use rustix::process::{Signal, kill_process};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Tries only the attackers that this variable names.
const ONLY: &str = "DEVGATE_ATTACKER";

/// Seconds to wait for what an attacker shall show, for those who write one.
const WAIT: &str = "DEVGATE_ATTACKER_WAIT";

fn patience() -> Duration {
    let seconds = std::env::var(WAIT).ok().and_then(|seconds| seconds.parse().ok());
    seconds.map_or(TIMEOUT, Duration::from_secs)
}

/// Characters that act on a terminal or hide what is there.
const ACTS: [char; 6] = ['\u{1b}', '\u{7}', '\r', '\u{202e}', '\u{200b}', '\u{feff}'];

pub(super) async fn class(name: &str) -> anyhow::Result<()> {
    let mut attackers = of_class(name)?;
    if let Ok(only) = std::env::var(ONLY) {
        attackers.retain(|attacker| only.split(',').any(|wanted| wanted == attacker.name));
        if attackers.is_empty() {
            return Ok(());
        }
    }
    let begun = Instant::now();
    stopped(&attackers).await?;
    let stopped_in = begun.elapsed();
    won(&attackers).await?;
    println!(
        "{name}: {} attackers, {stopped_in:.1?} with their mechanisms on, {:.1?} with those off",
        attackers.len(),
        begun.elapsed() - stopped_in
    );
    Ok(())
}

/// Whether it is tried by itself, after all others: what it asks acts on the host as a whole.
fn is_alone(attacker: &Attacker) -> bool {
    attacker.header.asks.contains(&Ask::Change)
}

/// The trial with all mechanisms on: each attacker is stopped, the good plugin is served, and nothing is left behind.
async fn stopped(attackers: &[Attacker]) -> anyhow::Result<()> {
    let mut host = quiet(attackers).await?;
    let before = held(&host)?;
    let entries: String = attackers.iter().map(|attacker| attacker.entry(&[])).collect();
    let lines = attacked(&mut host, &entries, attackers).await?;
    let trial = Arc::new(Trial::new(host, Mechanism::On, lines)?);
    let service = tokio::spawn(Arc::clone(&trial).serve());
    let wrong = trial.all(attackers).await?;
    trial.service.is_over.store(true, Ordering::Relaxed);
    service.await?.context("the good plugin beside them")?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let (served, longest) = trial.service.served();
    println!("{served} pods of the good plugin were served, each within {longest:.1?}");
    for line in trial.host.lines() {
        ensure!(!line.level.is_empty(), "not one JSON object a line: {line:?}");
        ensure!(!line.message.contains(ACTS), "what acts on a terminal: {line:?}");
    }
    ensure!(trial.host.pid()? == trial.first, "the host is another one");
    recovered(&trial.host, before, trial.gave.load(Ordering::Relaxed)).await
}

/// The trial with those mechanisms off that can be: each attacker wins.
async fn won(attackers: &[Attacker]) -> anyhow::Result<()> {
    win_unchecked(attackers)?;
    let (mut entries, mut able) = (String::new(), Vec::new());
    for attacker in attackers {
        if let Off::Policy(keys) = &attacker.header.off {
            entries += &attacker.entry(keys);
            able.push(attacker.clone());
        }
    }
    if able.is_empty() {
        return Ok(());
    }
    let mut host = quiet(&able).await?;
    let lines = attacked(&mut host, &entries, &able).await?;
    let trial = Arc::new(Trial::new(host, Mechanism::Off, lines)?);
    let wrong = trial.all(&able).await?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    Ok(())
}

/// The trial of those that only a check stops: each wins where there is none.
fn win_unchecked(attackers: &[Attacker]) -> anyhow::Result<()> {
    let able = attackers.iter().filter(|attacker| attacker.header.off == Off::Unchecked);
    let mut wrong = Vec::new();
    for attacker in able {
        let seen = tokio::task::block_in_place(|| unchecked::seen(attacker))?;
        if !attacker.header.wins.iter().all(|win| would_win(win, &seen)) {
            let seen = seen.iter().take(20).map(|said| format!("\n    {said:.200}"));
            let seen: String = seen.collect();
            wrong.push(format!("{} does not win where nothing is checked: {seen}", attacker.name));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    Ok(())
}

/// A host under attack.
struct Trial {
    host: Host,
    first: u32,
    /// Lines of the log before.
    before: usize,
    mechanism: Mechanism,
    most: AtomicU64,
    /// How many attackers have given something to a pod.
    gave: AtomicUsize,
    service: Service,
}

impl Trial {
    fn new(host: Host, mechanism: Mechanism, before: usize) -> anyhow::Result<Self> {
        Ok(Self {
            first: host.pid()?,
            before,
            host,
            mechanism,
            most: AtomicU64::new(0),
            gave: AtomicUsize::new(0),
            service: Service::default(),
        })
    }

    async fn serve(self: Arc<Self>) -> anyhow::Result<()> {
        self.service.go_on(&self.host).await
    }

    /// Tries all of them, those that act on the host as a whole after the others; what is wrong, if anything.
    async fn all(self: &Arc<Self>, attackers: &[Attacker]) -> anyhow::Result<Vec<String>> {
        let (alone, others): (Vec<_>, Vec<_>) = attackers.iter().cloned().partition(is_alone);
        let memory = tokio::spawn(Arc::clone(self).watch());
        let mut running = JoinSet::new();
        for attacker in others {
            running.spawn(Arc::clone(self).one(attacker));
        }
        let mut outcomes = running.join_all().await;
        for attacker in alone {
            outcomes.push(Arc::clone(self).one(attacker).await);
        }
        memory.abort();
        let mut wrong = Vec::new();
        for (attacker, outcome) in outcomes {
            // Once more, now that all others have been tried: a win may come late.
            let outcome = outcome.and_then(|told| self.has_not_won(&attacker, &told));
            if let Err(error) = outcome {
                wrong.push(format!("{}/{}: {error:#}", attacker.class, attacker.name));
            }
        }
        wrong.sort();
        Ok(wrong)
    }

    async fn watch(self: Arc<Self>) -> anyhow::Result<()> {
        watch_memory(&self.host, &self.most).await
    }

    /// One of them, and what pods were told.
    async fn one(self: Arc<Self>, attacker: Attacker) -> (Attacker, anyhow::Result<Vec<Told>>) {
        let outcome = self.tried(&attacker).await;
        (attacker, outcome)
    }

    async fn tried(&self, attacker: &Attacker) -> anyhow::Result<Vec<Told>> {
        let mut told = Vec::new();
        let mut part = 0;
        for ask in &attacker.header.asks {
            told.extend(pods(&self.host, attacker, ask).await?);
            if *ask == Ask::Change {
                part += 1;
                self.becomes(attacker, part)?;
            }
        }
        if told.iter().any(|told| told.said.iter().any(|said| said == "answer")) {
            self.gave.fetch_add(1, Ordering::Relaxed);
        }
        let until = Instant::now() + patience();
        loop {
            let seen = self.seen(attacker, &told);
            let missing = self.missing(&seen)?;
            let Some(missing) = missing else { break };
            ensure!(Instant::now() < until, "{missing}; this is read: {}", seen.all());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if part > 0 {
            self.becomes(attacker, 0)?;
        }
        self.has_not_won(attacker, &told)?;
        Ok(told)
    }

    fn has_not_won(&self, attacker: &Attacker, told: &[Told]) -> anyhow::Result<()> {
        if self.mechanism == Mechanism::On
            && let Some(won) = self.seen(attacker, told).won(Mechanism::On)
        {
            bail!("it WON: {won}; this is read: {}", self.seen(attacker, told).all());
        }
        Ok(())
    }

    fn seen<'a>(&'a self, attacker: &'a Attacker, told: &'a [Told]) -> Seen<'a> {
        Seen { host: &self.host, attacker, told, before: self.before, most: &self.most }
    }

    /// What is not seen yet of what shall be seen.
    fn missing(&self, seen: &Seen<'_>) -> anyhow::Result<Option<String>> {
        if self.mechanism == Mechanism::Off {
            let won = seen.won(Mechanism::Off);
            return Ok(won.is_none().then(|| "it does not win with its mechanism off".to_owned()));
        }
        for text in &seen.attacker.header.reads {
            if !tokio::task::block_in_place(|| seen.reads(text))? {
                return Ok(Some(format!("it is not read: \"{text}\"")));
            }
        }
        Ok(None)
    }

    /// Its file becomes another one, which the host looks at now.
    fn becomes(&self, attacker: &Attacker, part: usize) -> anyhow::Result<()> {
        let file = self.host.dir().join(format!("{}.wasm", attacker.name));
        let new = file.with_extension("new");
        std::fs::write(&new, attacker.component(part)?)?;
        std::fs::rename(&new, &file)?;
        kill_process(pid(&self.host)?, Signal::HUP)?;
        Ok(())
    }
}
