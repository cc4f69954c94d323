//! Has the API server have what the host says, and keep it.
//!
//! One task does it, a request at a time: what it sends next follows from what is wanted and what is known to be there, so nothing is lost
//! where a request fails, others write, or the host says something new in the middle.

mod driver;
mod job;
mod step;
#[cfg(test)]
mod tests;

use crate::server::{Event, Failure, Pace, Server};
use crate::slices::Seen;
use devgate_agent_protocol::{Counters, Device, FromAgent};
pub(crate) use driver::Driver;
use job::Job;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::mpsc::{Receiver, Sender, error::TrySendError};
use tokio::time::{Instant, sleep_until};

/// What the host's connection tells the publisher.
#[derive(Debug)]
pub(crate) enum Input {
    /// A host is there, and hears of what becomes of its devices. The one before is heard no more.
    Host(u64, Sender<FromAgent>),
    /// It has these drivers and no others.
    Drivers(u64, BTreeSet<String>),
    /// All devices of a driver, and what they take from.
    Publish(u64, String, Vec<Device>, Counters),
    /// It is gone. What it said stands, and is not looked after.
    Left(u64),
}

/// The state of all that is published.
pub(crate) struct Publisher {
    server: Server,
    pace: Pace,
    node: String,
    /// The uid of the node, as long as nothing suggests that it is another.
    node_uid: Option<String>,
    /// Slices of this node that devgate wrote, where they are known.
    seen: BTreeMap<String, Seen>,
    /// Whether they are.
    is_listed: bool,
    /// What the host has now; before it has said so nothing is taken away.
    known: Option<BTreeSet<String>>,
    drivers: BTreeMap<String, Driver>,
    /// Taking away slices of drivers that there are no more.
    removal: Job,
    host: Option<(u64, Sender<FromAgent>)>,
    /// Fields that this API server does not keep.
    dropped: BTreeSet<&'static str>,
    version: Option<String>,
    /// Why the slices are not known.
    outage: Option<String>,
}

impl Publisher {
    pub(crate) fn new(server: Server, pace: Pace, node: String, outage: Option<&str>) -> Self {
        Self {
            server,
            pace,
            node,
            node_uid: None,
            seen: BTreeMap::new(),
            is_listed: false,
            known: None,
            drivers: BTreeMap::new(),
            removal: Job::default(),
            host: None,
            dropped: BTreeSet::new(),
            version: None,
            outage: outage.map(str::to_owned),
        }
    }

