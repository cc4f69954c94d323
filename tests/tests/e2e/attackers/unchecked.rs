//! An attacker whose answers nothing checks, and whose questions are all answered: what its mechanism would let through. In this process, as
//! no program of devgate can be had without its checks.

use super::open_node::{Kept, OpenNode, limits};
use devgate_sandbox::{LoadRequest, Loaded, load};
use devgate_tests::attackers::{Ask, Attacker};
use devgate_types::component::{Call, CallKind, Capabilities, Output};
use devgate_types::{CallError, Edits, Grant, Pool, Unit, Verdict};
use std::sync::{Arc, PoisonError};

/// What of an attacker would be there to see if nothing were checked: what it says, `offers ID`, `registers NAME` and what an answer gives.
pub(super) fn seen(attacker: &Attacker) -> anyhow::Result<Vec<String>> {
    let bytes = attacker.component(attacker.parts() - 1)?;
    let component = load(LoadRequest {
        plugin: &attacker.name,
        bytes: &bytes,
        sha256: None,
        limits: limits(),
        grants: &|_| Grant::Granted,
    });
    let component = component.map_err(|error| anyhow::anyhow!("{error}"))?;
    let kept = Arc::new(Kept::default());
    called(attacker, &component, &kept);
    Ok(kept.said.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

/// Makes all of its calls, as the host does and as its pods have it done.
fn called(attacker: &Attacker, component: &Loaded, kept: &Arc<Kept>) {
    let host = || Box::new(OpenNode::new(kept)) as Box<dyn Capabilities>;
    let failed = |error: CallError| match error {
        CallError::Failed(failure) => kept.say(failure.message),
        error => kept.say(error.to_string()),
    };
    let call = |call: Call<'_>| match component.call(&call, host()) {
        Ok((output, _)) => output,
        Err(error) => {
            failed(error);
            Output::default()
        }
    };
    let pools = call(Call::default()).pools;
    offered(&pools, kept);
    for pool in &pools {
        for verdict in call(Call::about(CallKind::Health, &pool.resource, &pool.units)).verdicts {
            if let Verdict::Unhealthy(reason) | Verdict::Unknown(reason) = verdict {
                kept.say(reason);
            }
        }
    }
    for ask in &attacker.header.asks {
        let (Ask::Allocate { ids, .. } | Ask::Prefer { ids, .. }) = ask else {
            continue;
        };
        let own = [attacker.name.clone()];
        let ids: &[String] = if ids.is_empty() { &own } else { ids };
        let units = pools.iter().flat_map(|pool| &pool.units);
        let units: Vec<Unit> = units.filter(|unit| ids.contains(&unit.id)).cloned().collect();
        let resource = attacker.resource();
        if let Ask::Prefer { size, .. } = ask {
            let size = u32::try_from(*size).unwrap_or(0);
            let choice = call(Call { size, ..Call::about(CallKind::Choose, &resource, &units) }).choice;
            choice.iter().for_each(|id| kept.say(format!("chosen {id}")));
            continue;
        }
        if component.profile().lifecycle {
            call(Call::about(CallKind::Prepare, &resource, &units));
        }
        match component.call(&Call::about(CallKind::Allocate, &resource, &units), host()) {
            Ok((output, _)) => given(&units, &output.edits, kept),
            Err(error) => failed(error),
        }
    }
}

fn offered(pools: &[Pool], kept: &Kept) {
    for pool in pools {
        kept.say(format!("registers {}", pool.resource));
        for unit in &pool.units {
            kept.say(format!("offers {}", unit.id));
        }
    }
}

fn given(units: &[Unit], edits: &Edits, kept: &Kept) {
    kept.say("answer".to_owned());
    for env in &edits.env {
        kept.say(format!("env {}={}", env.name, env.value));
    }
    for annotation in &edits.annotations {
        kept.say(format!("annotation {}={}", annotation.name, annotation.value));
    }
    for name in &edits.cdi {
        kept.say(format!("cdi {name}"));
    }
    for mount in &edits.mounts {
        kept.say(format!("mount {}", kept.name(mount.0)));
    }
    for unit in units {
        for node in &unit.nodes {
            kept.say(format!("node {}", kept.name(node.0)));
        }
        // Whoever has a device has its node, in a policy that offers it.
        for device in &unit.backing {
            kept.say(format!("node /dev/{}", kept.name(device.0)));
        }
    }
}
