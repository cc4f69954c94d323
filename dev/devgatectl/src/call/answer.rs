//! What a component answered, once it has passed the gate; the names are those of the JSON form.

use devgate_core::GrantedNode;
use devgate_core::offer::Reply;
use devgate_core::status::ConditionStatus;
use devgate_core::workbench::{Listed, ListedPool, ListedUnit};
use devgate_policy::Dra;
use devgate_types::{Condition, Verdict, escape};
use serde::Serialize;
use std::collections::BTreeMap;

/// The longest value that is shown.
const MAX_VALUE: usize = 1_024;

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Answer {
    Listed { pools: Vec<PoolFacts>, rejected: Vec<RejectedFacts>, contested: BTreeMap<String, String> },
    Verdicts { units: Vec<UnitVerdict> },
    Conditions { units: Vec<UnitConditions> },
    Reply(Box<Reply>),
    Choice { choice: Vec<String> },
    Done {},
}

/// One resource's units.
#[derive(Debug, Serialize)]
pub(super) struct PoolFacts {
    /// As the policy offers it, and as the component calls it.
    pub(super) resource: String,
    pub(super) asked: String,
    pub(super) units: Vec<UnitFacts>,
    pub(super) shared_nodes: Vec<NodeFacts>,
}

#[derive(Debug, Serialize)]
pub(super) struct UnitFacts {
    pub(super) id: String,
    /// The places of the devices that it is made of, beneath /sys/devices.
    pub(super) backing: Vec<String>,
    pub(super) nodes: Vec<NodeFacts>,
    pub(super) properties: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
pub(super) struct NodeFacts {
    pub(super) path: String,
    pub(super) access: String,
}

/// What the gate did not let through.
#[derive(Debug, Serialize)]
pub(super) struct RejectedFacts {
    pub(super) what: String,
    pub(super) why: String,
}

#[derive(Debug, Serialize)]
pub(super) struct UnitVerdict {
    pub(super) resource: String,
    pub(super) id: String,
    /// `healthy`, `unhealthy` or `unknown`.
    pub(super) verdict: &'static str,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct UnitConditions {
    pub(super) resource: String,
    pub(super) id: String,
    pub(super) conditions: Vec<ConditionStatus>,
    /// Keys of those that the policy does not name.
    pub(super) unnamed: Vec<String>,
}

impl Answer {
    /// Of a function that answers nothing.
    pub(super) const DONE: Self = Self::Done {};

    pub(super) fn listed(listed: &Listed) -> Self {
        let rejected = listed.rejected.iter();
        let rejected = rejected.map(|one| RejectedFacts { what: one.what.clone(), why: one.why.clone() });
        let contested = listed.contested.iter().map(|(id, why)| (id.to_string(), why.to_string()));
        Self::Listed {
            pools: listed.pools.iter().map(PoolFacts::of).collect(),
            rejected: rejected.collect(),
            contested: contested.collect(),
        }
    }
}

impl PoolFacts {
    fn of(pool: &ListedPool) -> Self {
        let unit = |unit: &ListedUnit| UnitFacts {
            id: unit.id.to_string(),
            backing: unit.backing.iter().map(|device| device.location().to_owned()).collect(),
            nodes: unit.nodes.iter().map(NodeFacts::of).collect(),
            properties: unit.properties.iter().map(|(name, value)| (shown(name), shown(value))).collect(),
        };
        Self {
            resource: pool.resource.to_string(),
            asked: pool.asked.to_string(),
            units: pool.units.iter().map(unit).collect(),
            shared_nodes: pool.shared_nodes.iter().map(NodeFacts::of).collect(),
        }
    }
}

impl NodeFacts {
    fn of(node: &GrantedNode) -> Self {
        Self { path: shown(&node.node.path), access: node.grant.access.to_string() }
    }
}

impl UnitVerdict {
    pub(super) fn of(pool: &ListedPool, unit: &ListedUnit, verdict: Verdict) -> Self {
        let (verdict, reason) = match verdict {
            Verdict::Healthy => ("healthy", None),
            Verdict::Unhealthy(reason) => ("unhealthy", Some(shown(&reason))),
            Verdict::Unknown(reason) => ("unknown", Some(shown(&reason))),
        };
        Self { resource: pool.resource.to_string(), id: unit.id.to_string(), verdict, reason }
    }
}

impl UnitConditions {
    /// What a policy lets through of them.
    pub(super) fn of(pool: &ListedPool, unit: &ListedUnit, all: Vec<Condition>, dra: Option<&Dra>) -> Self {
        let (mut conditions, mut unnamed) = (Vec::new(), Vec::new());
        for condition in all {
            let key = condition.key.clone();
            match dra.and_then(|dra| dra.granted(condition)) {
                Some(granted) => conditions.push(ConditionStatus::of(&granted)),
                None => unnamed.push(key),
            }
        }
        Self { resource: pool.resource.to_string(), id: unit.id.to_string(), conditions, unnamed }
    }
}

fn shown(text: &str) -> String {
    escape(text, MAX_VALUE)
}
