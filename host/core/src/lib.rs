//! One plugin per policy entry: its inventory, health and allocations, and the gate that every answer of a component
//! passes.
//!
//! ```text
//!   front ends ──► Offer ──► Resource ──► gate (inventory, reply) ──► Component ──► sandbox
//!                               │                                         │
//!                            Ledger (exclusive over all plugins)    Capabilities ──► Grants = policy × node
//! ```
//!
//! It knows neither WebAssembly (a [`devgate_types::component::Component`] is called through a trait) nor any front end's protocol
//! (they see [`offer::Offer`]s).
#![forbid(unsafe_code)]

pub mod cleanup;
pub mod labels;
pub mod offer;
pub mod state;
pub mod status;
pub mod workbench;

mod allocations;
mod backoff;
mod breaker;
mod call;
mod calls;
mod component_state;
mod device_info;
mod devices;
mod failures;
#[doc(hidden)]
pub mod fuzz;
mod grants;
mod health;
mod health_store;
mod held_units;
mod holders;
mod id_rate_limit;
mod inventory;
mod kernel_log;
mod keyed_lock;
mod ledger;
mod loader;
mod lockfile;
mod look;
mod placement;
mod plugin;
mod plugin_services;
mod plugins;
mod reclaim;
mod registry;
mod replica;
mod reply;
mod resource;
mod state_dir_lock;
mod survey;
mod uevents;
mod unit_table;
mod units;
mod watcher;
mod when;

pub use allocations::{
    AllocationId, Allocations, AllocationsError, Consumer, Listed, ListedClaim, Mode, NotForgotten, Recorded, accept,
    forget,
};
pub use backoff::{Backoff, jittered};
pub use devices::{Ask, Devices, Gone, Granted, Released};
pub use failures::{Failures, TaskFailed};
pub use grants::{Grants, Line, Match, NotGranted, PathMatch, Sight, Withheld};
pub use holders::{Holder, Holders, HoldersFeed, HoldersSource, Offered, Records, holders};
pub use keyed_lock::KeyedLock;
pub use loader::{LoadFailure, Loader};
pub use look::Found;
pub use plugin::{StatusReader, Surroundings};
pub use plugins::{Fewer, NotReloaded, Plugins, Reloaded};
pub use state_dir_lock::{HOST_SOCKET, NotLocked, StateDirLock};
pub use survey::{Outcome, Surveyed, SurveyedUnit, survey};
pub use units::{Cause, Causes, GrantedNode, LeftOut, Rejection, UnitRecord};

#[cfg(test)]
mod tests;
#[cfg(test)]
use tests::support as testing;