    /// Works until nothing more can be said to it.
    pub(crate) async fn run(mut self, mut inputs: Receiver<Input>, mut events: Receiver<Event>) {
        loop {
            let due = self.due();
            tokio::select! {
                biased;
                input = inputs.recv() => match input {
                    Some(input) => self.hear(input),
                    None => return,
                },
                event = events.recv() => match event {
                    Some(event) => self.observe(event).await,
                    None => return,
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.work().await,
            }
        }
    }

    /// When there is something to do, once it is known what is there. Without a host nothing is: another one may be there by now, with an
    /// agent of its own.
    fn due(&self) -> Option<Instant> {
        let jobs = self.drivers.values().map(|driver| &driver.job).chain([&self.removal]);
        jobs.filter_map(|job| job.due).min().filter(|_| self.is_listed && self.host.is_some())
    }

    fn hear(&mut self, input: Input) {
        let host = self.host.as_ref().map(|(id, _)| *id);
        match input {
            Input::Host(id, to) => self.host = Some((id, to)),
            Input::Left(id) if host == Some(id) => self.host = None,
            Input::Drivers(id, names) if host == Some(id) => {
                self.drivers.retain(|name, _| names.contains(name));
                self.known = Some(names);
                self.removal.soon();
            }
            Input::Publish(id, name, devices, counters) if host == Some(id) => {
                let driver = self.drivers.entry(name.clone()).or_default();
                driver.want(devices, counters, &name, &self.node);
                self.answer(&name);
            }
            // From a connection that has ended.
            Input::Left(_) | Input::Drivers(..) | Input::Publish(..) => {}
        }
    }

    /// Tells the host what has become of a driver's devices, if that is something new or it waits for it.
    fn answer(&mut self, name: &str) {
        let Some(driver) = self.drivers.get_mut(name) else { return };
        let outage = self.outage.as_deref().filter(|_| !self.is_listed);
        let Some((_, to)) = &self.host else { return };
        let Some(answer) = driver.answer(name, &self.dropped, outage) else { return };
        match to.try_send(answer) {
            Ok(()) => {}
            // The connection ends with its last sender, and the host comes anew with what it has.
            Err(TrySendError::Full(_)) => {
                tracing::warn!("host: does not read what it is told, and is disconnected");
                self.host = None;
            }
            Err(TrySendError::Closed(_)) => self.host = None,
        }
    }

    fn names(&self) -> Vec<String> {
        self.drivers.keys().cloned().collect()
    }

    async fn observe(&mut self, event: Event) {
        match event {
            Event::All(seen, version) => self.list(seen, &version),
            Event::Watching => {
                self.recover();
                self.look_at_version().await;
            }
            Event::Changed(seen) => self.change(seen),
            Event::Gone(seen) => self.gone(&seen),
            Event::Failed(failure) => self.fail(&failure),
        }
    }

    fn fail(&mut self, failure: &Failure) {
        let why = failure.to_string();
        if self.outage.as_ref() != Some(&why) {
            tracing::warn!(family = "server", "{why}");
            self.outage = Some(why);
            self.names().iter().for_each(|name| self.answer(name));
        }
    }

    fn list(&mut self, list: Vec<Seen>, version: &str) {
        let ours = list.into_iter().filter(|seen| self.is_ours(seen));
        let mut listed: BTreeMap<String, Seen> = ours.map(|seen| (seen.name.clone(), seen)).collect();
        // What was written since is not in the list, or is older there.
        for (name, seen) in std::mem::take(&mut self.seen) {
            if seen.is_newer(version) {
                listed.insert(name, seen);
            }
        }
        self.seen = listed;
        self.is_listed = true;
        // The node may be another of the same name by now.
        self.node_uid = None;
        self.removal.soon();
        for name in self.names() {
            self.disturbed(&name, "its slices are not as they were left");
        }
    }

    /// What waited for the server to answer need not wait longer.
    fn recover(&mut self) {
        if self.outage.take().is_some() {
            tracing::info!("API server: answers again");
            for driver in self.drivers.values_mut() {
                driver.retry();
            }
        }
    }

    /// A field that was dropped may be kept by another version.
    async fn look_at_version(&mut self) {
        self.pace.wait().await;
        match self.server.version().await {
            Ok(version) if self.version.as_ref() == Some(&version) => {}
            Ok(version) => {
                tracing::info!("API server: is of version {}", devgate_types::escape(&version, 64));
                self.version = Some(version);
                self.dropped.clear();
                self.write_all_of_it();
            }
            Err(failure) => tracing::debug!("{failure}"),
        }
    }

    /// What was not kept is sent again, and the host is told what is dropped still.
    fn write_all_of_it(&mut self) {
        for driver in self.drivers.values_mut() {
            driver.accepted.clear();
        }
        for name in self.names() {
            self.disturbed(&name, "the API server may keep more of it now");
            self.answer(&name);
        }
    }

    /// Whether devgate wrote it for this node: it says so, or is known to have.
    fn is_ours(&self, seen: &Seen) -> bool {
        let is_known = || self.seen.get(&seen.name).is_some_and(|known| known.uid == seen.uid);
        seen.node == self.node && (seen.is_labelled || is_known())
    }

    fn change(&mut self, seen: Seen) {
        let is_old = |known: &Seen| known.version == seen.version || known.is_newer(&seen.version);
        if !self.is_ours(&seen) || self.seen.get(&seen.name).is_some_and(is_old) {
            return;
        }
        let (name, driver) = (seen.name.clone(), seen.driver.clone());
        self.seen.insert(name.clone(), seen);
        self.disturbed(&driver, &format!("slice {name} was changed by others"));
    }

    fn gone(&mut self, seen: &Seen) {
        let is_that = |known: &Seen| known.uid == seen.uid && !known.is_newer(&seen.version);
        if !self.seen.get(&seen.name).is_some_and(is_that) {
            return;
        }
        self.seen.remove(&seen.name);
        // Slices go with their node, which may have been made anew.
        self.node_uid = None;
        self.disturbed(&seen.driver, &format!("slice {} was deleted by others", seen.name));
    }

    /// Repairs what others did, a while later.
    fn disturbed(&mut self, name: &str, what: &str) {
        if self.known.as_ref().is_some_and(|known| !known.contains(name)) {
            return self.removal.later();
        }
        let is_done = self.is_done(name);
        let Some(driver) = self.drivers.get_mut(name).filter(|driver| driver.is_settled() && !is_done) else { return };
        driver.disturb();
        tracing::warn!(
            driver = name,
            family = "slices",
            "driver {name}: {}; it is repaired",
            devgate_types::escape(what, 320)
        );
    }
}
