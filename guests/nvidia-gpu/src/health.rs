//! What can be said of a GPU's health without NVML: what the driver says of it, there and in the kernel's log, whether its PCI
//! function answers, and the fatal errors that the kernel has counted. The host watches presence itself.

use crate::config::Config;
use crate::faults::Faults;
use crate::information::Information;
use crate::machine::{Function, Machine};
use crate::power::Power;
use crate::survey::{VENDOR, information};
use crate::xid::{self, Action};
use devgate_sdk::Verdict;

/// What is known of a GPU from when it was listed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) uuid: Option<&'a str>,
    pub(crate) minor: Option<&'a str>,
}

/// A verdict that ends the look; what says nothing against the GPU is `Ok`.
type Look = Result<(), Verdict>;

/// How a known GPU is.
pub(crate) fn of(
    machine: &impl Machine,
    config: &Config,
    function: &impl Function,
    known: Known<'_>,
    faults: &Faults,
) -> Verdict {
    let look = || {
        answers(function)?;
        xids(function, config, faults)?;
        errors(function, config)?;
        match Power::of(function) {
            Power::Asleep => Ok(()),
            Power::MaySleep => link(function, config),
            Power::AlwaysOn => {
                link(function, config)?;
                driver(machine, function, known)
            }
        }
    };
    match look() {
        // It may have failed in a line that nobody has seen; the next look sees all that comes from now on.
        Ok(()) if faults.gap => Verdict::Unknown("lines of the kernel's log were lost".to_owned()),
        Ok(()) => Verdict::Healthy,
        Err(verdict) => verdict,
    }
}

fn unhealthy(reason: impl Into<String>) -> Look {
    Err(Verdict::Unhealthy(reason.into()))
}

fn unknown(reason: impl Into<String>) -> Look {
    Err(Verdict::Unknown(reason.into()))
}

/// Whether the function is there and the driver's.
fn answers(function: &impl Function) -> Look {
    match function.attribute("vendor") {
        Ok(vendor) if vendor == VENDOR => {}
        Ok(vendor) => return unhealthy(format!("its PCI function does not answer: vendor reads {vendor}")),
        Err(error) if error.is_absence() => return unhealthy("its PCI function is gone"),
        Err(error) => return unknown(error.message),
    }
    match function.driver().as_deref() {
        Some("nvidia") => Ok(()),
        Some(other) => unhealthy(format!("its driver is {other} now")),
        None => unhealthy("it has no driver now"),
    }
}

/// What the kernel's log said of it that is not made good yet.
fn xids(function: &impl Function, config: &Config, faults: &Faults) -> Look {
    let Some(fault) = faults.of(&function.name()) else {
        return Ok(());
    };
    let until = match fault.action(&config.xid) {
        Action::Ignore | Action::RestartApp => return Ok(()),
        Action::Reset => "the driver is loaded again or the node restarted",
        Action::Restart => "the node is restarted",
    };
    let (code, what, second) = (fault.code, xid::words(fault.code), fault.time / 1_000_000);
    unhealthy(format!("Xid {code}: {what}, {second} s after boot; until {until} (config xid)"))
}

/// The fatal errors that the kernel counted on the function's link since it found the function. Not there where the
/// firmware keeps error reporting to itself.
fn errors(function: &impl Function, config: &Config) -> Look {
    let Ok(text) = function.attribute("aer_dev_fatal") else {
        return Ok(());
    };
    let count = |line: &str| line.strip_prefix("TOTAL_ERR_FATAL")?.trim().parse::<u64>().ok();
    match text.lines().find_map(count) {
        Some(count) if count > config.fatal_errors => {
            unhealthy(format!("{count} fatal PCIe errors since boot, more than {} (fatal-errors)", config.fatal_errors))
        }
        _ => Ok(()),
    }
}

/// The link as the function itself tells. One that does not answer reads as all ones, which is 63 lanes; 0 is a function
/// that has no link, in a virtual machine. The speed falls when a GPU idles, and says nothing.
fn link(function: &impl Function, config: &Config) -> Look {
    let width = function.attribute("current_link_width");
    match width.ok().and_then(|width| width.parse::<u64>().ok()) {
        Some(63) => unhealthy("its PCI function does not answer: its link has 63 lanes, which no link has"),
        Some(width) if width > 0 && width < config.link_width => {
            unhealthy(format!("its link has {width} lanes, fewer than {} (link-width)", config.link_width))
        }
        _ => Ok(()),
    }
}

/// What the driver says now, against what it said when the GPU was listed.
fn driver(machine: &impl Machine, function: &impl Function, known: Known<'_>) -> Look {
    let text = match information(machine, &function.name()) {
        Ok(text) => text,
        Err(error) if error.is_absence() => return unhealthy("the driver does not list it any more"),
        Err(error) => return unknown(error.message),
    };
    let Some(told) = Information::parse(&text) else {
        return unknown("the driver says nothing of it: it could not be powered");
    };
    if told.is_excluded {
        return unhealthy("the driver excludes it now (NVreg_ExcludedGpus)");
    }
    match told.uuid.as_deref() {
        None => return unhealthy("the driver does not know its UUID any more: it is not initialized, or it failed"),
        uuid if uuid != known.uuid => {
            return unhealthy(format!("it is another GPU now: {}", uuid.unwrap_or_default()));
        }
        Some(_) => {}
    }
    match told.minor.map(|minor| minor.to_string()) {
        minor if minor.as_deref() == known.minor => {}
        Some(minor) => return unhealthy(format!("its node is /dev/nvidia{minor} now")),
        None => return unknown("the driver tells no minor number"),
    }
    if told.is_running {
        Ok(())
    } else {
        unknown(
            "the driver has shut it down, as it does with one that nobody uses, or it failed (nvidia-persistenced keeps it up)",
        )
    }
}

#[cfg(test)]
mod tests;
