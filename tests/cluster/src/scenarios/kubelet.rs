//! Five ends of the kubelet that it may tidy up after, and five that it may not: pods keep what they have, and the node never shows less.

use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::part::Signal;
use crate::wait::{timed, until};
use anyhow::{Result, bail};

const TIMES: usize = 5;

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    cluster.run_pod("one", 1)?;
    cluster.run_pod("two", 2)?;
    let had = (cluster.has_exactly("one", 1)?, cluster.has_exactly("two", 2)?);
    for signal in [Signal::Term, Signal::Kill] {
        let mut longest = 0.0_f64;
        for _ in 0..TIMES {
            let before = registrations(cluster)?;
            cluster.stop("kubelet", signal)?;
            let (_, seconds) = timed(|| {
                cluster.start("kubelet")?;
                registered_after(cluster, before)
            })?;
            longest = longest.max(seconds);
        }
        cluster.note(format!(
            "kubelet: registered at most {longest:.1} s after the kubelet's start ({signal:?}, {TIMES} times)"
        ));
    }
    cluster.node_is_ready(30)?;
    let has = (cluster.has_exactly("one", 1)?, cluster.has_exactly("two", 2)?);
    if has != had || cluster.restarts("one")? + cluster.restarts("two")? != 0 {
        bail!("the pods had {had:?}, and have {has:?}");
    }
    let rest = cluster.disks.names().len() - 3;
    cluster.run_pod("rest", rest)?;
    let rest = cluster.has_exactly("rest", rest)?;
    if !rest.is_disjoint(&had.0) || !rest.is_disjoint(&had.1) {
        bail!("{had:?} are held, and {rest:?} were given");
    }
    Ok(())
}

fn registrations(cluster: &Cluster) -> Result<f64> {
    cluster.metric("devgate_kubelet_registrations_total", &[DISK])
}

/// Until it is registered once more and its list is read; the node shows every disk all the while.
fn registered_after(cluster: &Cluster, before: f64) -> Result<()> {
    let all = u64::try_from(cluster.disks.names().len())?;
    let mut less = None;
    until("devgate to be registered with the new kubelet", 30, || {
        let shown = cluster.node_has("allocatable", DISK)?;
        if shown != Some(all) {
            less = shown;
        }
        if registrations(cluster)? <= before || cluster.metric("devgate_kubelet_streams", &[DISK])? < 1.0 {
            bail!("it is not");
        }
        Ok(())
    })?;
    if let Some(less) = less {
        bail!("the node showed {less} of {all}");
    }
    Ok(())
}
