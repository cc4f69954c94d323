//! Claims that have something and that no pod has, of which the kubelet has not said that they are over: it may have forgotten them while
//! it was away, or their driver may have been taken out of the policy. They are released when they are known to be gone twice in a row, and
//! no pod is known to have them; where one of the two cannot be known, nothing is.

use crate::agent::Agent;
use crate::config::{ClaimName, DraConfig};
use devgate_agent_protocol::Claim;
use devgate_cdi::Claims;
use devgate_core::Consumer;
use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

/// How long it may take to look what pods have.
const LOOK_TIMEOUT: Duration = Duration::from_secs(60);

/// Looks for such claims, for as long as it is polled.
pub(crate) async fn look(config: &DraConfig, agent: &Agent, claims: &Claims) {
    let mut gone = BTreeSet::new();
    let mut pause = config.leftovers_first;
    loop {
        tokio::time::sleep(jittered(pause)).await;
        pause = config.leftovers_every;
        gone = release(config, agent, claims, &gone).await;
    }
}

/// A tenth more or less, so that the nodes of a cluster do not ask at once.
fn jittered(pause: Duration) -> Duration {
    let part = u32::try_from(RandomState::new().build_hasher().finish() % 200).unwrap_or_default();
    pause.saturating_mul(900 + part) / 1_000
}

/// Releases those that are gone, and were the time before. Which are.
async fn release(
    config: &DraConfig,
    agent: &Agent,
    claims: &Claims,
    before: &BTreeSet<Consumer>,
) -> BTreeSet<Consumer> {
    let (all, mut gone) = (claims.all(), BTreeSet::new());
    if all.is_empty() || agent.away().is_some() {
        return gone;
    }
    let Ok(Some(in_use)) = tokio::time::timeout(LOOK_TIMEOUT, (config.in_use)()).await else {
        return gone;
    };
    for who in all {
        let Consumer::Claim { driver, uid } = &who else { continue };
        let tag = claims.held(&who).into_iter().find_map(|claim| claim.tag);
        let Some(name) = tag.map(|tag| ClaimName { namespace: tag.namespace, name: tag.name }) else { continue };
        if in_use.contains(&name) {
            continue;
        }
        match agent.claim(driver, &name, uid).await {
            Ok(Claim::Gone) if before.contains(&who) => match claims.end(&who).await {
                Ok(_) => {
                    tracing::warn!("{who}: is gone, no pod has it, and the kubelet has not ended it; it is released")
                }
                Err(why) => tracing::error!(family = "host", "{who}: is gone and cannot be ended: {why}"),
            },
            Ok(Claim::Gone) => drop(gone.insert(who)),
            Ok(_) => {}
            // It would say no more of the others.
            Err(_) => break,
        }
    }
    gone
}
