//! What a look found, for a test to compare and for people to read.

use crate::seen::{Notes, Said};
use devgate_core::{Outcome, Surveyed, SurveyedUnit};
use devgate_types::{Condition, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What the plugin offers after a look, and what came up meanwhile. Its text ([`fmt::Display`]) has all of it, for snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Whether no selector matches a device of this node: then the component is not even asked.
    pub idle: bool,
    /// The units that passed the gate, sorted by resource and id.
    pub units: Vec<Unit>,
    /// What did not pass it, and why: `id X of vendor.com/gpu: …`.
    pub rejected: Vec<String>,
    /// The ids that the policy leaves out (`only`, `except`).
    pub left_out: Vec<String>,
    /// The kernel names of devices that the component says it cannot describe now.
    pub unread: Vec<String>,
    /// The locations of devices that the policy offers and that are part of no unit.
    pub unused: Vec<String>,
    /// What the component wrote to the log since the last survey, each line once.
    pub said: Vec<Said>,
    /// What the component asked for since the last survey and the policy does not grant, each once.
    pub denied: Vec<String>,
}

/// One unit as it is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The resource that it is offered as.
    pub resource: String,
    /// Its id.
    pub id: String,
    /// The kernel names of what it is made of.
    pub backing: Vec<String>,
    /// The nodes that an allocation hands out, the pool's shared ones included, each with the access that it is given with:
    /// `/dev/dri/card0 rw`.
    pub nodes: Vec<String>,
    /// What the component says of it.
    pub properties: BTreeMap<String, String>,
    /// The NUMA nodes that it is near.
    pub numa_nodes: BTreeSet<u32>,
    /// What the component said last of its health.
    pub verdict: Option<Verdict>,
    /// What is not as it should be with it, as far as the policy's `dra.conditions` names it.
    pub conditions: Vec<Condition>,
    /// Why it may not be handed out, if so: by the component's verdict, or by what the host finds.
    pub unhealthy: Option<String>,
}

impl Unit {
    /// Whether it may be handed out.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.unhealthy.is_none()
    }

    /// The value of a property.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }
}

impl Survey {
    /// The unit of this id.
    ///
    /// # Panics
    /// Where there is none; the message shows what there is.
    #[must_use]
    #[track_caller]
    pub fn unit(&self, id: &str) -> &Unit {
        let Some(unit) = self.units.iter().find(|unit| unit.id == id) else {
            panic!("there is no unit {id}; there is:\n{self}");
        };
        unit
    }

    /// The ids of a resource, sorted.
    #[must_use]
    pub fn ids(&self, resource: &str) -> Vec<&str> {
        let units = self.units.iter().filter(|unit| unit.resource == resource);
        units.map(|unit| unit.id.as_str()).collect()
    }

    /// Whether a line of the component has this text in it.
    #[must_use]
    pub fn has_said(&self, part: &str) -> bool {
        self.said.iter().any(|said| said.text.contains(part))
    }

    /// From what the host found.
    ///
    /// # Errors
    /// Complete text where a call of the component failed.
    pub(crate) fn of(surveyed: Surveyed, notes: &mut Notes) -> Result<Self, String> {
        let idle = match surveyed.outcome {
            Outcome::Idle => true,
            Outcome::Answered => false,
            Outcome::Failed(text) | Outcome::Blind(text) => return Err(text),
            Outcome::NotLoaded(failure) => return Err(failure.to_string()),
        };
        let unit = |unit: SurveyedUnit| Unit {
            unhealthy: unit.causes.reason().map(ToString::to_string),
            conditions: unit.conditions.to_vec(),
            verdict: notes.verdicts.get(unit.record.id.as_str()).cloned(),
            backing: unit.record.backing.iter().map(|device| device.name().to_owned()).collect(),
            nodes: unit.nodes().map(|n| format!("{} {}", n.node.path, n.grant.access)).collect(),
            resource: unit.resource.to_string(),
            id: unit.record.id.to_string(),
            properties: unit.record.properties.iter().cloned().collect(),
            numa_nodes: unit.record.numa_nodes.clone(),
        };
        Ok(Self {
            idle,
            units: surveyed.units.into_iter().map(unit).collect(),
            rejected: surveyed.rejected.iter().map(ToString::to_string).collect(),
            left_out: surveyed.left.iter().map(|left| left.id.to_string()).collect(),
            unread: surveyed.unread.into_iter().collect(),
            unused: surveyed.unused.iter().map(|device| device.location().to_owned()).collect(),
            said: std::mem::take(&mut notes.said),
            denied: std::mem::take(&mut notes.denied),
        })
    }
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.idle {
            writeln!(f, "idle: no selector matches a device of this node")?;
        }
        let mut resource = "";
        for unit in &self.units {
            if unit.resource != resource {
                writeln!(f, "{}", unit.resource)?;
                resource = &unit.resource;
            }
            write!(f, "{unit}")?;
        }
        let said: Vec<String> = self.said.iter().map(ToString::to_string).collect();
        for (what, lines) in [
            ("rejected", &self.rejected),
            ("left out", &self.left_out),
            ("unread", &self.unread),
            ("unused", &self.unused),
            ("said", &said),
            ("denied", &self.denied),
        ] {
            lines.iter().try_for_each(|line| writeln!(f, "{what}: {line}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Unit {
    /// Some lines, indented: id and health, then what else there is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unhealthy {
            None => writeln!(f, "  {}", self.id)?,
            Some(reason) => writeln!(f, "  {}: unhealthy: {reason}", self.id)?,
        }
        if let Some(Verdict::Unknown(reason)) = &self.verdict {
            writeln!(f, "    unknown: {reason}")?;
        }
        for Condition { key, effect, message } in &self.conditions {
            writeln!(f, "    {key} ({}): {message}", effect.as_str())?;
        }
        writeln!(f, "    of {}", self.backing.join(", "))?;
        self.nodes.iter().try_for_each(|node| writeln!(f, "    {node}"))?;
        let numa: Vec<String> = self.numa_nodes.iter().map(ToString::to_string).collect();
        if !numa.is_empty() {
            writeln!(f, "    numa {}", numa.join(", "))?;
        }
        let mut properties = self.properties.iter();
        properties.try_for_each(|(name, value)| writeln!(f, "    {name}={value}"))
    }
}
