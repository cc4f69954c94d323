//! What is wanted of one driver, and how far it is.

use super::Job;
use crate::slices::{Digest, Wanted, check, cut, pressing};
use devgate_agent_protocol::{Counters, Device, FromAgent};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

/// Changes of a driver follow each other no faster, where they are pressing and where only attributes differ: etcd is no store of metrics.
const PRESSING: Duration = Duration::from_secs(1);
const CALM: Duration = Duration::from_secs(10);
/// Devices that the API server will not take are sent again after so long: an admin's admission policy refuses in the same words as the
/// API's own rules, and may be another by then.
const REFUSED: Duration = Duration::from_secs(600);

/// A driver's devices, and what has become of them.
#[derive(Debug, Default)]
pub(crate) struct Driver {
    pub(crate) wanted: Vec<Wanted>,
    pressing: Option<Digest>,
    left_out: Option<String>,
    /// The generation that was written last.
    pub(crate) generation: i64,
    /// By the slice's name: what was sent, and what the API server made of it.
    pub(crate) accepted: BTreeMap<String, (Digest, Digest)>,
    pub(crate) job: Job,
    /// The generation that the API server has all of.
    settled: Option<i64>,
    /// When that came about.
    since: Option<Instant>,
    error: Option<String>,
    /// Whether the API server will not take these devices.
    is_refused: bool,
    /// Whether the host waits for an answer.
    owes: bool,
    told: Option<FromAgent>,
}

impl Driver {
    /// Takes what the host wants.
    pub(crate) fn want(&mut self, devices: Vec<Device>, mut counters: Counters, name: &str, node: &str) {
        let (devices, line) = check(devices, &mut counters);
        if line != self.left_out
            && let Some(line) = &line
        {
            tracing::warn!(driver = name, family = "refused", "driver {name}: {line}");
        }
        self.left_out = line;
        self.owes = true;
        let pressing = pressing(&devices, &counters);
        let is_pressing = self.pressing.replace(pressing) != Some(pressing);
        let wanted = cut(&devices, &counters, name, node);
        let is_same = self.wanted == wanted;
        self.wanted = wanted;
        if is_same {
            return;
        }
        let is_sent = |name: &String, sent: Digest| self.wanted.iter().any(|of| of.name == *name && of.digest == sent);
        self.accepted.retain(|name, (sent, _)| is_sent(name, *sent));
        self.settled = None;
        let between = if is_pressing { PRESSING } else { CALM };
        let next = self.since.map_or_else(Instant::now, |since| since + between);
        match self.job.due.filter(|_| !self.is_refused) {
            // What waits for attributes alone need not be waited for.
            Some(due) if is_pressing && self.error.is_none() => self.job.at(due.min(next)),
            // What is under way goes on, and what has failed is tried when it would have been.
            Some(_) => {}
            None => {
                (self.error, self.is_refused) = (None, false);
                self.job.at(next);
            }
        }
    }

    /// The API server answers again.
    pub(crate) fn retry(&mut self) {
        if self.error.is_some() && !self.is_refused {
            self.job.soon();
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.settled.is_some()
    }

    /// All of a generation is there.
    pub(crate) fn settle(&mut self, generation: i64, name: &str) {
        if self.settled != Some(generation) || self.error.is_some() {
            let slices = self.wanted.len();
            tracing::info!(driver = name, slices, generation, "driver {name}: published");
            self.since = Some(Instant::now());
        }
        // A server that was away is none that others write to against this one.
        if self.error.is_some() {
            self.job.forget();
        }
        (self.settled, self.error, self.is_refused) = (Some(generation), None, false);
        self.generation = generation;
        self.job.done();
    }

    /// Others did something.
    pub(crate) fn disturb(&mut self) {
        self.settled = None;
        self.job.later();
    }

    /// It is tried again: soon, or much later where the devices are still the same.
    pub(crate) fn fail(&mut self, why: String, is_refused: bool, name: &str) {
        if self.error.as_ref() != Some(&why) {
            tracing::warn!(driver = name, family = "slices", "driver {name}: {why}");
        }
        (self.settled, self.error, self.is_refused) = (None, Some(why), is_refused);
        if is_refused {
            self.job.at(Instant::now() + REFUSED);
        } else {
            self.job.later();
        }
    }

    /// What the host is to be told, which it knows then; nothing where it knows it, or it is under way.
    pub(crate) fn answer(
        &mut self,
        name: &str,
        dropped: &BTreeSet<&'static str>,
        outage: Option<&str>,
    ) -> Option<FromAgent> {
        let failed = self.error.as_deref().or(outage.filter(|_| self.settled.is_none()));
        if self.settled.is_none() && failed.is_none() {
            return None;
        }
        let answer = FromAgent::Published {
            driver: name.to_owned(),
            generation: self.settled,
            dropped: dropped.iter().map(|field| (*field).to_owned()).collect(),
            error: failed.or(self.left_out.as_deref()).map(str::to_owned),
        };
        if !self.owes && self.told.as_ref() == Some(&answer) {
            return None;
        }
        (self.owes, self.told) = (false, Some(answer.clone()));
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_waits_long_unless_the_devices_are_others() {
        let mut driver = Driver::default();
        let device = Device { name: "a".to_owned(), ..Device::default() };
        driver.want(vec![device], Counters::new(), "gpu.example.com", "node-1");
        driver.fail("422".to_owned(), true, "gpu.example.com");
        let waits = |driver: &Driver| driver.job.due.unwrap() - Instant::now();
        assert!(waits(&driver) > REFUSED / 2);
        driver.retry();
        assert!(waits(&driver) > REFUSED / 2);
        driver.want(Vec::new(), Counters::new(), "gpu.example.com", "node-1");
        assert!(waits(&driver) < PRESSING * 2);
        driver.fail("500".to_owned(), false, "gpu.example.com");
        driver.retry();
        assert!(waits(&driver) < Duration::from_millis(500));
    }
}
