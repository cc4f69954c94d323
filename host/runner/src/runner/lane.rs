//! One call after the other, over one socket.

use super::collect::Collected;
use super::host_calls::{Interfaces, serve};
use super::prefetch::Habits;
use crate::message::{
    self,
    wire::{self, answer::Answer as Given, from_runner, to_runner},
};
use crate::socket::{MAX_UP, Socket, SocketError};
use devgate_types::component::{Call, CallKind, Capabilities, Cost, Output};
use devgate_types::{ByteSize, CallError, Limit, Limits};
use std::time::{Duration, Instant};

/// How long a runner may take to end a call by itself once it is over its deadline. Less than what the host waits beyond it.
const GRACE: Duration = Duration::from_millis(150);
/// A wait that ended this much too late was not the runner's: the whole machine or container had been stopped.
const OVERSLEPT: Duration = Duration::from_millis(50);
/// The longest configuration that goes with each call, in bytes; a longer one is asked for.
const CONFIG: usize = 4 << 10;
/// What a line of the log counts besides its text.
const LINE: u64 = 128;
/// What says that there were more comes when there is no room any more.
const LAST_LINE: u64 = 1 << 10;

/// A call that is to be made.
pub(crate) struct Wanted {
    pub(super) message: wire::ToRunner,
    pub(super) kind: CallKind,
    pub(super) interfaces: Interfaces,
    pub(super) limits: Limits,
    /// How long it may take: the deadline, or what is left of it.
    pub(super) most: Duration,
}

impl Wanted {
    /// A call with what it may use up, and with what most components ask in each: so a warm one is one question and one answer.
    pub(crate) fn new(call: &Call<'_>, interfaces: Interfaces, host: &mut dyn Capabilities) -> Self {
        let (limits, config) = (host.limits().clone(), host.config());
        let message = wire::Call {
            function: message::function(call.kind),
            resource: call.resource.to_owned(),
            units: call.units.iter().map(wire::Unit::from).collect(),
            must_include: call.must_include.to_vec(),
            size: call.size,
            settings: call.settings.iter().map(wire::Setting::from).collect(),
            limits: Some((&limits).into()),
            config: (config.len() <= CONFIG).then(|| config.as_ref().to_owned()),
        };
        Self {
            message: wire::ToRunner { kind: Some(to_runner::Kind::Call(message)) },
            kind: call.kind,
            interfaces,
            most: limits.deadline,
            limits,
        }
    }

    /// Whether a pod waits for it.
    pub(super) fn is_waited_for(&self) -> bool {
        matches!(self.kind, CallKind::Allocate | CallKind::Choose | CallKind::Prepare)
    }
}

/// Why a call gave nothing.
pub(crate) enum Ended {
    /// The call's own error; the process goes on.
    Fault(CallError),
    /// The process has ended before the call was sent.
    NotBegun,
    /// The process has ended.
    Lost,
    /// It is over its time, and does not say so.
    Late(Limit),
    /// It does what no runner does.
    Broke(String),
}

impl Ended {
    /// For what is wrong with the socket, in a call with this deadline.
    fn of(error: SocketError, deadline: Duration) -> Self {
        match error {
            SocketError::Closed => Self::Lost,
            SocketError::Late => Self::Late(Limit::Deadline(deadline)),
            error => Self::Broke(error.to_string()),
        }
    }
}

/// One socket of a runner.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(super) socket: Socket,
    /// Whether a call on it did not end as it should: what comes now may be that one's answer.
    is_over: bool,
}

