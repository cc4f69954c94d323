//! What schedulers are told of a driver's devices, and how often: each change of health is a write to the cluster's store.

mod conditions;

use crate::agent::Published;
use crate::counters::{Counted, count};
use crate::driver::Driver;
use crate::inventory::{Inventory, Listed};
use crate::status::Phase;
use conditions::Conditions;
use devgate_agent_protocol::{COUNTERS, Device, Effect, TAINTS, Taint, Value};
use devgate_core::offer::{self, Facts};
use devgate_kubelet::flaps::Flaps;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What keeps new pods away, or ends those that have it where the policy says so.
const UNHEALTHY: &str = "devgate.dev/unhealthy";
/// Another has it, whom schedulers do not know.
const HELD: &str = "devgate.dev/held";

/// The most taints of a device, as Kubernetes 1.34 has it.
const MAX_TAINTS: usize = 4;
/// The least time between two lists whose devices or taints differ. One that flaps costs two in a minute in the end ([`Flaps`]).
const TAINTS_EVERY: Duration = Duration::from_secs(1);
/// The least time before a list of which only attributes differ.
const ATTRIBUTES_EVERY: Duration = Duration::from_secs(10);
/// How long after the API server did not keep something it is tried again whether it does.
const DROPPED_AGAIN: Duration = Duration::from_secs(3_600);

