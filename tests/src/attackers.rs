//! Hostile components, one in each file of `tests/attackers`: how such a file is read, and how a component is made of it.
//!
//! `tests/attackers/format.txt` says what a file is, and how one is run.

mod assembler;
mod component;
mod expand;
mod form;
mod header;
mod read;

pub use header::{Ask, Header, Off, Win};
pub use read::{Attacker, all, of_class};

/// Each way to attack, which is a folder of `tests/attackers`.
pub const CLASSES: [&str; 18] = [
    "cpu",
    "memory",
    "stack-and-tables",
    "handles",
    "host-calls",
    "logs",
    "shapes-and-sizes",
    "names",
    "compile",
    "sections",
    "wasi",
    "state",
    "time",
    "deputies",
    "replay",
    "reload",
    "policy-edges",
    "native",
];
