//! One request to the API server, and what its answer means.

use super::{Driver, Publisher};
use crate::server::{ANSWER, Failure, Kind};
use crate::slices::{Next, Pool, Seen, body, kept, missing};
use devgate_agent_protocol::COUNTERS;
use k8s_openapi::api::resource::v1::ResourceSlice;
use tokio::time::Instant;

impl Publisher {
    /// Does what is due the longest.
    pub(super) async fn work(&mut self) {
        let driver = self.drivers.iter().filter_map(|(name, driver)| Some((driver.job.due?, name))).min();
        let driver = driver.filter(|(due, _)| self.removal.due.is_none_or(|removal| *due <= removal));
        match driver.map(|(_, name)| name.clone()) {
            Some(name) => self.publish(&name).await,
            None => self.remove().await,
        }
    }

    /// Whether all of a driver's devices is there.
    pub(super) fn is_done(&self, name: &str) -> bool {
        let Some(driver) = self.drivers.get(name) else { return true };
        // Where the node may be another, the last one's word is taken until it is asked for.
        let owner = self.node_uid.as_deref();
        matches!(self.pool(name, driver, owner).next(), Next::Done(_))
    }

    fn pool<'a>(&'a self, name: &str, driver: &'a Driver, owner: Option<&'a str>) -> Pool<'a> {
        let seen = self.seen.values().filter(|seen| seen.driver == name).collect();
        Pool {
            wanted: &driver.wanted,
            seen,
            name: &self.node,
            owner,
            generation: driver.generation,
            accepted: &driver.accepted,
        }
    }

    async fn publish(&mut self, name: &str) {
        let Some(driver) = self.drivers.get(name) else { return };
        let next = self.pool(name, driver, self.node_uid.as_deref()).next();
        if let (Next::Done(generation), Some(_)) = (next, &self.node_uid) {
            if let Some(driver) = self.drivers.get_mut(name) {
                driver.settle(generation, name);
            }
            return self.answer(name);
        }
        if let Err(until) = self.pace.turn() {
            return self.go_on(name, until);
        }
        let Some(uid) = self.node_uid.clone() else {
            return match self.server.node(&self.node, ANSWER).await {
                Ok(node) if node.metadata.uid.is_some() => self.node_uid = node.metadata.uid,
                Ok(_) => self.failed(name, &Failure::nonsense("read node", "it has no uid")),
                Err(failure) => self.failed(name, &failure),
            };
        };
        match next {
            Next::Done(_) => {}
            Next::Delete(slice) => {
                let slice = slice.to_owned();
                match self.delete(&slice).await {
                    Ok(()) => self.go_on(name, Instant::now()),
                    Err(failure) => self.failed_with(name, &slice, &failure).await,
                }
            }
            Next::Write(wanted, generation) => {
                let there = self.seen.get(&wanted.name);
                let slice = body(wanted, there, (&self.node, &uid), generation);
                let (slice_name, digest) = (wanted.name.clone(), wanted.digest);
                let answer = match there {
                    Some(_) => self.server.replace(&slice).await,
                    None => self.server.create(&slice).await,
                };
                match answer {
                    Ok(came) => {
                        let dropped = missing(&slice.spec, &came.spec);
                        self.written(name, digest, Seen::of(came), &dropped, generation);
                        self.keeps(&kept(&slice.spec, &dropped));
                        if dropped.contains(&COUNTERS) {
                            self.wait_for_others(name);
                        }
                    }
                    Err(failure) => self.failed_with(name, &slice_name, &failure).await,
                }
            }
        }
    }

    /// Without counters a whole stands beside its parts: the rest is not written, so that no scheduler takes the pool for whole, until
    /// the host has said what it publishes instead.
    fn wait_for_others(&mut self, name: &str) {
        if let Some(driver) = self.drivers.get_mut(name) {
            let why = "API server: keeps no counters of wholes and parts; others are published";
            driver.fail(why.to_owned(), true, name);
        }
        self.answer(name);
    }

    fn go_on(&mut self, name: &str, at: Instant) {
        if let Some(driver) = self.drivers.get_mut(name) {
            driver.job.at(at);
        }
    }

    /// The API server has a slice now, perhaps without some of it.
    fn written(
        &mut self,
        name: &str,
        sent: crate::slices::Digest,
        seen: Seen,
        dropped: &[&'static str],
        generation: i64,
    ) {
        if let Some(driver) = self.drivers.get_mut(name) {
            driver.generation = driver.generation.max(generation);
            if seen.digest == sent {
                driver.accepted.remove(&seen.name);
            } else {
                driver.accepted.insert(seen.name.clone(), (sent, seen.digest));
            }
            driver.job.soon();
        }
        for field in dropped {
            if self.dropped.insert(field) {
                tracing::warn!(driver = name, family = "slices", "API server: does not keep {field} of devices");
            }
        }
        self.seen.insert(seen.name.clone(), seen);
    }

    /// The API server keeps these fields: others than before may be switched on by now, in the same version.
    fn keeps(&mut self, fields: &[&'static str]) {
        let mut keeps_more = false;
        for field in fields {
            if self.dropped.remove(field) {
                tracing::info!("API server: keeps {field} of devices now");
                keeps_more = true;
            }
        }
        if keeps_more {
            self.write_all_of_it();
        }
    }

    /// Deletes a slice; one that is not there is deleted.
    async fn delete(&mut self, slice: &str) -> Result<(), Failure> {
        let Some(seen) = self.seen.get(slice) else { return Ok(()) };
        match self.server.delete(slice, &seen.uid, &seen.version).await {
            Ok(()) => {}
            Err(failure) if failure.kind == Kind::Missing => {}
            Err(failure) => return Err(failure),
        }
        self.seen.remove(slice);
        Ok(())
    }

    /// A request about one slice failed: it may be another by now.
    async fn failed_with(&mut self, name: &str, slice: &str, failure: &Failure) {
        let known = match failure.kind {
            Kind::Conflict => self.look_again(slice).await,
            // Of one that is to be made, it is the whole API that is not there.
            Kind::Missing => self.seen.remove(slice).map(drop).ok_or_else(|| failure.clone()),
            _ => Err(failure.clone()),
        };
        match (known, self.drivers.get_mut(name)) {
            (Ok(()), Some(driver)) => {
                tracing::info!(driver = name, "driver {name}: {failure}; it was another than was known");
                driver.job.later();
            }
            (Err(failure), _) => self.failed(name, &failure),
            (Ok(()), None) => {}
        }
    }

    /// Takes over what is there, where it is devgate's.
    async fn look_again(&mut self, slice: &str) -> Result<(), Failure> {
        self.pace.wait().await;
        let there: ResourceSlice = match self.server.slice(slice).await {
            Ok(there) => there,
            Err(failure) if failure.kind == Kind::Missing => {
                self.seen.remove(slice);
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        let seen = Seen::of(there);
        if !self.is_ours(&seen) {
            self.seen.remove(slice);
            return Err(Failure::nonsense(
                "create slice",
                format_args!("{slice} is there and not devgate's; delete it"),
            ));
        }
        self.seen.insert(seen.name.clone(), seen);
        Ok(())
    }

    fn failed(&mut self, name: &str, failure: &Failure) {
        if let Some(after) = failure.after {
            self.pace.pause(after);
        }
        if let Some(driver) = self.drivers.get_mut(name) {
            driver.fail(failure.to_string(), failure.kind == Kind::Invalid, name);
        }
        self.answer(name);
    }

    /// Takes away one slice of a driver that there is no more.
    async fn remove(&mut self) {
        let Some(known) = &self.known else { return self.removal.done() };
        let Some(slice) = self.seen.values().find(|seen| !known.contains(&seen.driver)) else {
            return self.removal.done();
        };
        let (slice, driver) = (slice.name.clone(), slice.driver.clone());
        if let Err(until) = self.pace.turn() {
            return self.removal.at(until);
        }
        match self.delete(&slice).await {
            Ok(()) => {
                tracing::info!(driver, "driver {driver}: is not there any more; its slice {slice} is deleted");
                self.removal.soon();
            }
            Err(failure) => {
                if let Some(after) = failure.after {
                    self.pace.pause(after);
                }
                tracing::warn!(driver, family = "slices", "driver {driver}: {failure}");
                if failure.kind == Kind::Conflict && self.look_again(&slice).await.is_err() {
                    tracing::debug!("slice {slice}: cannot be read");
                }
                self.removal.later();
            }
        }
    }
}
