//! Pods of a scenario.

use super::Play;
use crate::simulate::check::{Mismatch, Started};
use crate::simulate::outcome::{Failure, seconds};
use crate::simulate::scenario::Step;
use anyhow::Context;
use devgate_fake_kubelet::{Pod, StandIn};
use std::collections::BTreeMap;

impl Play {
    /// Admits a pod and starts its containers, as soon as a scheduler would place it here.
    pub(super) async fn pod(&mut self, pod: &Pod, step: &Step) -> Result<(), Failure> {
        let wanted = wanted(pod);
        let enough = |kubelet: &StandIn| {
            wanted.iter().all(|(resource, count)| match step.refused {
                Some(_) => kubelet.capacity(resource).is_some(),
                None => kubelet.allocatable(resource).is_some_and(|there| there >= *count),
            })
        };
        let scheduled = self.stage.kubelet.wait_for(step.within, enough).await.is_ok();
        if !scheduled && step.refused.is_none() {
            let there = wanted.iter().map(|(resource, count)| {
                let there = self.stage.kubelet.allocatable(resource);
                let there = there.map_or("nothing registered".to_owned(), |there| there.to_string());
                Mismatch::new(format!("{resource} allocatable"), format!("{count} or more for the pod"), there)
            });
            let message = format!("did not come within {}", seconds(step.within));
            return Err(Failure::of(message, there.collect()));
        }
        if let Err(rejection) = self.stage.kubelet.admit(pod).await {
            return refused("the pod", "to be admitted", step, &rejection.message);
        }
        self.start(&pod.name, step).await
    }

    /// Starts a pod's containers, again if they run.
    pub(super) async fn start(&mut self, pod: &str, step: &Step) -> Result<(), Failure> {
        let kubelet = &self.stage.kubelet;
        for container in self.containers(pod)? {
            match kubelet.start_container(pod, &container).await {
                Ok(options) => self.started.push(Started {
                    pod: pod.to_owned(),
                    devices: kubelet.held(pod, &container),
                    container,
                    options,
                }),
                Err(error) => return refused("the pod", "to start", step, &error),
            }
        }
        done(&format!("pod {pod}"), "it was admitted and started", step)
    }

    pub(super) fn containers(&self, pod: &str) -> anyhow::Result<Vec<String>> {
        let containers = self.stage.kubelet.containers(pod);
        containers.with_context(|| format!("pod {pod}: there is no such pod"))
    }
}

/// Something was done: as expected, or it should have been refused.
pub(super) fn done(what: &str, found: &str, step: &Step) -> Result<(), Failure> {
    let Some(text) = &step.refused else { return Ok(()) };
    Err(Mismatch::new(what, format!("to be refused with \"{text}\""), found).into())
}

/// Something was refused: as expected, or not.
pub(super) fn refused(what: &str, otherwise: &str, step: &Step, message: &str) -> Result<(), Failure> {
    match &step.refused {
        Some(text) if message.contains(text.as_str()) => Ok(()),
        Some(_) => done(what, message, step),
        None => Err(Mismatch::new(what, otherwise, message).into()),
    }
}

/// How many devices of which resource the containers need that run together; init containers run before them.
fn wanted(pod: &Pod) -> BTreeMap<String, usize> {
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    let (init, others): (Vec<_>, Vec<_>) = pod.containers.iter().partition(|container| container.init);
    for (resource, count) in others.into_iter().flat_map(|container| &container.resources) {
        *wanted.entry(resource.clone()).or_default() += count;
    }
    for (resource, count) in init.into_iter().flat_map(|container| &container.resources) {
        let most = wanted.entry(resource.clone()).or_default();
        *most = (*most).max(*count);
    }
    wanted
}
