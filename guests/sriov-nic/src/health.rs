//! How a virtual function is. The host watches presence itself.

use crate::config::Pool;
use crate::link::Links;
use devgate_sdk::{Device, ErrorKind, Node, Unit, Verdict};
use devgate_vfio::is_vfio;

/// A verdict that ends the look; what says nothing against the function is `Ok`.
type Look = Result<(), Verdict>;

pub(crate) fn of(pool: &Pool, unit: &Unit, links: &mut Links) -> Verdict {
    let Some(function) = unit.backing.first() else {
        return Verdict::Unknown("nothing is known of its hardware".to_owned());
    };
    let mut look = || {
        is_there(function)?;
        driver(function, unit)?;
        nodes(pool, unit)?;
        link(pool, function, links)
    };
    look().err().unwrap_or(Verdict::Healthy)
}

fn unhealthy(reason: impl Into<String>) -> Look {
    Err(Verdict::Unhealthy(reason.into()))
}

fn is_there(function: &Device) -> Look {
    match function.attribute("vendor") {
        Ok(_) => Ok(()),
        Err(error) if error.is_absence() => unhealthy("its PCI function is gone"),
        Err(error) => Err(Verdict::Unknown(error.message)),
    }
}

/// A function that goes to another driver is another thing: an interface becomes a node of vfio.
fn driver(function: &Device, unit: &Unit) -> Look {
    match (function.driver().as_deref(), unit.property("driver")) {
        (None, _) => unhealthy("it has no driver now"),
        (Some(now), Some(then)) if now != then => unhealthy(format!("its driver is {now} now, and was {then}")),
        _ => Ok(()),
    }
}

fn nodes(pool: &Pool, unit: &Unit) -> Look {
    // By its path where the kernel's device is not seen, as a pod may have it.
    let has = |subsystem: &str, path: &str| {
        let is = |node: &Node| {
            node.path().starts_with(path) || node.owner().is_some_and(|(_, of)| of.starts_with(subsystem))
        };
        unit.nodes.iter().any(is)
    };
    if unit.property("driver").is_some_and(is_vfio) && !has("vfio", "/dev/vfio/") {
        return unhealthy(
            "no node of vfio is offered: the policy's `nodes:` lacks {subsystem: vfio}, or the kernel has none (no iommu)",
        );
    }
    if pool.rdma && !has("infiniband_verbs", "/dev/infiniband/uverbs") {
        return unhealthy(
            "no RDMA node is offered: the policy's `nodes:` lacks {subsystem: infiniband_verbs}, or ib_uverbs is not loaded",
        );
    }
    Ok(())
}

fn link(pool: &Pool, function: &Device, links: &mut Links) -> Look {
    if !pool.link {
        return Ok(());
    }
    match function.related("physfn") {
        Ok(pf) => match links.verdict(&pf) {
            Verdict::Healthy => Ok(()),
            Verdict::Unhealthy(problem) => unhealthy(format!("physical function {}: {problem}", pf.name())),
            Verdict::Unknown(why) => Err(Verdict::Unknown(format!("physical function {}: {why}", pf.name()))),
        },
        Err(error) if error.kind == ErrorKind::Denied => Ok(()),
        Err(error) if error.is_absence() => unhealthy("its physical function is gone"),
        Err(error) => Err(Verdict::Unknown(error.message)),
    }
}
