//! What can be said of a GPU's health from files: what the driver says of it (xe), and whether it is still the driver's.

use crate::config::Config;
use crate::{PCI, survey};
use devgate_drm::Resets;
use devgate_sdk::{Device, Unit, Verdict, hardware};

/// How a listed GPU is.
pub(crate) fn of(unit: &Unit, config: &Config, resets: &Resets) -> Verdict {
    let Some(address) = unit.property("pci") else {
        return Verdict::Unknown("nothing is known of its hardware".to_owned());
    };
    match hardware::device_by_name(PCI, address) {
        Ok(function) => at(&function, unit, config, resets),
        Err(error) if error.is_absence() => unhealthy("its PCI function is gone"),
        Err(error) => Verdict::Unknown(error.message),
    }
}

fn unhealthy(reason: impl Into<String>) -> Verdict {
    Verdict::Unhealthy(reason.into())
}

fn at(function: &Device, unit: &Unit, config: &Config, resets: &Resets) -> Verdict {
    match function.driver() {
        Some(driver) if unit.property("driver") == Some(&driver) => {}
        Some(other) => return unhealthy(format!("its driver is {other} now")),
        None => return unhealthy("it has no driver now"),
    }
    match survey::virtual_functions(function) {
        Ok(0) => {}
        Ok(count) => return unhealthy(format!("it has {count} virtual functions now, which have what it has")),
        Err(error) => return Verdict::Unknown(error.message),
    }
    match devgate_drm::wedged(function) {
        Ok(Some(problem)) => return unhealthy(problem),
        Ok(None) => {}
        Err(error) => return Verdict::Unknown(error.message),
    }
    if let Some(problem) = resets.problem(&function.name()) {
        return unhealthy(problem);
    }
    // Only root may read it, and that it is there says it all: the firmware has to be written anew
    // (`xe_survivability_mode.c`).
    let names = match function.entries("") {
        Ok(names) => names,
        Err(error) => return Verdict::Unknown(error.message),
    };
    let has = |attribute: &str| names.iter().any(|name| name == attribute);
    if has("survivability_mode") {
        return unhealthy("it is in survivability mode: its firmware has to be written anew");
    }
    if !has("gpu_health") {
        // Older drivers, and GPUs without that interface.
        return Verdict::Healthy;
    }
    if sleeps(function) {
        return Verdict::Unknown("it sleeps and is not woken to be asked".to_owned());
    }
    match function.attribute("gpu_health") {
        Ok(text) => told(&text, config.strict),
        Err(error) if error.is_absence() => Verdict::Healthy,
        Err(error) => Verdict::Unknown(error.message),
    }
}

/// Whether the kernel has put it to sleep: to read `gpu_health` would wake it, and keep it from sleep for good.
fn sleeps(function: &Device) -> bool {
    let status = function.attribute("power/runtime_status").unwrap_or_default();
    ["suspended", "suspending"].contains(&status.as_str())
}

/// What the attribute `gpu_health` says (`sysfs-driver-intel-xe-ras` in the kernel's documentation of its ABI).
fn told(text: &str, strict: bool) -> Verdict {
    match text {
        "ok" => Verdict::Healthy,
        "warning" if strict => unhealthy("its driver warns of it (gpu_health, strict)"),
        "warning" => Verdict::Healthy,
        "critical" => unhealthy("its driver calls its state critical (gpu_health)"),
        other => Verdict::Unknown(format!("gpu_health reads {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(text: &str, strict: bool) -> &'static str {
        match told(text, strict) {
            Verdict::Healthy => "healthy",
            Verdict::Unhealthy(_) => "unhealthy",
            Verdict::Unknown(_) => "unknown",
        }
    }

    #[test]
    fn the_driver_has_three_words() {
        assert_eq!([is("ok", false), is("warning", false), is("critical", false)], ["healthy", "healthy", "unhealthy"]);
        assert_eq!([is("ok", true), is("warning", true), is("critical", true)], ["healthy", "unhealthy", "unhealthy"]);
    }

    #[test]
    fn any_other_word_says_nothing() {
        assert_eq!([is("", false), is("OK", false), is("degraded", true)], ["unknown"; 3]);
    }
}
