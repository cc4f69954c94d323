//! What schedulers are told of a driver's devices, and how often: each change of health is a write to the cluster's store.

use crate::driver::Driver;
use crate::inventory::{Inventory, Listed};
use crate::status::Phase;
use devgate_agent_protocol::{Device, Effect, Taint, Value};
use devgate_core::offer;
use devgate_kubelet::flaps::Flaps;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What keeps new pods away, or ends those that have it where the policy says so.
const UNHEALTHY: &str = "devgate.dev/unhealthy";
/// Another has it, whom schedulers do not know.
const HELD: &str = "devgate.dev/held";

/// The least time between two lists whose devices or taints differ. One that flaps costs two in a minute in the end ([`Flaps`]).
const TAINTS_EVERY: Duration = Duration::from_secs(1);
/// The least time before a list of which only attributes differ.
const ATTRIBUTES_EVERY: Duration = Duration::from_secs(10);
/// How long after the API server did not keep taints it is tried again whether it does.
const TAINTS_AGAIN: Duration = Duration::from_secs(3_600);

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
        // Where they are not, until when.
        let taints_dropped =
            || driver.agent.said(&driver.name).taints_dropped.map(|at| Instant::from_std(at) + TAINTS_AGAIN);
        let dropped = taints_dropped().filter(|until| *until > Instant::now());
        unoffered = if now.is_offered { None } else { unoffered.or_else(|| Some(Instant::now())) };
        let stands = unoffered.map(|since| since + driver.config.unoffered).filter(|until| *until > Instant::now());
        let next = match stands {
            // What was published before.
            Some(_) => Next { devices: None, again: stands },
            None => lists.next(&now, dropped.is_none(), Instant::now()),
        };
        if let Some(devices) = next.devices {
            driver.agent.publish(&driver.name, devices);
        }
        let again = async {
            match next.again.into_iter().chain(dropped).min() {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        // Whatever else it says, and however often, is no reason to look at all devices.
        let other_word =
            async { while said.changed().await.is_ok() && taints_dropped().is_some() == dropped.is_some() {} };
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
    sent: Option<(Arc<[Device]>, Instant)>,
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
    devices: Option<Arc<[Device]>>,
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
        Self { unhealthy: Coming::new(is_unhealthy), held: Coming::new(held), sent: None }
    }

    fn next(&mut self, now: &Inventory, taints_are_kept: bool, at: Instant) -> Next {
        self.unhealthy.note(now, at);
        self.held.note(now, at);
        let until = |device| self.unhealthy.until(device, at).into_iter().chain(self.held.until(device, at));
        let flapping = now.devices.iter().flat_map(until).min();
        // What a scheduler must know of it and the component does not say keeps it back: claims may have it already.
        let known = now.devices.iter().filter(|device| device.facts.is_some());
        let devices = known.map(|device| {
            let unhealthy = self.unhealthy.is_shown(device, at);
            published(device, unhealthy, self.held.is_shown(device, at), now.driver.evicts)
        });
        let devices: Vec<Device> = devices.filter(|device| taints_are_kept || device.taints.is_empty()).collect();
        let due = match &self.sent {
            None => at,
            Some((sent, _)) if **sent == *devices => return Next { devices: None, again: flapping },
            Some((sent, when)) if is_as_available(sent, &devices) => *when + ATTRIBUTES_EVERY,
            Some((_, when)) => *when + TAINTS_EVERY,
        };
        if due > at {
            let again = flapping.map_or(due, |until| until.min(due));
            return Next { devices: None, again: Some(again) };
        }
        let devices: Arc<[Device]> = devices.into();
        self.sent = Some((Arc::clone(&devices), at));
        Next { devices: Some(devices), again: flapping }
    }
}

/// Whether two lists differ only in what is known of devices, not in whether they can be had.
fn is_as_available(one: &[Device], other: &[Device]) -> bool {
    let same = |(one, other): (&Device, &Device)| one.name == other.name && one.taints == other.taints;
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn published(device: &Listed, is_unhealthy: bool, is_held: bool, evicts: bool) -> Device {
    let taint = |key: &str, effect| Taint { key: key.to_owned(), value: None, effect };
    let facts = device.facts.as_deref();
    // A component that cannot be asked, or a disk that is full, ends no pod.
    let is_faulty = facts.is_some_and(|facts| facts.is_faulty);
    let unhealthy = if evicts && is_faulty { Effect::NoExecute } else { Effect::NoSchedule };
    let taints = [is_unhealthy.then(|| taint(UNHEALTHY, unhealthy)), is_held.then(|| taint(HELD, Effect::NoSchedule))];
    let attributes = facts.iter().flat_map(|facts| &facts.attributes);
    Device {
        name: device.name.clone(),
        attributes: attributes.map(|(name, is)| (name.clone(), value(is))).collect(),
        capacity: facts.map(|facts| facts.capacity.clone()).unwrap_or_default(),
        taints: taints.into_iter().flatten().collect(),
    }
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
