//! The kubelet from hell: the real `devgate run` on a recorded node, a kubelet stand-in that does everything to it that
//! kubelets, nodes and operators do, and a look from outside at what is left.
//!
//! ```text
//!  seed ─► plan ─► world ─┬─ kubelet stand-in, its directory, its pods
//!          steps          ├─ one or two hosts, as processes
//!                         └─ recorded node
//!                   │
//!                   └─ after each calm: registrations, devices, pods, sockets, /proc, log ─► broken rules
//! ```
//!
//! The same seed gives the same steps and pauses. How the processes run meanwhile is the kernel's to say, so a rule that
//! breaks once may take several runs of the same plan to break again.

mod calm;
mod driver;
mod machine;
mod plan;
mod pods;
mod program;
mod step;
mod vandal;
mod world;

pub use driver::{Broken, Options, Report, Told, run};
pub use plan::{Mix, Plan};
pub use step::Step;
