//! How an accelerator is: whether it is there and its driver's, and what that driver says where it says something.

use crate::BUSES;
use crate::config::Config;
use crate::drivers::{self, Says};
use devgate_sdk::{Device, Error, Unit, Verdict, hardware};

/// How a listed accelerator is.
pub(crate) fn of(unit: &Unit, config: &Config) -> Verdict {
    let Some(name) = unit.property("device") else {
        return Verdict::Unknown("nothing is known of its hardware".to_owned());
    };
    match find(name) {
        Ok(Some(device)) => at(&device, unit, config),
        Ok(None) => unhealthy("its device is gone"),
        Err(error) => Verdict::Unknown(error.message),
    }
}

fn find(name: &str) -> Result<Option<Device>, Error> {
    for bus in BUSES {
        match hardware::device_by_name(bus, name) {
            Ok(device) => return Ok(Some(device)),
            Err(error) if error.is_absence() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn unhealthy(reason: impl Into<String>) -> Verdict {
    Verdict::Unhealthy(reason.into())
}

fn at(device: &Device, unit: &Unit, config: &Config) -> Verdict {
    let driver = match device.driver() {
        Some(driver) if unit.property("driver") == Some(&driver) => driver,
        Some(other) => return unhealthy(format!("its driver is {other} now")),
        None => return unhealthy("it has no driver now"),
    };
    let Some(says) = drivers::of(&driver).and_then(|known| known.says.as_ref()) else {
        return Verdict::Healthy;
    };
    match says {
        Says::Status(attribute) => told(device, attribute, drivers::status),
        Says::Errors(attribute) => match config.uncorrectable_errors {
            Some(most) => told(device, attribute, |text| errors(attribute, text, most)),
            None => Verdict::Healthy,
        },
    }
}

/// What an attribute says; older drivers have no such attribute.
fn told(device: &Device, attribute: &str, verdict: impl Fn(&str) -> Verdict) -> Verdict {
    match device.attribute(attribute) {
        Ok(text) => verdict(&text),
        Err(error) if error.is_absence() => Verdict::Healthy,
        Err(error) => Verdict::Unknown(error.message),
    }
}

fn errors(attribute: &str, text: &str, most: u64) -> Verdict {
    match text.parse::<u64>() {
        Ok(count) if count > most => unhealthy(format!(
            "it has had {count} uncorrectable errors ({attribute}), more than {most} (uncorrectable-errors)"
        )),
        Ok(_) => Verdict::Healthy,
        Err(_) => Verdict::Unknown(format!("{attribute} reads {text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_count_above_the_limit() {
        assert!(matches!(errors("ue_count", "0", 0), Verdict::Healthy));
        assert!(matches!(errors("ue_count", "2", 2), Verdict::Healthy));
        assert!(matches!(errors("ue_count", "1", 0), Verdict::Unhealthy(_)));
        assert!(matches!(errors("ue_count", "-", 0), Verdict::Unknown(_)));
    }
}
