//! `devgate-agent`: the second container of devgate's pod. It has a token of the API server and nothing of the node; the host, which has the
//! devices and no token, connects to its socket and says what it has.
//!
//! ```text
//!  host ── lines ──► host ──► publisher ── slices ──► server ──► API server
//!                      ├────► claims ───────────────────┤
//!                      └────► tell ── Events, status ───┘
//! ```
#![forbid(unsafe_code)]

mod claims;
mod cli;
mod exit;
mod host;
mod publisher;
mod run;
mod server;
mod slices;
mod tell;
#[cfg(test)]
mod tests;

pub use cli::Cli;
pub use exit::report;
pub use run::run;
