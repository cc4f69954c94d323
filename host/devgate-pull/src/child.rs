//! `devgate-pull`: fetches what one order names, and ends.

use crate::artifact::Part;
use crate::session::Session;
use devgate_confine::{Filter, Limits, Network, begin, forbid};
use devgate_oci::child::{MAX_ORDER, PIECE, wire};
use devgate_oci::{Error, PublicKey};
use devgate_runner::Socket;
use devgate_runner::child::{ChildError, check_build, fence, numbers};
use devgate_types::{ByteSize, Mutex, PinnedReference, Reference};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use wire::answer::Kind;
use wire::order::What;

/// What this process is called by its host.
pub const NAME: &str = "devgate-pull";
/// Sockets to the registry, to where it redirects and to servers of names, and what the runtime has.
const OPEN_FILES: u64 = 64;
/// A component has some tens of MiB at most.
const SECONDS: u64 = 300;

/// Does what it is called for, and says what comes of it on its output.
#[must_use]
pub fn main() -> ExitCode {
    let Ok(out) = Out::new() else {
        return ExitCode::FAILURE;
    };
    let kind = match work(&out) {
        Ok(()) => Kind::Done(true),
        Err(error) => {
            Kind::Failed(wire::Failure { refused: matches!(error, Error::Refused(_)), text: error.to_string() })
        }
    };
    match out.say(kind) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Its output, to the host.
#[derive(Clone)]
struct Out(Arc<Mutex<Socket>>);

impl Out {
    fn new() -> io::Result<Self> {
        let end = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self(Arc::new(Mutex::new(Socket::blocking(end)))))
    }

    fn say(&self, kind: Kind) -> Result<(), Error> {
        let sent = self.0.lock().send(&wire::Answer { kind: Some(kind) });
        sent.map_err(|why| Error::Host(format!("{NAME}: its host: {why}")))
    }

    fn give(&self, part: Part<'_>) -> Result<(), Error> {
        match part {
            Part::Manifest(bytes) => self.say(Kind::Manifest(bytes.to_vec())),
            Part::Signature(signed) => self.say(Kind::Signature(signed.into())),
            Part::Piece(bytes) => bytes.chunks(PIECE).try_for_each(|piece| self.say(Kind::Piece(piece.to_vec()))),
        }
    }
}

fn work(out: &Out) -> Result<(), Error> {
    let failed = |why: &dyn std::fmt::Display| Error::Host(format!("{NAME}: {why}"));
    let order = order().map_err(|why| failed(&why))?;
    let reference: Reference = order.reference.parse().map_err(|why| failed(&why))?;
    // All that opens something is there before it is forbidden.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| failed(&why))?;
    let notes = out.clone();
    let tell = Box::new(move |text: &str| _ = notes.say(Kind::Note(text.to_owned())));
    let session = {
        let _in_it = runtime.enter();
        Session::new(order.access.clone().unwrap_or_default(), &reference.repository, false, tell)?
    };
    fence(Network::Kept).map_err(|why| failed(&why))?;
    forbid(Filter::Pulling).map_err(|why| failed(&why))?;
    runtime.block_on(fetch(session, &order, reference, out))
}

/// What it is to do. It has given up what it can by then, and keeps of this process's parent only what it is told.
fn order() -> Result<wire::Order, ChildError> {
    let (parent, [address_space, data]) = numbers()?;
    let limits =
        Limits { address_space, data, file_size: 0, cpu_seconds: Some(SECONDS), open_files: OPEN_FILES, nice: 10 };
    begin(parent, c"devgate-pull", &limits)?;
    let input: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let order: wire::Order =
        Socket::blocking(input).receive(MAX_ORDER).map_err(|why| ChildError::Told(why.to_string()))?;
    check_build(&order.build)?;
    Ok(order)
}

async fn fetch(mut session: Session, order: &wire::Order, reference: Reference, out: &Out) -> Result<(), Error> {
    let keys = order.keys.as_ref().map(read).transpose()?;
    let mut give = |part: Part<'_>| out.give(part);
    let pinned = |reference: Reference| -> Result<PinnedReference, Error> {
        let none = || Error::Host(format!("{NAME}: is to fetch something without a digest"));
        reference.pinned().ok_or_else(none)
    };
    match order.what() {
        What::Resolve => session.resolve(&reference, &mut give).await,
        What::Pull => {
            let most = ByteSize(order.most);
            session.artifact(&pinned(reference)?, most, keys.as_deref(), &mut give).await
        }
        What::Signatures => {
            let digest = pinned(reference)?.digest;
            let found = session.signatures(digest, keys.as_deref().unwrap_or_default()).await?;
            found.into_iter().try_for_each(|signed| give(Part::Signature(signed)))
        }
    }
}

fn read(keys: &wire::Keys) -> Result<Vec<PublicKey>, Error> {
    let read = keys.pem.iter().map(|pem| PublicKey::from_pem(pem));
    let read: Result<Vec<_>, _> = read.collect();
    read.map_err(|why| Error::Host(format!("{NAME}: a key {why}")))
}
