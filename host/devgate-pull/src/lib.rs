//! Speaking to registries. What `devgate-pull` does: fetches what one order names, in a process that opens no file and ends; and for
//! `devgatectl`, which pushes, the same session in its own process.
#![forbid(unsafe_code)]

mod artifact;
mod beside;
mod child;
mod error;
mod names;
mod session;
mod tls;
mod way;

pub use beside::Referrer;
pub use child::{NAME, main};
pub use session::{Replied, Session, Tell};
