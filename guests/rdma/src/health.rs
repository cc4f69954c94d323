//! How an RDMA device is. The host watches presence itself.

use crate::clock::{self, Moment};
use crate::config::Config;
use crate::flaps::Flaps;
use crate::ports;
use devgate_sdk::{Device, Unit, Verdict, hardware, log, state};

/// What one call looks with.
pub(crate) struct Watch {
    /// Nothing where links are not watched for flapping, or the time cannot be told.
    flaps: Option<(Flaps, Moment)>,
}

impl Watch {
    pub(crate) fn begin(config: &Config) -> Self {
        if config.flaps == 0 {
            return Self { flaps: None };
        }
        let begun = clock::now().and_then(|now| {
            let blob = state::load().map_err(|error| error.message)?;
            Ok((Flaps::load(&blob, &now), now))
        });
        if let Err(why) = &begun {
            log::warn(&format!("links are not watched for flapping: {why}"));
        }
        Self { flaps: begun.ok() }
    }

    /// Stores what is new.
    pub(crate) fn end(&self) {
        let Some(blob) = self.flaps.as_ref().and_then(|(flaps, _)| flaps.changed()) else {
            return;
        };
        if let Err(error) = state::store(&blob) {
            log::warn(&format!(
                "what ports have counted could not be stored: {}",
                error.message
            ));
        }
    }
}

/// How a unit is: all of its devices, where it has several.
pub(crate) fn of(config: &Config, unit: &Unit, watch: &mut Watch) -> Verdict {
    let names = unit.property("rdma").unwrap_or_default();
    let mut verdict = Verdict::Healthy;
    for name in names.split(' ').filter(|name| !name.is_empty()) {
        match one(config, name, unit, watch) {
            Verdict::Healthy => {}
            unhealthy @ Verdict::Unhealthy(_) => return unhealthy,
            unknown @ Verdict::Unknown(_) => verdict = unknown,
        }
    }
    if !unit.nodes.iter().any(|node| node.path().contains("/uverbs")) {
        return Verdict::Unhealthy(
            "no node of it is offered: the policy's `nodes:` lacks {subsystem: infiniband_verbs}, or ib_uverbs is not loaded"
                .to_owned(),
        );
    }
    verdict
}

fn one(config: &Config, name: &str, unit: &Unit, watch: &mut Watch) -> Verdict {
    let device = match hardware::device_by_name("infiniband", name) {
        Ok(device) => device,
        Err(error) if error.is_absence() => return absent(name, unit),
        Err(error) => return Verdict::Unknown(error.message),
    };
    let ports = match ports::of(&device) {
        Ok(ports) => ports,
        Err(error) => return Verdict::Unknown(error.message),
    };
    // Counted first: a link that is down now must not be forgotten when it is back.
    let mut flapping = None;
    if let Some((flaps, now)) = &mut watch.flaps {
        for port in &ports {
            let Some(count) = port.downed else { continue };
            let times = flaps.note(
                &format!("{name}/{}", port.number),
                count,
                now.second,
                config.flap_window,
            );
            if times >= config.flaps {
                let (number, window) = (&port.number, config.flap_window);
                flapping.get_or_insert(format!(
                    "{name} port {number}: its link went down {times} times within {window} s (flaps, flap-window)"
                ));
            }
        }
    }
    match ports::problem(&ports, config.all_ports)
        .map(|problem| format!("{name} {problem}"))
        .or(flapping)
    {
        Some(problem) => Verdict::Unhealthy(problem),
        None => Verdict::Healthy,
    }
}

/// A device that is not seen: its driver has gone, or a pod has it in its own network namespace (`rdma system set netns
/// exclusive`), which nobody else can look into.
fn absent(name: &str, unit: &Unit) -> Verdict {
    let driver = |function: &Device| function.driver();
    match unit.backing.iter().find(|function| driver(function).is_none()) {
        Some(function) => Verdict::Unhealthy(format!("{name} is gone: function {} has no driver", function.name())),
        None => Verdict::Unknown(format!(
            "{name} is not seen: a pod may have it in its own network namespace"
        )),
    }
}
