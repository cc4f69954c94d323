//! The node's condition, which shows beside those of the kubelet whether all is well.

use super::note::{LONGEST, bounded};
use super::told::{Holding, camel};
use crate::server::{Failure, SHORT, Server};
use devgate_agent_protocol::Judged;
use devgate_types::Bucket;
use k8s_openapi::api::core::v1::{self, Node};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// Its type. As those of most that have one for a part of a node, it is `True` where all is well.
const TYPE: &str = "DevgateHealthy";
/// How often it is said that it is still so: each time is a write of the whole node to the cluster's store.
const HEARTBEAT: Duration = Duration::from_secs(600);
/// So many changes at once, and then one in a minute.
const BURST: u32 = 4;
const EACH: Duration = Duration::from_secs(60);
/// How long after a failure it is tried again, doubled each time.
const FIRST: Duration = Duration::from_secs(10);

pub(super) struct NodeCondition {
    server: Server,
    node: String,
    pub(super) written: Option<Written>,
    pub(super) turns: Bucket,
    /// It is not written before, and how long it was waited for.
    pub(super) again: Instant,
    wait: Duration,
    /// When it was looked whether anyone else still writes it.
    looked: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Says {
    status: &'static str,
    reason: String,
    message: String,
}

pub(super) struct Written {
    says: Says,
    pub(super) at: Instant,
    /// As it was sent.
    heartbeat: Value,
}

impl NodeCondition {
    pub(super) fn new(server: Server, node: String) -> Self {
        let turns = Bucket::new(BURST, EACH);
        Self { server, node, written: None, turns, again: Instant::now(), wait: FIRST, looked: None }
    }

    /// Writes it where it is another, or was not written for long.
    pub(super) async fn look(&mut self, judged: &Judged, holds: &Holding) {
        let first = judged.conditions.iter().find(|found| holds.counts(found));
        let says = match first {
            Some(first) => {
                Says { status: "False", reason: camel(&first.condition), message: bounded(&judged.summary, LONGEST) }
            }
            None if holds.is_settled(judged) => {
                let message = bounded(&judged.summary, LONGEST);
                Says { status: "True", reason: "AllIsWell".to_owned(), message }
            }
            // It is starting: what was written stands.
            None => return,
        };
        let is_written = |written: &Written| written.says == says && written.at.elapsed() < HEARTBEAT;
        if self.written.as_ref().is_some_and(is_written) || self.again > Instant::now() {
            return;
        }
        if self.turns.line(Instant::now().into_std()).is_none() {
            return;
        }
        match self.write(says, None).await {
            Ok(()) => self.wait = FIRST,
            Err(failure) => self.failed(&failure),
        }
    }

    fn failed(&mut self, failure: &Failure) {
        self.again = Instant::now() + self.wait.max(failure.after.unwrap_or_default());
        self.wait = (self.wait * 2).min(HEARTBEAT);
        tracing::warn!(family = "events", "node {}: condition {TYPE}: {failure}", self.node);
    }

    /// It is not known. Where another agent has written it by now, as after a rollout, or none ever has, that stands; but not what
    /// was left by one that writes no more.
    pub(super) async fn is_unknown(&mut self, reason: &str, message: &str) {
        if self.again > Instant::now() {
            return;
        }
        let says = Says { status: "Unknown", reason: reason.to_owned(), message: message.to_owned() };
        if self.written.is_none() && self.looked.is_none_or(|at| at.elapsed() >= HEARTBEAT) {
            self.looked = Some(Instant::now());
            let is_left = |there: &v1::NodeCondition| {
                let since =
                    there.last_heartbeat_time.as_ref().map(|at| Timestamp::now().as_second() - at.0.as_second());
                there.status != "Unknown" && since.is_none_or(|since| since > 2 * HEARTBEAT.as_secs().cast_signed())
            };
            if let Err(failure) = self.write_over(is_left, says).await {
                self.failed(&failure);
            }
            return;
        }
        let Some(written) = self.written.take_if(|written| written.says.status != "Unknown") else { return };
        let is_own = |there: &v1::NodeCondition| {
            json!(there.last_heartbeat_time) == written.heartbeat
                && there.message.as_ref() == Some(&written.says.message)
        };
        if let Err(failure) = self.write_over(is_own, says).await {
            self.written = Some(written);
            self.failed(&failure);
        }
    }

    /// Writes it over one that is there and is meant, if that is still as it was read.
    async fn write_over(&mut self, is_meant: impl Fn(&v1::NodeCondition) -> bool, says: Says) -> Result<(), Failure> {
        let node = self.server.node(&self.node, SHORT).await?;
        if of(&node).is_some_and(is_meant) {
            let version = node.metadata.resource_version.as_deref();
            let version = version.ok_or_else(|| Failure::nonsense("read node", "it has no resourceVersion"))?;
            self.write(says, Some(version)).await?;
        }
        Ok(())
    }

    async fn write(&mut self, says: Says, version: Option<&str>) -> Result<(), Failure> {
        // Of one from before, also of an earlier agent, it stays since when it is so.
        let before = match &self.written {
            Some(written) => Some(written.says.status.to_owned()),
            None => of(&self.server.node(&self.node, SHORT).await?).map(|there| there.status.clone()),
        };
        let heartbeat = json!(Time(Timestamp::now()));
        let Says { status, reason, message } = &says;
        let mut condition = json!({
            "type": TYPE, "status": status, "reason": reason, "message": message, "lastHeartbeatTime": heartbeat,
        });
        if let Some(fields) = condition.as_object_mut().filter(|_| before.as_deref() != Some(says.status)) {
            fields.insert("lastTransitionTime".to_owned(), heartbeat.clone());
        }
        let metadata = version.map_or_else(|| json!({}), |version| json!({"resourceVersion": version}));
        let patch = json!({"metadata": metadata, "status": {"conditions": [condition]}});
        self.server.change_status(&self.node, &patch).await?;
        self.written = Some(Written { says, at: Instant::now(), heartbeat });
        Ok(())
    }
}

/// As the API server has it.
fn of(node: &Node) -> Option<&v1::NodeCondition> {
    node.status.as_ref()?.conditions.iter().flatten().find(|there| there.type_ == TYPE)
}
