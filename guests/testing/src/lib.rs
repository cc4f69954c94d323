//! Runs a component natively in a test: against a policy and a recorded node, through the plugin layer of a real host, without
//! WebAssembly and without a host that runs.
//!
//! ```
//! # use devgate_sdk::{Device, Edits, Error, Plugin, Pool, Unit, Verdict, hardware};
//! # struct Fpga;
//! # impl Plugin for Fpga {
//! #     fn enumerate() -> Result<Vec<Pool>, Error> {
//! #         let unit = |device: Device| Ok(Unit::of(device.name(), device.duplicate(), device.nodes()?));
//! #         let units: Result<Vec<Unit>, Error> = hardware::devices("fpga_region")?.into_iter().map(unit).collect();
//! #         Ok(vec![Pool::new("vendor.com/fpga", units?)])
//! #     }
//! #     fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
//! #         let verdict = |unit: &Unit| match unit.backing[0].attribute("status") {
//! #             Ok(status) if status == "ok" => Verdict::Healthy,
//! #             Ok(status) => Verdict::Unhealthy(format!("status reads {status}")),
//! #             Err(error) => Verdict::Unknown(error.message),
//! #         };
//! #         Ok(units.iter().map(verdict).collect())
//! #     }
//! #     fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
//! #         Ok(Edits::none())
//! #     }
//! # }
//! # devgate_sdk::export!(Fpga);
//! # mod files {
//! #     pub const POLICY: &str = "
//! # apiVersion: devgate.dev/v1alpha1
//! # kind: Policy
//! # plugins:
//! #   fpga:
//! #     component: {file: fpga.wasm}
//! #     resources: [vendor.com/fpga]
//! #     hardware:
//! #       - {subsystem: fpga_region, use: offer, nodes: [{access: rw}]}
//! # ";
//! #     pub const NODE: &str = "
//! # P: /devices/pci0000:00/0000:00:02.0/fpga_region/region0
//! # N: fpga0
//! # E: SUBSYSTEM=fpga_region
//! # E: DEVNAME=/dev/fpga0
//! # E: MAJOR=240
//! # E: MINOR=0
//! # A: status=ok\\n
//! #
//! # ";
//! # }
//! # use files::{NODE, POLICY};
//! use devgate_testing::Rig;
//!
//! // In a component's crate: include_str!("../policy.yaml"), include_str!("../nodes/one-card.umockdev").
//! let mut rig = Rig::of::<Fpga>(POLICY, "fpga", NODE);
//!
//! let survey = rig.survey();
//! let region = survey.unit("region0");
//! assert_eq!(region.nodes, ["/dev/fpga0 rw"]);
//! assert!(region.is_healthy() && survey.rejected.is_empty() && survey.denied.is_empty());
//!
//! let reply = rig.allocate("vendor.com/fpga", &["region0"]).unwrap();
//! assert_eq!(reply.nodes[0].container_path, "/dev/fpga0");
//!
//! rig.set("fpga_region/region0", "status", "parity error\n");
//! assert_eq!(rig.survey().unit("region0").unhealthy.as_deref(), Some("status reads parity error"));
//! let refused = rig.allocate("vendor.com/fpga", &["region0"]).unwrap_err();
//! assert!(refused.to_string().contains("is unhealthy: status reads parity error"));
//! ```
//!
//! Put it beside the component and leave the component as it is:
//!
//! ```toml
//! [dev-dependencies]
//! devgate-testing = { path = "…/guests/testing" }
//! ```
//!
//! # What is real
//!
//! Everything but WebAssembly. A component's calls go through the same grants, handles, gate, inventory, health, ledger and
//! checks of the reply as in production; what the rig shows is what a host that runs would do. So a test sees what the policy
//! refuses ([`Survey::denied`], [`Survey::rejected`]) and what the kubelet would be told.
//!
//! Different is:
//!
//! - **Time.** The host looks when a test asks it to ([`Rig::survey`]), and counts what it finds at once: `unhealthy-after` and
//!   `healthy-after` are 0, deadlines are a minute. Time and memory of a call are not limited; its handles, calls to the host
//!   and reads are.
//! - **Statics.** A component's instance is new for each call, and a native process is not. A handle that is kept from one call
//!   to the next is noticed and fails the test; any other `static` is not noticed. Do not have one.
//! - **Grants.** A host refuses to *load* a component that has a call to `files` in it anywhere if the policy grants no `files:`.
//!   The rig sees only calls that are made: then the test fails, with the key that the policy lacks. `devgate check` sees all. What
//!   the component can do without ([`Rig::can_do_without`]) answers as in a host.
//!
//! A panic of the component is the test's, with its message: a host would see a trap.
//!
//! For a whole host with a kubelet, pods and restarts, over the finished `.wasm`, see `devgatectl simulate`.
#![forbid(unsafe_code)]
#![cfg(not(target_family = "wasm"))]
#![allow(clippy::panic, reason = "this crate is for tests, where what is wrong is a panic")]

mod answer;
mod asked;
mod native;
mod rig;
mod seen;
mod survey;

pub use devgate_core::offer::{AllocateError, MountEdit, NodeEdit, Reply};
pub use devgate_fake_node::Change;
pub use devgate_types::component::LogLevel;
pub use devgate_types::{Access, Condition, Effect, Origin, Verdict};
pub use rig::Rig;
pub use seen::{Call, Said, Write};
pub use survey::{Survey, Unit};
