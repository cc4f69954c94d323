//! How an RDMA device is. The host watches presence itself.

use crate::clock::{self, Moment};
use crate::config::Config;
use crate::flaps::Flaps;
use crate::ports::{self, Port};
use devgate_sdk::{Device, Unit, Verdict, hardware, log, state};

/// What one call looks with.
pub(crate) struct Watch {
    /// Nothing where links are not watched for flapping, or what was counted before cannot be told.
    flaps: Option<(Flaps, Moment)>,
}

impl Watch {
    pub(crate) fn begin(config: &Config) -> Self {
        if config.flaps == 0 {
            return Self { flaps: None };
        }
        let now = clock::now();
        let begun = state::load().map(|blob| (Flaps::load(&blob, &now), now));
        if let Err(error) = &begun {
            let line = format!("links are not watched for flapping: {}", error.message);
            // The admin knows that it is not granted.
            if error.is_not_granted() { log::info(&line) } else { log::warn(&line) }
        }
        Self { flaps: begun.ok() }
    }

    /// Takes note of what the ports of a device have counted, and says which one flaps, if any.
    fn flapping(&mut self, config: &Config, name: &str, ports: &[Port]) -> Option<String> {
        let (flaps, now) = self.flaps.as_mut()?;
        let mut flapping = None;
        for port in ports {
            let Some(count) = port.downed else { continue };
            let (number, window) = (&port.number, config.flap_window);
            let times = flaps.note(&format!("{name}/{number}"), count, now.second, window, config.flaps);
            if times >= config.flaps {
                flapping.get_or_insert_with(|| {
                    format!("{name} port {number}: its link went down {times} times or more within {window} s (flaps, flap-window)")
                });
            }
        }
        flapping
    }

    /// Stores what is new. Returns whether flaps count: what could not be stored would be found anew at every look, and never be past.
    pub(crate) fn end(&self) -> bool {
        let Some(blob) = self.flaps.as_ref().and_then(|(flaps, _)| flaps.changed()) else {
            return true;
        };
        let stored = state::store(&blob);
        if let Err(error) = &stored {
            log::warn(&format!(
                "what ports have counted could not be stored, so that flaps do not count: {}",
                error.message
            ));
        }
        stored.is_ok()
    }
}

/// What was seen of a unit.
pub(crate) enum Look {
    /// Nothing else matters.
    Certain(Verdict),
    /// Of each of its devices, how its ports are, and why it flaps, if it does.
    Devices(Vec<(Verdict, Option<String>)>),
}

impl Look {
    /// Looks at all devices of a unit: what they have counted must be noted.
    pub(crate) fn at(config: &Config, unit: &Unit, watch: &mut Watch) -> Self {
        let names = unit.property("rdma").unwrap_or_default();
        let names = names.split(' ').filter(|name| !name.is_empty());
        let devices = names.map(|name| one(config, name, unit, watch)).collect();
        if !unit.nodes.iter().any(|node| node.path().contains("/uverbs")) {
            return Self::Certain(Verdict::Unhealthy(
                "no node of it is offered: the policy's `nodes:` lacks {subsystem: infiniband_verbs}, or ib_uverbs is not loaded"
                    .to_owned(),
            ));
        }
        Self::Devices(devices)
    }

    /// How the unit is. One that is all devices together is good as long as one of them is: its programs have that one.
    pub(crate) fn verdict(self, flaps_count: bool) -> Verdict {
        let devices = match self {
            Self::Certain(verdict) => return verdict,
            Self::Devices(devices) => devices,
        };
        ports::best(devices.into_iter().map(|(verdict, flapping)| match (verdict, flapping.filter(|_| flaps_count)) {
            (unhealthy @ Verdict::Unhealthy(_), _) => unhealthy,
            (_, Some(why)) => Verdict::Unhealthy(why),
            (verdict, None) => verdict,
        }))
    }
}

fn one(config: &Config, name: &str, unit: &Unit, watch: &mut Watch) -> (Verdict, Option<String>) {
    let device = match hardware::device_by_name("infiniband", name) {
        Ok(device) => device,
        Err(error) if error.is_absence() => return (absent(name, unit), None),
        Err(error) => return (Verdict::Unknown(error.message), None),
    };
    let ports = match ports::of(&device) {
        Ok(ports) => ports,
        Err(error) => return (Verdict::Unknown(error.message), None),
    };
    let verdict = match ports::verdict(&ports, config.all_ports) {
        Verdict::Unhealthy(problem) => Verdict::Unhealthy(format!("{name} {problem}")),
        Verdict::Unknown(why) => Verdict::Unknown(format!("{name} {why}")),
        Verdict::Healthy => Verdict::Healthy,
    };
    // Also where it is down now: that must not be forgotten when it is back.
    (verdict, watch.flapping(config, name, &ports))
}

/// A device that is not seen: its driver has gone, or a pod has it in its own network namespace (`rdma system set netns
/// exclusive`), which nobody else can look into.
fn absent(name: &str, unit: &Unit) -> Verdict {
    let driver = |function: &Device| function.driver();
    match unit.backing.iter().find(|function| driver(function).is_none()) {
        Some(function) => Verdict::Unhealthy(format!("{name} is gone: function {} has no driver", function.name())),
        None => Verdict::Unknown(format!("{name} is not seen: a pod may have it in its own network namespace")),
    }
}
