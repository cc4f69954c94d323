//! The policy: what the admin grants to each vendor's component.
//!
//! YAML text goes in, a [`Policy`] comes out, or every mistake at once with file, line and column. The rest of the host
//! asks it: may this plugin import that interface, does that selector match this device, how may that node be handed
//! out, may a container get this value. What the policy does not say is not granted.
//!
//! Pure: this crate opens no file, knows neither WebAssembly nor the kubelet, and never waits.
//!
//! ```text
//! files ── yaml (a tree with places) ── fields (strict) ── Policy ── PluginPolicy ─┬─ Selector    × DeviceFacts
//!                                                                                  ├─ HostNodes   × path
//!                                                                                  ├─ Files       × path
//!                                                                                  ├─ Containers  × Record
//!                                                                                  ├─ place       × UnitFacts
//!                                                                                  └─ grants      × interface
//! ```
#![forbid(unsafe_code)]

mod attribute;
mod component;
mod conflicts;
mod container_path;
mod containers;
mod control;
mod dangerous;
mod dra;
mod error;
mod exec;
mod fields;
mod files;
mod filter;
mod grant;
mod health;
mod host_nodes;
mod kernel_log;
mod key;
mod labels;
mod limits;
mod nodes;
mod parse;
mod partitions;
mod path;
mod pattern;
mod plugin;
mod qualified;
mod resources;
mod selector;
#[cfg(test)]
mod tests;
mod time;
mod value_rule;
pub mod yaml;

pub use attribute::attribute_rule;
pub use component::ComponentSource;
pub use container_path::ContainerPath;
pub use containers::{Containers, MountGrant, RuleEntry, Rules, ValueRules, dangerous_annotation, is_cdi_device};
pub use control::Control;
pub use dangerous::{Danger, dangerous_if_writable, dangerous_mount, dangerous_node};
pub use devgate_types::Grant;
pub use dra::{Dra, FactRule, Facts, Parameters};
pub use error::{PolicyError, PolicyErrors};
pub use exec::Exec;
pub use files::{FileDenied, Files};
pub use filter::{Filter, Placed, Rename, UnitFacts};
pub use health::Health;
pub use host_nodes::HostNodes;
pub use kernel_log::KernelPattern;
pub use key::nearest;
pub use labels::{Derived, LabelRule, LabelUnit, Labels, NoLabel};
pub use nodes::{NodeGrant, NodeOffer};
pub use parse::parse;
pub use partitions::Partitions;
pub use plugin::{Origin, Placement, PluginPolicy, Prepare};
pub use resources::ResourceGrant;
pub use selector::{DeviceFacts, Selector, Use};
pub use time::parse as parse_duration;
pub use value_rule::{Expected, Record, Template, ValueRule};

use devgate_types::PluginName;
use indexmap::IndexMap;

/// The format's version: `apiVersion` of every file.
pub const API_VERSION: &str = "devgate.dev/v1alpha1";
/// `kind` of every file.
pub const KIND: &str = "Policy";

/// One file of a policy, already read.
#[derive(Debug, Clone, Copy)]
pub struct PolicyFile<'a> {
    /// How to name it in messages.
    pub name: &'a str,
    /// Its text, at most 1 MiB.
    pub text: &'a str,
}

/// What the admin grants, to all plugins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// In the order of the files, then of the entries in a file: the earlier one keeps what two claim.
    pub plugins: IndexMap<PluginName, PluginPolicy>,
}
