//! Claims that have something and that no pod has, of which the kubelet has not said that they are over: it may have forgotten them while
//! it was away, or their driver may have been taken out of the policy. They are released when they are known to be gone twice in a row, and
//! no pod is known to have them; where one of the two cannot be known, nothing is. Nor is what was given since the node booted: containers
//! of pods that were force-deleted, and those that begin a pod, run without the kubelet telling of them.

use crate::agent::Agent;
use crate::config::{ClaimName, DraConfig};
use devgate_agent_protocol::Claim as Answer;
use devgate_cdi::{Claim, Claims};
use devgate_core::{Consumer, Released, jittered};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long it may take to look what pods have.
const LOOK_TIMEOUT: Duration = Duration::from_secs(60);

/// Looks for such claims, for as long as it is polled.
pub(crate) async fn look(config: &DraConfig, agent: &Agent, claims: &Claims) {
    let mut gone = BTreeMap::new();
    let mut pause = config.leftovers_first;
    loop {
        tokio::time::sleep(jittered(pause)).await;
        pause = config.leftovers_every;
        gone = release(config, agent, claims, &gone).await;
    }
}

/// How often in a row each was found gone.
type Gone = BTreeMap<Consumer, u64>;

/// Releases those that are gone, and were the time before. Which are.
async fn release(config: &DraConfig, agent: &Agent, claims: &Claims, before: &Gone) -> Gone {
    let (all, mut gone) = (claims.all(), Gone::new());
    if all.is_empty() || agent.away().is_some() {
        return gone;
    }
    let Ok(Some(in_use)) = tokio::time::timeout(LOOK_TIMEOUT, (config.in_use)()).await else {
        return gone;
    };
    for who in all {
        let Consumer::Claim { driver, uid } = &who else { continue };
        let held = claims.held(&who);
        let tag = held.iter().find_map(|claim| claim.tag.clone());
        let Some(name) = tag.map(|tag| ClaimName { namespace: tag.namespace, name: tag.name }) else { continue };
        if in_use.contains(&name) {
            continue;
        }
        match agent.claim(driver, &name, uid).await {
            Ok(answer) if !is_gone(&answer, &held) => continue,
            Ok(_) => {}
            // It would say no more of the others.
            Err(_) => break,
        }
        let looks = before.get(&who).map_or(1, |looks| looks + 1);
        let is_earlier = |held: &[Claim]| held.iter().all(|claim| claim.earlier_boot);
        match looks {
            2.. if is_earlier(&held) => match claims.end_where(&who, is_earlier).await {
                // It is over, or was told again in between.
                Ok(Released::Nothing) => continue,
                Ok(_) => {
                    tracing::warn!("{who}: is gone, no pod has it, and the kubelet has not ended it; it is released");
                    continue;
                }
                Err(why) => tracing::error!(family = "host", "{who}: is gone and cannot be ended: {why}"),
            },
            2 => tracing::warn!(
                "{who}: is gone, no pod has it, and the kubelet has not ended it; it is released after the next boot, or by \"devgate state forget\""
            ),
            _ => {}
        }
        gone.insert(who, looks);
    }
    gone
}

/// Whether a claim has nothing any more, or nothing of what it has here.
fn is_gone(answer: &Answer, held: &[Claim]) -> bool {
    let has = |name: &str| held.iter().flat_map(|claim| &claim.devices).any(|device| device.name == name);
    match answer {
        Answer::Gone => true,
        Answer::Allocated { devices, .. } => !devices.iter().any(|given| has(&given.device)),
        Answer::Unknown(_) => false,
    }
}