/// Has the agent publish what a driver has, for as long as it is polled. Begins when the kubelet knows the driver: a pod that is
/// scheduled before does not start.
pub(crate) async fn run(driver: &Driver) {
    let mut unoffered = Some(Instant::now());
    if !driver.is_published {
        return std::future::pending().await;
    }
    let mut registered = driver.registered.subscribe();
    if registered.wait_for(|registered| registered.phase == Phase::Registered).await.is_err() {
        return std::future::pending().await;
    }
    let (mut inventory, mut said) = (driver.inventory.subscribe(), driver.agent.subscribe());
    let mut lists = Lists::new();
    loop {
        let now = Arc::clone(&inventory.borrow_and_update());
        said.mark_unchanged();
        // What the API server does not keep, and until when that is believed.
        let dropped_until = || {
            let at = driver.agent.said(&driver.name).dropped_at.into_iter();
            at.map(|(field, at)| (field, Instant::from_std(at) + DROPPED_AGAIN)).collect::<BTreeMap<_, _>>()
        };
        let mut dropped = dropped_until();
        dropped.retain(|_, until| *until > Instant::now());
        unoffered = if now.is_offered { None } else { unoffered.or_else(|| Some(Instant::now())) };
        let stands = unoffered.map(|since| since + driver.config.unoffered).filter(|until| *until > Instant::now());
        let next = match stands {
            // What was published before.
            Some(_) => Next { published: None, again: stands },
            None => lists.next(&now, &|field| !dropped.contains_key(field), Instant::now()),
        };
        if let Some(published) = next.published {
            driver.agent.publish(&driver.name, published);
        }
        let again = async {
            match next.again.into_iter().chain(dropped.values().copied()).min() {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        // Whatever else it says, and however often, is no reason to look at all devices.
        let other_word = async { while said.changed().await.is_ok() && dropped_until().keys().eq(dropped.keys()) {} };
        tokio::select! {
            _ = inventory.changed() => {}
            () = other_word => {}
            () = again => {}
        }
    }
}

/// What was published last, and what came and went.
struct Lists {
    unhealthy: Coming,
    held: Coming,
    conditions: Conditions,
    sent: Option<(Arc<Published>, Instant)>,
}

/// Something that keeps pods from devices, comes at once, and goes ever later from those from which it comes again and again.
struct Coming {
    /// Of a device, or of one that is not there.
    is: fn(Option<&Listed>) -> bool,
    flaps: Flaps,
    /// Names of those that were shown without it.
    without: Vec<String>,
}

impl Coming {
    fn new(is: fn(Option<&Listed>) -> bool) -> Self {
        Self { is, flaps: Flaps::new(TAINTS_EVERY), without: Vec::new() }
    }

    /// Notes what devices have by now.
    fn note(&mut self, now: &Inventory, at: Instant) {
        let is_without = |name: &str| !(self.is)(now.device(name));
        self.flaps.note(is_without, self.without.iter().map(String::as_str), at);
        let without = now.devices.iter().filter(|device| !self.is_shown(device, at));
        self.without = without.map(|device| device.name.clone()).collect();
    }

    fn is_shown(&self, device: &Listed, at: Instant) -> bool {
        (self.is)(Some(device)) || self.until(device, at).is_some()
    }

    /// Until when it is shown although it is gone.
    fn until(&self, device: &Listed, at: Instant) -> Option<Instant> {
        self.flaps.hidden(&device.name, at).map(|(_, until)| until)
    }
}

/// What to publish.
struct Next {
    /// Nothing where it is published already, or not yet.
    published: Option<Arc<Published>>,
    /// When to look again although nothing changes.
    again: Option<Instant>,
}

impl Lists {
    fn new() -> Self {
        let is_unhealthy = |device: Option<&Listed>| device.is_none_or(|device| device.unhealthy.is_some());
        let held = |device: Option<&Listed>| {
            let facts = device.and_then(|device| device.facts.as_ref());
            facts.is_some_and(|facts| facts.held.is_some())
        };
        Self {
            unhealthy: Coming::new(is_unhealthy),
            held: Coming::new(held),
            conditions: Conditions::new(),
            sent: None,
        }
    }

    fn next(&mut self, now: &Inventory, is_kept: &dyn Fn(&str) -> bool, at: Instant) -> Next {
        self.unhealthy.note(now, at);
        self.held.note(now, at);
        self.conditions.note(now, at);
        let until = |device| self.unhealthy.until(device, at).into_iter().chain(self.held.until(device, at));
        let flapping = now.devices.iter().flat_map(until).chain(self.conditions.until(at)).min();
        // What a scheduler must know of it and the component does not say keeps it back: claims may have it already.
        let known = now.devices.iter().filter_map(|device| Some((device, device.facts.as_deref()?)));
        let (counters, counted) = count(known, is_kept(COUNTERS));
        let shares = Some(now.driver.shares).filter(|shares| *shares > 1);
        let devices = counted.into_iter().map(|Counted { device, facts, takes }| {
            let (unhealthy, held) = (self.unhealthy.is_shown(device, at), self.held.is_shown(device, at));
            let mut taints = taints(facts, unhealthy, held, now.driver.evicts);
            taints.extend(self.conditions.taints(&device.name, &now.driver.name));
            taints.truncate(MAX_TAINTS);
            Device {
                name: device.name.clone(),
                attributes: facts.attributes.iter().map(|(name, is)| (name.clone(), value(is))).collect(),
                capacity: facts.capacity.clone(),
                taints,
                shares,
                takes,
            }
        });
        let devices = devices.filter(|device| is_kept(TAINTS) || device.taints.is_empty()).collect();
        let now = Published { devices, counters };
        let due = match &self.sent {
            None => at,
            Some((sent, _)) if **sent == now => return Next { published: None, again: flapping },
            Some((sent, when)) if is_as_available(&sent.devices, &now.devices) => *when + ATTRIBUTES_EVERY,
            Some((_, when)) => *when + TAINTS_EVERY,
        };
        if due > at {
            let again = flapping.map_or(due, |until| until.min(due));
            return Next { published: None, again: Some(again) };
        }
        let now = Arc::new(now);
        self.sent = Some((Arc::clone(&now), at));
        Next { published: Some(now), again: flapping }
    }
}

/// Whether two lists differ only in what is known of devices, not in whether they can be had.
fn is_as_available(one: &[Device], other: &[Device]) -> bool {
    let same = |(one, other): (&Device, &Device)| {
        (&one.name, &one.taints, &one.takes) == (&other.name, &other.taints, &other.takes)
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn taints(facts: &Facts, is_unhealthy: bool, is_held: bool, evicts: bool) -> Vec<Taint> {
    let taint = |key: &str, effect| Taint { key: key.to_owned(), effect };
    // A component that cannot be asked, or a disk that is full, ends no pod.
    let unhealthy = if evicts && facts.is_faulty { Effect::NoExecute } else { Effect::NoSchedule };
    let taints = [is_unhealthy.then(|| taint(UNHEALTHY, unhealthy)), is_held.then(|| taint(HELD, Effect::NoSchedule))];
    taints.into_iter().flatten().collect()
}

fn value(of: &offer::Value) -> Value {
    match of {
        offer::Value::Int(number) => Value::Int(*number),
        offer::Value::Bool(is) => Value::Bool(*is),
        offer::Value::Text(text) => Value::String(text.clone()),
        offer::Value::Version(version) => Value::Version(version.clone()),
    }
}

#[cfg(test)]
mod tests;
