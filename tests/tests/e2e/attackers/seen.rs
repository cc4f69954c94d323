//! What an admin, a pod or the kernel sees of an attacker.

use super::asks::Told;
use super::host::{GOOD, ask};
use devgate_tests::attackers::{Attacker, Win};
use devgate_tests::process::children;
use devgate_tests::{Host, Line};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A busy machine's own delay is not the attacker's.
const SLACK: f64 = 10.0;

/// Whether an attacker is stopped, or its mechanism is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mechanism {
    On,
    Off,
}

/// The log's lines that are about an attacker.
pub(super) fn own_lines(host: &Host, attacker: &Attacker, before: usize) -> Vec<Line> {
    let lines = host.lines().into_iter().skip(before);
    lines.filter(|line| line.plugin == attacker.name || line.message.contains(&attacker.name)).collect()
}

/// Whether it would have won where nothing is checked, by what was seen there.
pub(super) fn would_win(win: &Win, seen: &[String]) -> bool {
    let has = |wanted: &str| seen.iter().any(|said| said == wanted);
    match win {
        Win::Says(text) => seen.iter().any(|said| said.contains(text)),
        Win::Reaches(n) => reached(seen).is_some_and(|reached| reached >= *n),
        Win::Offers(id) => has(&format!("offers {id}")),
        Win::Registers(name) => has(&format!("registers {name}")),
        Win::Gives(what) => has(what),
        Win::Logs(bytes) => seen.iter().map(String::len).sum::<usize>() >= *bytes,
        Win::Takes(_) | Win::Has(_) | Win::Writes(_) => false,
    }
}

/// How far it came, in its own words.
fn reached(texts: &[String]) -> Option<u64> {
    let reached = texts.iter().filter_map(|said| said.strip_prefix("reached ")?.parse().ok());
    reached.max()
}

/// All that there is to read.
pub(super) struct Seen<'a> {
    pub(super) host: &'a Host,
    pub(super) attacker: &'a Attacker,
    pub(super) told: &'a [Told],
    /// Lines of the log before this trial.
    pub(super) before: usize,
    /// The most memory that a process of components has had, in KiB.
    pub(super) most: &'a AtomicU64,
}

impl Seen<'_> {
    fn texts(&self) -> Vec<String> {
        let lines = own_lines(self.host, self.attacker, self.before);
        let mut texts: Vec<_> = lines.into_iter().map(|line| line.message).collect();
        texts.extend(self.told.iter().flat_map(|told| told.said.clone()));
        texts
    }

    /// Whether this is read in the log, by a pod or, asked for last, in the status.
    pub(super) fn reads(&self, text: &str) -> anyhow::Result<bool> {
        if self.texts().iter().any(|said| said.contains(text)) {
            return Ok(true);
        }
        Ok(self.status()?.contains(text))
    }

    /// What the status says of it: its own part, and other lines with its name.
    fn status(&self) -> anyhow::Result<String> {
        let (mut own, mut is_own) = (String::new(), false);
        for line in ask(self.host, &["status"])?.lines() {
            if !line.starts_with(' ') {
                is_own = line.split(' ').next() == Some(&self.attacker.name);
            }
            if is_own || line.contains(&self.attacker.name) {
                own += line;
                own += "\n";
            }
        }
        Ok(own)
    }

    /// Everything that is read of it, for a message.
    pub(super) fn all(&self) -> String {
        let mut texts = self.texts();
        texts.dedup();
        let skipped = texts.len().saturating_sub(20);
        texts.drain(..skipped);
        let status = self.status().unwrap_or_default();
        format!("\n    {}\nstatus:\n{status}", texts.join("\n    "))
    }

    /// Which of its wins, if any, has come true.
    pub(super) fn won(&self, mechanism: Mechanism) -> Option<String> {
        let texts = self.texts();
        if mechanism == Mechanism::On && texts.iter().any(|said| said.contains("has won")) {
            return Some("it says that it has won".to_owned());
        }
        let won = self.attacker.header.wins.iter().find(|win| self.is_true(win, &texts, mechanism));
        won.map(|win| format!("{win:?}"))
    }

    fn is_true(&self, win: &Win, texts: &[String], mechanism: Mechanism) -> bool {
        let kubelet = &self.host.kubelet;
        let slack = if mechanism == Mechanism::On { SLACK } else { 0.0 };
        match win {
            Win::Says(text) => texts.iter().any(|said| said.contains(text)),
            Win::Reaches(n) => reached(texts).is_some_and(|reached| reached >= *n),
            Win::Takes(seconds) => {
                let longest = self.told.iter().map(|told| told.took).max().unwrap_or_default();
                longest.as_secs_f64() >= seconds + slack
            }
            Win::Has(mib) => self.most.load(Ordering::Relaxed) >= mib << 10,
            Win::Offers(id) => [self.attacker.resource(), GOOD.resource()]
                .iter()
                .any(|resource| kubelet.devices(resource).contains_key(id)),
            Win::Registers(name) => kubelet.capacity(name).is_some(),
            Win::Gives(what) => self.told.iter().any(|told| told.said.iter().any(|said| said == what)),
            Win::Logs(bytes) => {
                let lines = own_lines(self.host, self.attacker, self.before);
                lines.iter().map(|line| line.message.len()).sum::<usize>() >= *bytes
            }
            Win::Writes(file) => std::path::Path::new(file).exists(),
        }
    }
}

/// Looks, again and again, how much memory a host's runners have.
pub(super) async fn watch_memory(host: &Host, most: &AtomicU64) -> anyhow::Result<()> {
    loop {
        for child in children(host.pid()?).unwrap_or_default() {
            let status = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
            let resident = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB"));
            let called = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
            if called.starts_with("devgate-runner") {
                most.fetch_max(resident.and_then(|kib| kib.parse().ok()).unwrap_or(0), Ordering::Relaxed);
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
