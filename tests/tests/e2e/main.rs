//! End to end: the real program, real sockets, real components, this machine's devices and recorded ones.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests, their shared functions included"
)]

mod admins;
mod allocations;
mod attackers;
mod bad_components;
mod bad_policies;
mod by_name;
mod call;
mod chaos;
mod check;
mod check_nodes;
mod claimed;
mod cleanup;
mod cncf_library;
mod colour;
mod compiling;
mod completions;
mod conditions;
mod config_schema;
mod confinement;
mod conform;
mod conformance;
mod demo;
mod dev;
mod device_info;
mod docs;
mod examples;
mod exec;
mod explain;
mod fleet;
mod foreign;
mod grants;
mod guide;
mod help;
mod hgx;
mod image;
mod inspect;
mod kills;
mod kubelets;
mod labels;
mod languages;
mod leases;
mod life;
mod look;
mod manifests;
mod memory;
mod migrate;
mod misfit;
mod mistakes;
mod monitoring;
mod new_project;
mod nvidia;
mod offers;
mod optional;
mod pack;
mod page;
mod parity;
mod plan;
mod podman;
mod programs;
mod prometheus;
mod readable;
mod record;
mod registry;
mod reload;
mod runners;
mod service;
mod simulate;
mod small_node;
mod state;
mod take_over;
mod threats;
mod traps;
mod version_0_1;
mod wat_component;
mod way;
