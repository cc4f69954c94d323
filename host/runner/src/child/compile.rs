//! `devgate-compile`: reads or compiles one component, and ends.

use super::{ChildError, check_build, fence, numbers};
use crate::message::{join, split, wire};
use crate::program::COMPILER;
use devgate_confine::{Filter, Limits as Confinement, Network, begin, forbid};
use devgate_types::load::{Refusal, Scan};
use devgate_types::{ByteSize, Limits};
use std::io::{self, Read, Write};
use std::process::ExitCode;

/// What this process is called by its host.
pub const NAME: &str = COMPILER;
/// Input, output and errors are there already, and one is opened to give up the rest.
const OPEN_FILES: u64 = 4;
/// The longest order, in bytes.
const ORDER: usize = 4 << 10;

/// What can be done with a component's file.
pub struct Tools {
    /// Reads it, within these limits.
    pub scan: fn(&[u8], &Limits) -> Result<Scan, Refusal>,
    /// Compiles a component whose memories start with so much.
    pub compile: fn(&[u8], ByteSize) -> Result<Vec<u8>, Refusal>,
}

/// Does what it is called for, and says how it went on its output.
#[must_use]
pub fn main(tools: &Tools) -> ExitCode {
    let made = work(tools).unwrap_or_else(|why| Err(Refusal::Host(format!("{NAME}: {why}"))));
    let (kind, code) = made.unwrap_or_else(|refusal| (wire::made::Kind::Refused(refusal.into()), Vec::new()));
    let mut out = io::stdout().lock();
    let answer = join(&wire::Made { kind: Some(kind) }, &[]);
    let written = out.write_all(&answer).and_then(|()| out.write_all(&code));
    match written.and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// What is made, and the machine code that goes with it.
type Made = (wire::made::Kind, Vec<u8>);

fn work(tools: &Tools) -> Result<Result<Made, Refusal>, ChildError> {
    let (parent, [seconds, memory]) = numbers()?;
    confine(parent, seconds, memory)?;
    let mut input = Vec::new();
    io::stdin().lock().read_to_end(&mut input)?;
    let (order, component) = split::<wire::Order>(&input, ORDER).map_err(|why| ChildError::Told(why.to_string()))?;
    check_build(&order.build)?;
    let scanned = |scan: Scan| (wire::made::Kind::Scan(scan.into()), Vec::new());
    let compiled = |code| (wire::made::Kind::Compiled(true), code);
    match order.kind {
        Some(wire::order::Kind::Scan(limits)) => Ok((tools.scan)(component, &limits.into()).map(scanned)),
        Some(wire::order::Kind::Compile(memory)) => Ok((tools.compile)(component, ByteSize(memory)).map(compiled)),
        None => Err(ChildError::Told("there is no order".to_owned())),
    }
}

/// Before it reads a byte of a component.
fn confine(parent: u32, seconds: u64, memory: u64) -> Result<(), ChildError> {
    let limits = Confinement {
        address_space: memory,
        data: memory,
        file_size: 0,
        cpu_seconds: Some(seconds),
        open_files: OPEN_FILES,
        nice: 19,
    };
    begin(parent, c"devgate-compile", &limits)?;
    fence(Network::Refused)?;
    forbid(Filter::Running)?;
    Ok(())
}
