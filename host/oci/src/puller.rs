//! The process that speaks to registries (`devgate-pull`), one for each time: it is told all that it needs, and what it says is counted
//! before it is taken and checked as everything is that was not made here.

mod judge;
mod taken;
#[cfg(test)]
mod tests;

use crate::entry::Entry;
use crate::error::Error;
use crate::message::{MAX_ANSWER, wire};
use crate::progress::Progress;
use crate::registries::Registries;
use crate::signature::{PublicKey, Signed};
use crate::store::Wanted;
use devgate_runner::{BUILD, Program, ProgramError, Socket, SocketError};
use devgate_types::{GuestText, PinnedReference, Reference, Repository};
use judge::judge;
use prost::Message;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use taken::Taken;
use wire::answer::Kind;
use wire::order::What;

/// How long one may take, however slowly bytes keep coming.
const TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// The most that it says to be tried again.
const MAX_NOTES: usize = 256;
/// What it may write to: what it needs, and what each byte of its order becomes. The layer only goes through it.
const MEMORY: u64 = 64 << 20;
const OF_A_BYTE: u64 = 4;
/// Of address space so many times as much: the program is in it, and what is only reserved.
const RESERVED: u64 = 4;

/// Speaks to registries by a process that ends.
#[derive(Debug)]
pub(crate) struct Puller {
    registries: Registries,
    program: Result<Program, ProgramError>,
}

/// Why what it says is not taken any more.
#[derive(Debug)]
enum Ended {
    /// It says so itself, or what it sent is not what was asked for.
    Failed(Error),
    Socket(SocketError),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

const fn nonsense(what: &'static str) -> Ended {
    Ended::Socket(SocketError::Nonsense(what))
}

impl Puller {
    pub(crate) fn new(registries: Registries, program: Result<Program, ProgramError>) -> Self {
        Self { registries, program }
    }

    /// The artifact that a tag is given to now.
    pub(crate) fn resolve(&self, reference: &Reference) -> Result<PinnedReference, Error> {
        let mut taken = Taken::manifest();
        let order = wire::Order { what: What::Resolve.into(), ..wire::Order::default() };
        self.ask(reference, &reference.repository, order, &mut taken)?;
        let [manifest] = &taken.entry.manifests[..] else {
            return Err(Error::Host(format!("{reference}: devgate-pull ended without an answer")));
        };
        Ok(reference.clone().pinned_to(crate::digest(manifest)))
    }

    /// Everything that belongs to an artifact. It is not known yet whether it is what it should be.
    pub(crate) fn pull(
        &self,
        reference: &PinnedReference,
        wanted: Wanted<'_>,
        progress: &Progress,
    ) -> Result<Entry, Error> {
        let mut taken = Taken::artifact(reference, wanted, progress);
        let order = wire::Order {
            what: What::Pull.into(),
            most: wanted.most.0,
            keys: wanted.keys.map(pem),
            ..wire::Order::default()
        };
        self.ask(reference, &reference.repository, order, &mut taken)?;
        Ok(taken.entry)
    }

    /// The signatures that are beside an artifact now, as far as they are needed.
    pub(crate) fn signatures(&self, reference: &PinnedReference, keys: &[PublicKey]) -> Result<Vec<Signed>, Error> {
        let mut taken = Taken::signatures();
        let order = wire::Order { what: What::Signatures.into(), keys: Some(pem(keys)), ..wire::Order::default() };
        self.ask(reference, &reference.repository, order, &mut taken)?;
        Ok(taken.entry.signatures)
    }

    /// Has it do something, and takes what it says.
    fn ask(
        &self,
        about: &dyn std::fmt::Display,
        repository: &Repository,
        order: wire::Order,
        taken: &mut Taken<'_>,
    ) -> Result<(), Error> {
        let host = |why: &dyn std::fmt::Display| Error::Host(format!("{about}: {why}"));
        let program = self.program.as_ref().map_err(|why| host(&why))?;
        let order = wire::Order {
            build: BUILD.to_owned(),
            reference: about.to_string(),
            access: Some(self.registries.access(repository)?),
            ..order
        };
        let ended = |why: &dyn std::fmt::Display| host(&format!("{} {why}", program.name()));
        let memory = memory(&order);
        let mut child = program
            .start([memory.saturating_mul(RESERVED), memory], &order, &[])
            .map_err(|why| host(&format!("cannot start {}: {why}", program.name())))?;
        let outcome = match child.stdout.take() {
            Some(stdout) => listen(stdout.into(), Instant::now() + TIMEOUT, taken),
            None => Err(nonsense("it has no output")),
        };
        // It has said all that is taken of it.
        let _ = child.kill();
        let status = child.wait().map_err(|why| ended(&why))?;
        outcome.map_err(|why| match why {
            Ended::Failed(error) => error,
            Ended::Socket(SocketError::Closed) => ended(&judge(status, memory)),
            Ended::Socket(SocketError::Late) => {
                ended(&format!("was not done within {} minutes", TIMEOUT.as_secs() / 60))
            }
            Ended::Socket(why) => ended(&format!("is not listened to any more: {why}")),
        })
    }
}

fn pem(keys: &[PublicKey]) -> wire::Keys {
    wire::Keys { pem: keys.iter().map(|key| key.pem().to_owned()).collect() }
}

fn memory(order: &wire::Order) -> u64 {
    let length = u64::try_from(order.encoded_len()).unwrap_or(u64::MAX);
    MEMORY.saturating_add(length.saturating_mul(OF_A_BYTE))
}

/// Takes what it says until then, or until it is done.
fn listen(from: OwnedFd, until: Instant, taken: &mut Taken<'_>) -> Result<(), Ended> {
    let mut socket = Socket::patient(from).map_err(|why| Ended::Socket(SocketError::System(why)))?;
    socket.wait_until(until);
    let mut notes = 0;
    loop {
        let answer: wire::Answer = socket.receive(MAX_ANSWER).map_err(Ended::Socket)?;
        // One that never stops talking is late as well.
        if Instant::now() >= until {
            return Err(Ended::Socket(SocketError::Late));
        }
        match answer.kind {
            Some(Kind::Done(_)) => return Ok(()),
            Some(Kind::Failed(failure)) => return Err(said(&failure).into()),
            Some(Kind::Note(text)) => {
                notes += 1;
                if notes > MAX_NOTES {
                    return Err(nonsense("too many notes"));
                }
                tracing::info!("{}", GuestText::of_escaped(&text));
            }
            Some(Kind::Manifest(bytes)) => taken.manifest_is(bytes)?,
            Some(Kind::Signature(signature)) => taken.signature_is(signature.into())?,
            Some(Kind::Piece(bytes)) => taken.piece_is(&bytes)?,
            None => return Err(nonsense("not an answer")),
        }
    }
}

fn said(failure: &wire::Failure) -> Error {
    let text = GuestText::of_escaped(&failure.text).as_str().to_owned();
    match failure.refused {
        true => Error::Refused(text),
        false => Error::Host(text),
    }
}
