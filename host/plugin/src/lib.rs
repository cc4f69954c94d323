//! One plugin per policy entry: its inventory, health and allocations, and the gate that every answer of a component
//! passes.
#![forbid(unsafe_code)]

pub mod component;
pub mod offer;
