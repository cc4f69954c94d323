//! Either end of a message's way, for bytes of any kind: what `tests/fuzz` calls, and nothing else.

use crate::child::run::{Callee, serve};
use crate::compile::{compiled, scanned};
use crate::message::{kind, split, wire};
use crate::runner::{Ended, Interfaces, Lane, Wanted};
use crate::socket::Socket;
use devgate_types::component::{Call, Capabilities, Output};
use devgate_types::load::{Refusal, Scan};
use devgate_types::{Unit, answer};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;

/// The host's end: a call of the function with this number, of a component that imports all of the contract, whose runner says these
/// bytes, whatever it is asked, and ends.
pub fn call(said: &[u8], function: u32, host: &mut dyn Capabilities) -> Result<Output, String> {
    let imports = ["hardware", "host-paths", "files", "kernel-log", "control", "state", "uevents"];
    let imports = imports.map(|name| format!("devgate:plugin/{name}@0.1.0"));
    let call = Call { kind: kind(function), ..Call::default() };
    let wanted = Wanted::new(&call, Interfaces::of(&imports), host);
    let called = between(said, |end| {
        let mut lane = Lane::new(Socket::patient(end.into())?);
        Ok(lane.call(&wanted, host))
    });
    let (called, _) = called.map_err(|error| error.to_string())?;
    let output = match called {
        Ok((output, _)) => output,
        Err(Ended::Fault(fault)) => return Err(fault.to_string()),
        Err(Ended::NotBegun) => return Err("not begun".to_owned()),
        Err(Ended::Lost) => return Err("lost".to_owned()),
        Err(Ended::Late(limit)) => return Err(format!("late: {limit}")),
        Err(Ended::Broke(what)) => return Err(what),
    };
    // As many as there are verdicts of.
    let unit = Unit { id: String::new(), backing: Vec::new(), nodes: Vec::new(), properties: Vec::new() };
    let units = vec![unit; output.verdicts.len()];
    answer::check(&Call { units: &units, ..call }, output).map_err(|fault| fault.to_string())
}

/// The child's end: a runner of a component that is called so, whose host says these bytes and goes. What the runner said.
pub fn run(said: &[u8], callee: &Callee) -> io::Result<Vec<u8>> {
    let served = between(said, |end| {
        serve(Socket::blocking(end.into()), callee);
        Ok(())
    });
    served.map(|((), heard)| heard)
}

/// The compiler's end: whether these bytes are an order, and of which component.
#[must_use]
pub fn order(said: &[u8]) -> Option<&[u8]> {
    split::<wire::Order>(said, 4 << 10).ok().map(|(_, component)| component)
}

/// What the host takes a compiler's word for: of a look at a component, and of machine code.
pub fn made(said: &[u8]) -> (Result<Scan, Refusal>, Result<&[u8], Refusal>) {
    (scanned(said), compiled(said))
}

/// Has `work` do something with one end of a pair of sockets, whose other end says these bytes and no more; what it heard.
fn between<T>(said: &[u8], work: impl FnOnce(UnixStream) -> io::Result<T>) -> io::Result<(T, Vec<u8>)> {
    let (ours, mut theirs) = UnixStream::pair()?;
    let mut hears = theirs.try_clone()?;
    thread::scope(|scope| {
        scope.spawn(move || {
            // A reader that is told more than it wants goes away before all is said.
            let _ = theirs.write_all(said);
            let _ = theirs.shutdown(Shutdown::Write);
        });
        let heard = scope.spawn(move || {
            let mut heard = Vec::new();
            let _ = hears.read_to_end(&mut heard);
            heard
        });
        let done = work(ours)?;
        Ok((done, heard.join().unwrap_or_default()))
    })
}
