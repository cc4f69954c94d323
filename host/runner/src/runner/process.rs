//! A runner's process: how it starts, and how it has ended.

use super::Start;
use super::lane::{Ended, Lane, Wanted};
use crate::message::wire::{self, from_runner, to_runner};
use crate::program::wait;
use crate::socket::{MAX_UP, Socket, SocketError};
use devgate_types::component::{Capabilities, Cost, Output};
use devgate_types::load::Refusal;
use devgate_types::{CallError, GuestFault, GuestText, HostFault, Mutex};
use rustix::process::Signal;
use std::io::{self, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a process that was killed is waited for: one that the kernel does not let go ends later.
const KILLED: Duration = Duration::from_secs(1);
/// How long one that has closed its sockets is waited for before it is killed: how it ends by itself says more.
const CLOSED: Duration = Duration::from_millis(20);

/// A process that is ready.
#[derive(Debug)]
pub(super) struct Process {
    state: Mutex<State>,
    /// Calls that pods wait for have one of their own.
    lanes: [Mutex<Lane>; 2],
}

#[derive(Debug)]
struct State {
    child: Child,
    /// Why its host ended it, where it did, and how it ended otherwise.
    ended: Option<CallError>,
}

impl Start {
    /// Starts one, and waits so long until it is ready. The error says what is wrong with the component, or with this
    /// host.
    pub(super) fn process(&self, patience: Duration) -> Result<Process, Refusal> {
        let fault = |error: io::Error| Refusal::Host(format!("cannot start a runner: {error}"));
        let (first, its_first) = UnixStream::pair().map_err(fault)?;
        let (second, its_second) = UnixStream::pair().map_err(fault)?;
        (&self.code).rewind().map_err(fault)?;
        let code = self.code.try_clone().map_err(fault)?;
        let mut command = self.program.command([self.memory.address_space, self.memory.data]);
        command
            .stdin(Stdio::from(OwnedFd::from(its_first)))
            .stdout(Stdio::from(OwnedFd::from(its_second)))
            .stderr(Stdio::from(OwnedFd::from(code)));
        let child = self.spawner.spawn(command).map_err(fault)?;
        let lane = |end: UnixStream| Socket::patient(end.into()).map(Lane::new);
        let lanes = lane(first).and_then(|first| Ok([Mutex::new(first), Mutex::new(lane(second)?)]));
        let process = Process { state: Mutex::new(State { child, ended: None }), lanes: lanes.map_err(fault)? };
        process.load(&self.load, patience)?;
        Ok(process)
    }
}

impl Process {
    fn load(&self, load: &wire::Load, patience: Duration) -> Result<(), Refusal> {
        let [first, _] = &self.lanes;
        let mut lane = first.lock();
        let socket = &mut lane.socket;
        socket.wait_until(Instant::now() + patience);
        let load = wire::ToRunner { kind: Some(to_runner::Kind::Load(load.clone())) };
        let answer = socket.send(&load).and_then(|()| socket.receive::<wire::FromRunner>(MAX_UP));
        let fault = match answer.map(|message| message.kind) {
            Ok(Some(from_runner::Kind::Ready(_))) => return Ok(()),
            Ok(Some(from_runner::Kind::Refused(refusal))) => return Err(refusal.into()),
            Ok(_) => "it says something that is not in the protocol".to_owned(),
            Err(SocketError::Closed) => self.lost().to_string(),
            Err(why) => why.to_string(),
        };
        Err(Refusal::Host(format!("a runner could not load the component: {fault}")))
    }

    /// Makes a call; others on the same lane wait for its end.
    pub(super) fn call(&self, wanted: &Wanted, host: &mut dyn Capabilities) -> Result<(Output, Cost), Ended> {
        let [first, second] = &self.lanes;
        let lane = if wanted.is_waited_for() { first } else { second };
        lane.lock().call(wanted, host)
    }

    pub(super) fn is_running(&self) -> bool {
        let mut state = self.state.lock();
        state.ended.is_none() && matches!(state.child.try_wait(), Ok(None))
    }

    /// Ends it for what a call did. Calls beside it are told so.
    pub(super) fn end(&self, call: &str, why: &CallError) {
        let mut state = self.state.lock();
        let _ = state.child.kill();
        wait(&mut state.child, KILLED);
        let what = GuestText::new(&format!("its host ended it for another call: {call} {why}"));
        state.ended.get_or_insert_with(|| GuestFault::Ended(what).into());
    }

    /// Says why one ended that has closed its sockets.
    pub(super) fn lost(&self) -> CallError {
        let mut state = self.state.lock();
        if let Some(why) = &state.ended {
            return why.clone();
        }
        let status = wait(&mut state.child, CLOSED);
        let why = match status {
            Some(status) => how(status),
            None => GuestFault::Ended(GuestText::new("it closed its sockets")).into(),
        };
        let _ = state.child.kill();
        wait(&mut state.child, KILLED);
        state.ended.insert(why).clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        let _ = state.child.kill();
        wait(&mut state.child, KILLED);
    }
}

/// How a process ended that its host did not end.
fn how(status: ExitStatus) -> CallError {
    let guest = |what: &str| GuestFault::Ended(GuestText::new(&format!("{what} ({status})"))).into();
    match status.signal().and_then(Signal::from_named_raw) {
        Some(Signal::SYS) => guest("it tried a system call that no component needs"),
        Some(Signal::ABORT) => guest("it had no more memory, or broke"),
        Some(Signal::SEGV | Signal::BUS | Signal::ILL | Signal::FPE) => guest("it crashed"),
        Some(Signal::KILL) => HostFault(
            "the component's process was killed: the node, the container or the service is short of memory".to_owned(),
        )
        .into(),
        _ => guest("it ended by itself"),
    }
}
