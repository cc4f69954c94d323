//! What a component for devgate is written with: the contract (`wit/` of this repository) as Rust types, a macro that
//! exports a type as a component, and an allocator made for instances that live for one call.
//!
//! ```
//! use devgate_sdk::{Device, Edits, Error, Plugin, Pool, Unit, Verdict, hardware};
//!
//! struct Fpga;
//!
//! impl Plugin for Fpga {
//!     fn enumerate() -> Result<Vec<Pool>, Error> {
//!         let unit = |device: Device| Ok(Unit::of(device.name(), device.duplicate(), device.nodes()?));
//!         let units: Result<Vec<Unit>, Error> = hardware::devices("fpga_region")?.into_iter().map(unit).collect();
//!         Ok(vec![Pool::new("vendor.com/fpga", units?)])
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
//! The functions that ask the host ([`hardware`], [`files`], the methods of [`Device`]) exist in a component only and
//! panic elsewhere: keep decisions in plain functions, and unit tests run on the machine at hand. A component imports
//! what it calls and nothing else, so that it needs no grant for what it does not use; nothing of WASI comes in.

#[cfg(all(target_family = "wasm", feature = "arena"))]
mod arena;
#[doc(hidden)]
pub mod bindings;
#[doc(hidden)]
pub mod export;
mod failure;
pub mod log;
#[cfg(any(test, all(target_family = "wasm", feature = "arena")))]
mod place;
mod records;

pub use bindings::devgate::plugin::types::{
    Device, Edits, Error, ErrorKind, MountSource, Node, NodeKind, Pool, Property, Unit, Verdict,
};
pub use bindings::devgate::plugin::{config, control, files, hardware, host_paths, kernel_log, state};
pub use bindings::exports::devgate::plugin::plugin::Guest as Plugin;
pub use bindings::with_lifecycle::exports::devgate::plugin::lifecycle::Guest as Lifecycle;
pub use bindings::with_preference::exports::devgate::plugin::preference::Guest as Preference;
pub use failure::{Context, Presence};
