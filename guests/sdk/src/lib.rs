//! What a component for devgate is written with: the contract (`wit/` of this repository) as Rust types, a macro that
//! exports a type as a component, and an allocator made for instances that live for one call.
//!
//! ```
//! use devgate_sdk::{Edits, Error, Plugin, Pool, Unit, Verdict, hardware};
//!
//! struct Fpga;
//!
//! impl Plugin for Fpga {
//!     fn enumerate() -> Result<Vec<Pool>, Error> {
//!         let (mut units, mut unread) = (Vec::new(), Vec::new());
//!         for device in hardware::devices("fpga_region")? {
//!             match device.nodes() {
//!                 Ok(nodes) => units.push(Unit::of(device.name(), device, nodes)),
//!                 // One that cannot be described now costs itself alone.
//!                 Err(_) => unread.push(device.name()),
//!             }
//!         }
//!         Ok(vec![Pool::new("vendor.com/fpga", units).with_unread(unread)])
//!     }
//!
//!     fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
//!         let verdict = |unit: &Unit| match unit.backing.first().map(|device| device.attribute("status")) {
//!             Some(Ok(status)) if status == "ok" => Verdict::Healthy,
//!             Some(Ok(status)) => Verdict::Unhealthy(format!("status reads {status}")),
//!             Some(Err(error)) => Verdict::Unknown(error.message),
//!             None => Verdict::Unhealthy("the device is gone".to_owned()),
//!         };
//!         Ok(units.iter().map(verdict).collect())
//!     }
//!
//!     fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
//!         Ok(Edits::none())
//!     }
//! }
//!
//! devgate_sdk::export!(Fpga);
//! ```
//!
//! A component imports what it calls and nothing else, so that it needs no grant for what it does not use; nothing of WASI
//! comes in. On any other target than WebAssembly the same types and functions ask a host that a test brings along
//! ([`native`]): with `devgate-testing` that is devgate's own plugin layer, over a policy and a recorded node.

#[cfg(all(target_family = "wasm", feature = "arena"))]
mod arena;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod bindings;
#[doc(hidden)]
pub mod export;
mod failure;
#[cfg(feature = "config")]
pub mod fields;
pub mod log;
#[cfg(not(target_family = "wasm"))]
pub mod native;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod panic;
#[cfg(any(test, all(target_family = "wasm", feature = "arena")))]
mod place;
mod records;
mod same;

#[cfg(target_family = "wasm")]
pub use bindings::devgate::plugin::types::{
    Device, Edits, Error, ErrorKind, MountSource, Node, NodeKind, Pool, Property, Unit, Verdict,
};
#[cfg(target_family = "wasm")]
pub use bindings::devgate::plugin::{config, control, files, hardware, host_paths, kernel_log, state};
#[cfg(target_family = "wasm")]
pub use bindings::exports::devgate::plugin::plugin::Guest as Plugin;
#[cfg(target_family = "wasm")]
pub use bindings::later::devgate::plugin0_1_1::{clock, uevents};
#[cfg(target_family = "wasm")]
pub use bindings::with_conditions::exports::devgate::plugin0_1_1::conditions::{
    Condition, Effect, Guest as Conditions,
};
#[cfg(target_family = "wasm")]
pub use bindings::with_lifecycle::exports::devgate::plugin::lifecycle::Guest as Lifecycle;
#[cfg(target_family = "wasm")]
pub use bindings::with_parameters::exports::devgate::plugin0_1_1::parameters::{Guest as Parameters, Origin, Setting};
#[cfg(target_family = "wasm")]
pub use bindings::with_preference::exports::devgate::plugin::preference::Guest as Preference;
pub use failure::{Context, Presence};
#[cfg(not(target_family = "wasm"))]
pub use native::{
    Condition, Conditions, Device, Edits, Effect, Error, ErrorKind, Lifecycle, MountSource, Node, NodeKind, Origin,
    Parameters, Plugin, Pool, Preference, Property, Setting, Unit, Verdict, clock, config, control, files, hardware,
    host_paths, kernel_log, state, uevents,
};

/// The examples of the pages for vendors, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/components.md")]
#[doc = include_str!("../../PORTING.md")]
struct Pages;
