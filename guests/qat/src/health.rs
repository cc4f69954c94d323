//! How a virtual function is. The host watches presence itself.

use crate::config::Config;
use crate::pf::{Pf, Physical};
use devgate_sdk::{Context, Error, ErrorKind, Presence, Unit, Verdict};

/// How a listed function is: itself, and the physical one, without which it does nothing.
pub(crate) fn of(config: &Config, unit: &Unit, physical: &mut Physical) -> Verdict {
    let own = devgate_vfio::health(unit);
    let (Verdict::Healthy, Some(function)) = (&own, unit.backing.first()) else {
        return own;
    };
    let address = match function.link("physfn").if_present() {
        Ok(Some(address)) => address,
        // It never had one here, as in a virtual machine.
        Ok(None) if unit.property("pf").is_none() => return Verdict::Healthy,
        Ok(None) => return Verdict::Unhealthy("its physical function is gone".to_owned()),
        Err(error) => return Verdict::Unknown(error.message),
    };
    let verdict = match physical.of(function, &address) {
        Ok(pf) => problem(config, unit, pf),
        Err(error) if error.kind == ErrorKind::Denied => Ok(()),
        Err(error) if error.is_absence() => Err(Verdict::Unhealthy("it is gone".to_owned())),
        Err(error) => Err(Verdict::Unknown(error.message.clone())),
    };
    let at = |why| format!("physical function {address}: {why}");
    match verdict {
        Ok(()) => Verdict::Healthy,
        Err(Verdict::Unhealthy(why)) => Verdict::Unhealthy(at(why)),
        Err(Verdict::Unknown(why)) => Verdict::Unknown(at(why)),
        Err(Verdict::Healthy) => Verdict::Healthy,
    }
}

/// Whether a function may be given now.
///
/// # Errors
/// Where it is gone, as the host says, and `busy` where it is not well: that may change.
pub(crate) fn check(config: &Config, unit: &Unit, physical: &mut Physical) -> Result<(), Error> {
    if let Some(function) = unit.backing.first() {
        function.attribute("vendor").context(|| unit.id.clone())?;
    }
    match of(config, unit, physical) {
        Verdict::Unhealthy(why) => Err(Error::busy(format!("{}: {why}", unit.id))),
        _ => Ok(()),
    }
}

/// What speaks against a function on the side of the physical one.
fn problem(config: &Config, unit: &Unit, pf: &Pf) -> Result<(), Verdict> {
    let unhealthy = |why: String| Err(Verdict::Unhealthy(why));
    match (pf.driver.as_deref(), unit.property("pf-driver")) {
        (None, _) => return unhealthy("it has no driver now".to_owned()),
        (Some(now), Some(then)) if now != then => return unhealthy(format!("its driver is {now} now, and was {then}")),
        _ => {}
    }
    match &pf.services {
        // Older devices have no services, and nor has one whose driver does not tell them.
        Ok(now) => {
            if let Some(then) = unit.property("services").filter(|then| now.as_deref() != Some(*then)) {
                let now = now.as_deref().unwrap_or("nothing that it tells");
                return unhealthy(format!("it is set up for {now} now, and was for {then}"));
            }
        }
        Err(error) if error.kind == ErrorKind::Busy => return unhealthy(error.message.clone()),
        Err(error) => return Err(Verdict::Unknown(error.message.clone())),
    }
    match &pf.fatal_errors {
        Ok(Some(count)) if *count > 0 && config.fatal_errors => {
            let errors = if *count == 1 { "a fatal error".to_owned() } else { format!("{count} fatal errors") };
            unhealthy(format!("it has had {errors} since it was started (qat_ras/errors_fatal)"))
        }
        Err(error) if config.fatal_errors => Err(Verdict::Unknown(error.message.clone())),
        _ => Ok(()),
    }
}