impl Lane {
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, is_over: false }
    }

    /// One call. Its time is what the runner takes; what the host takes to answer is not counted, but no question is answered once all of
    /// it is over the deadline.
    #[tracing::instrument(name = "runner.call", level = "trace", skip_all)]
    pub(crate) fn call(&mut self, wanted: &Wanted, host: &mut dyn Capabilities) -> Result<(Output, Cost), Ended> {
        if self.is_over {
            return Err(Ended::NotBegun);
        }
        let outcome = self.converse(wanted, host);
        self.is_over = !matches!(outcome, Ok(_) | Err(Ended::Fault(_)));
        outcome
    }

    fn converse(&mut self, wanted: &Wanted, host: &mut dyn Capabilities) -> Result<(Output, Cost), Ended> {
        let Wanted { limits, .. } = wanted;
        if self.socket.is_ahead() {
            return Err(Ended::Broke("it answers before it is asked".to_owned()));
        }
        let patience = wanted.most + GRACE;
        let mut left = patience;
        let (mut collected, mut habits) = (Collected::new(wanted.kind, limits), Habits::default());
        let mut log = limits.log.0.saturating_add(LAST_LINE);
        // A list of attributes is one call to the host, and a question for each.
        let (mut questions, mut may_ask) = (u64::from(limits.host_calls).saturating_mul(LIST), true);
        let begun = Instant::now();
        self.send(&mut left, limits, &wanted.message)?;
        loop {
            let message = self.receive(&mut left, limits)?;
            match message.kind {
                Some(from_runner::Kind::Ask(ask)) => {
                    // A component's own clock ends it, which began later and runs while the host answers.
                    if begun.elapsed() > patience {
                        return Err(Ended::of(SocketError::Late, limits.deadline));
                    }
                    if questions == 0 || !may_ask {
                        return Err(Ended::Broke("it asks more than it may".to_owned()));
                    }
                    questions -= 1;
                    let answer = serve(host, ask, &wanted.interfaces, &mut habits);
                    let answer = answer.map_err(|what| Ended::Broke(what.to_owned()))?;
                    may_ask = !matches!(answer.answer, Some(Given::End(_)));
                    let answer = wire::ToRunner { kind: Some(to_runner::Kind::Answer(answer)) };
                    self.send(&mut left, limits, &answer)?;
                }
                Some(from_runner::Kind::Log(line)) => {
                    let size = LINE.saturating_add(u64::try_from(line.line.len()).unwrap_or(u64::MAX));
                    let left = log.checked_sub(size);
                    log = left.ok_or_else(|| Ended::Broke("it logs more than it may".to_owned()))?;
                    host.log(line.level().into(), &line.line);
                }
                Some(from_runner::Kind::Item(item)) => {
                    collected.add(item).map_err(|what| Ended::Broke(what.to_owned()))?;
                }
                Some(from_runner::Kind::Done(done)) => {
                    if self.socket.is_ahead() {
                        return Err(Ended::Broke("it goes on after its answer".to_owned()));
                    }
                    if let Some(fault) = done.fault {
                        return Err(Ended::Fault(fault.into()));
                    }
                    let cost =
                        Cost { time: begun.elapsed(), memory: ByteSize(done.memory), host_calls: done.host_calls };
                    return Ok((collected.output, cost));
                }
                _ => return Err(Ended::Broke("it says something that is not in the protocol".to_owned())),
            }
        }
    }

    fn send(&mut self, left: &mut Duration, limits: &Limits, message: &wire::ToRunner) -> Result<(), Ended> {
        let begun = Instant::now();
        self.socket.wait_until(begun + *left);
        let sent = self.socket.send(message);
        *left = left.saturating_sub(begun.elapsed());
        sent.map_err(|error| Ended::of(error, limits.deadline))
    }

    /// Waits for the runner, for as long as it has left; once more where this process was stopped meanwhile, as the runner was with it.
    fn receive(&mut self, left: &mut Duration, limits: &Limits) -> Result<wire::FromRunner, Ended> {
        let begun = Instant::now();
        self.socket.wait_until(begun + *left);
        let mut received = self.socket.receive(MAX_UP);
        if let Err(SocketError::Late) = received
            && let Some(overslept) = begun.elapsed().checked_sub(*left).filter(|over| *over > OVERSLEPT)
        {
            self.socket.wait_until(Instant::now() + overslept.min(limits.deadline));
            received = self.socket.receive(MAX_UP);
        }
        *left = left.saturating_sub(begun.elapsed());
        received.map_err(|error| Ended::of(error, limits.deadline))
    }
}

/// The longest list of attributes.
const LIST: u64 = 4_096;
