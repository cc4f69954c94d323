//! Takes from the calling process what it does not need: for the host, and more for its children that run or compile what vendors wrote, or fetch it.
//!
//! A child calls, in this order and before it starts a thread:
//!
//! 1. [`begin`]: it ends with its parent, gains no right, is not looked into, and is the first to go where the node is short.
//! 2. [`drop_files`]: the kernel opens no file for it and connects it to nothing (Landlock).
//! 3. [`forbid`] with [`Filter::Loading`]: threads and executable memory are all that it may still make (seccomp).
//! 4. [`forbid`] with [`Filter::Running`], once all its threads are there: it computes, and talks over descriptors that it has.
//!
//! One that fetches keeps the network, and calls [`forbid`] once, with [`Filter::Pulling`].
//!
//! The host calls, before it starts a thread: [`hide`], [`keep_inherited`], [`drop_capabilities`], [`fence_host`], and [`forbid`] with [`Filter::Host`].
//!
//! The agent does as the host, with [`Filter::Agent`], once it listens.
//!
//! Nothing of this is undone while the process lives. The crate knows neither components nor the host.

#![deny(unsafe_code)]

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("the tables of system calls are for Linux on x86_64 and aarch64");

mod begin;
mod drop_files;
mod error;
mod forbid;
mod host;
mod inherited;
mod landlock;
mod limits;
mod program;
mod table;

pub use begin::begin;
pub use drop_files::{Network, drop_files};
pub use error::Error;
pub use forbid::{Filter, forbid};
pub use host::{HostFiles, drop_capabilities, fence_host, hide};
pub use inherited::keep_inherited;
pub use landlock::Landlock;
pub use limits::Limits;
pub use table::{Answer, Argument, Line, UNFILTERED, lines};
