//! The benchmark: what `docs/` promises, measured side by side in one run, as one table and as JSON.
//!
//! Not a test: a busy machine makes every figure worse, so nothing fails here but what cannot be measured at all.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

#[path = "bench/call.rs"]
mod call;
#[path = "bench/change.rs"]
mod change;
#[path = "bench/choose.rs"]
mod choose;
#[path = "bench/claim.rs"]
mod claim;
#[path = "bench/floor.rs"]
mod floor;
#[path = "bench/handover.rs"]
mod handover;
#[path = "bench/held.rs"]
mod held;
#[path = "bench/list.rs"]
mod list;
#[path = "bench/load.rs"]
mod load;
#[path = "bench/neighbours.rs"]
mod neighbours;
#[path = "bench/socket.rs"]
mod socket;
#[path = "bench/table.rs"]
mod table;

use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use table::Table;

/// Measures devgate against its budgets, and against a floor in the same run.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench --")]
struct Args {
    /// Calls for each figure of the socket; fewer are quicker and noisier
    #[arg(long, default_value_t = 5_000)]
    calls: usize,

    /// Seconds to watch an idle host
    #[arg(long, default_value_t = 20)]
    idle: u64,

    /// Measure only this part
    #[arg(long, value_enum)]
    only: Option<Part>,

    /// Where the figures go as JSON [default: bench.json beside the components]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Serve an empty method on this socket instead: the floor, as a process of its own
    #[arg(long, value_name = "SOCKET", hide = true)]
    floor: Option<PathBuf>,
}

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// `Allocate` over the socket
    Socket,
    /// The first `Allocate` of an id and later ones, beside what is held
    Held,
    /// A claim over a driver's socket
    Claim,
    /// A call in this process
    Call,
    /// From a change of the hardware to the kubelet's list, and long lists
    Change,
    /// Choosing devices, in this process
    Choose,
    /// Listing devices, in this process
    List,
    /// Start, memory and idleness
    Load,
    /// From one host to the next
    Handover,
    /// `Allocate` beside each attacker: minutes, and only where it is named
    Neighbours,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if let Some(socket) = &args.floor {
        return runtime.block_on(floor::serve(socket));
    }
    let mut table = Table::default();
    let measured = |part| args.only.is_none_or(|only| only == part);
    if measured(Part::Socket) {
        runtime.block_on(socket::measure(&mut table, args.calls))?;
    }
    if measured(Part::Held) {
        runtime.block_on(held::measure(&mut table))?;
    }
    if measured(Part::Claim) {
        runtime.block_on(claim::measure(&mut table))?;
    }
    if measured(Part::Call) {
        call::measure(&mut table, args.calls)?;
    }
    if measured(Part::Change) {
        runtime.block_on(change::measure(&mut table))?;
    }
    if measured(Part::Choose) {
        runtime.block_on(choose::measure(&mut table, args.calls))?;
    }
    if measured(Part::List) {
        list::measure(&mut table, args.calls)?;
    }
    if measured(Part::Load) {
        runtime.block_on(load::measure(&mut table, args.idle))?;
    }
    if measured(Part::Handover) {
        runtime.block_on(handover::measure(&mut table))?;
    }
    if args.only == Some(Part::Neighbours) {
        runtime.block_on(neighbours::measure(&mut table))?;
    }
    let json = match args.json {
        Some(file) => file,
        None => devgate_tests::components()?.with_file_name("bench.json"),
    };
    std::fs::write(&json, table.json()?)?;
    println!("{}\n\nAlso in {}", table.text(), json.display());
    Ok(())
}
