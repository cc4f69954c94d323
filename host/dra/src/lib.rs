//! devgate's front end for Kubernetes' dynamic resource allocation: each driver that offers name is one of the kubelet's, a cluster's
//! scheduler picks its devices, and pods have them by claims.
//!
//! ```text
//!  plugins_registry/<driver>@reg.sock ◄── GetInfo ──────────────┐
//!  plugins_registry/.<driver>.sock ◄── Prepare, Unprepare, health ──── kubelet
//!      │                                                        
//!      ├─ Claims (cdi) ──► Devices (core), files
//!      └─ agent ── devices ──► ResourceSlices, claims ── API server
//! ```
//!
//! What a claim was given is asked of the agent once, and kept here: what is prepared stays so, and can be ended, without an agent.
#![forbid(unsafe_code)]

mod agent;
mod asks;
mod config;
mod counters;
mod driver;
mod drivers;
mod health;
mod inventory;
mod leftovers;
mod paths;
mod plugin;
mod prepare;
mod publish;
mod sockets;
mod status;

pub use config::{ClaimName, DraConfig, DraError, InUse};
pub use devgate_agent_protocol::{Holds, Judged, Unhealthy, User};
pub use drivers::serve;
pub use paths::left_behind;
pub use status::{AgentStatus, DraStatus, DraWatch, DriverStatus, Phase};
