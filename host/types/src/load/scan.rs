//! What a look at a component's file finds, without compiling any of it.

use super::refusal::Refusal;
use crate::{ByteSize, Limits};
use std::collections::BTreeSet;
use std::fmt::Display;

/// What was found at a component's outermost level, and how much in all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// The names of what it imports, in its own order.
    pub imports: Vec<String>,
    /// Those of them that name types for others and have nothing to call.
    pub types_alone: BTreeSet<String>,
    /// Those of them that it says it can do without.
    pub optional: BTreeSet<String>,
    /// The names of what it exports, in its own order.
    pub exports: Vec<String>,
    /// How much of what it has.
    pub counts: Counts,
}

/// How much of what a component has, all that is nested in it counted: what `limits:` of the policy bounds before anything
/// is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Functions (`limits.functions`).
    pub functions: u32,
    /// The largest function's code (`limits.function-size`).
    pub function_size: ByteSize,
    /// Linear memories (`limits.memories`).
    pub memories: u32,
    /// What all of them together start with (`limits.memory`); a call usually needs more.
    pub memory: ByteSize,
    /// Tables (`limits.tables`).
    pub tables: u32,
    /// What the largest of them starts with (`limits.table-elements`).
    pub table_elements: u64,
    /// Core instances, as they stand in the file (`limits.instances`, which holds for what each call makes, too).
    pub instances: u32,
}

impl Counts {
    /// Refuses what is more than a component may have. Fails with [`Refusal::Limit`], for the first of them.
    pub fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        Refusal::above("functions", self.functions, limits.functions, Some("limits.functions"))?;
        if self.function_size > limits.function_size {
            return Err(Refusal::Limit {
                what: format!("component has a function of {} bytes", self.function_size.0),
                most: limits.function_size.to_string(),
                key: Some("limits.function-size"),
            });
        }
        Refusal::above("memories", self.memories, limits.memories, Some("limits.memories"))?;
        if self.memory > limits.memory {
            return Err(Refusal::Limit {
                what: format!("component starts with {} of memory", self.memory),
                most: limits.memory.to_string(),
                key: Some("limits.memory"),
            });
        }
        Refusal::above("tables", self.tables, limits.tables, Some("limits.tables"))?;
        let (elements, most) = (self.table_elements, limits.table_elements.into());
        Refusal::above("table elements", elements, most, Some("limits.table-elements"))?;
        let key = Some("limits.instances");
        Refusal::above("core instances", self.instances, limits.instances, key)
    }
}

impl Refusal {
    /// Refuses a component that has more of something than the most, which the policy has this key for.
    pub fn above<N: PartialOrd + Display>(
        what: &str,
        found: N,
        most: N,
        key: Option<&'static str>,
    ) -> Result<(), Refusal> {
        if found <= most {
            return Ok(());
        }
        Err(Refusal::Limit { what: format!("component has {found} {what}"), most: most.to_string(), key })
    }
}
