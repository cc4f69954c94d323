//! The host's side: who has a request's devices is its id, until it says that it is done, over restarts too.

use super::{Answer, Failure, Fault, Request, is_id};
use crate::give::{NotGiven, Wanted, give, numa_nodes};
use devgate_core::offer::AllocateError;
use devgate_core::state::{Style, put};
use devgate_core::{Consumer, Devices, Granted, Released};
use devgate_types::{ResourceName, escape};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};
use tokio::sync::watch;
use tokio::time::Instant;

/// What a call may wait for.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Where callers leave notes for a host that is away, in its state directory.
const NOTES: &str = "ended-requests";

/// What is given for a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Devices of this resource.
    pub resource: ResourceName,
    /// Whether what is no node is left out; else such devices are not given.
    pub nodes_only: bool,
}

/// The requests of a host.
pub struct Requests {
    /// All devices of the host.
    pub devices: Arc<dyn Devices>,
    /// The types of the policy in force.
    pub types: watch::Receiver<Arc<BTreeMap<String, Served>>>,
    /// Where the host keeps its state.
    pub state_dir: PathBuf,
    /// One is chosen for at a time.
    pub turn: tokio::sync::Mutex<()>,
}

impl Requests {
    /// Takes back what callers have said to be over while no host was there.
    pub async fn catch_up(&self) {
        let notes = fs::read_dir(self.state_dir.join(NOTES)).into_iter().flatten();
        for note in notes.flatten() {
            let name = note.file_name();
            let (kind, id) = name.to_str().and_then(|name| name.split_once('=')).unwrap_or_default();
            let over = self.del(Some(kind).filter(|kind| !kind.is_empty()), id).await;
            if let Some(why) = over.err().filter(|why| why.number != Fault::UNKNOWN_ID.0) {
                let note = note.path().display().to_string();
                tracing::warn!(family = "host", "note {} of an end: {why}", escape(&note, 256));
            }
        }
    }

    /// Where a note is that an id is over. Its name is all that it says.
    fn note(&self, kind: &str, id: &str) -> PathBuf {
        self.state_dir.join(NOTES).join(format!("{kind}={id}"))
    }

    /// Answers a request.
    pub async fn answer(&self, request: &Request) -> Answer {
        match request {
            Request::Info { kind } => {
                let served = self.served(kind)?;
                Ok(json!({kind.as_str(): self.devices.working(&served.resource)}))
            }
            Request::Add { id, .. } | Request::Del { id, .. } if !is_id(id) => {
                Err(Fault::MALFORMED.because(format!("id {} cannot be", escape(id, 80))))
            }
            Request::Add { kind, id, amount, numa } => self.add(kind, id, *amount, numa.as_deref()).await,
            Request::Del { kind, id } => self.del(kind.as_deref(), id).await,
        }
    }

    fn served(&self, kind: &str) -> Result<Served, Failure> {
        let served = self.types.borrow().get(kind).cloned();
        let none = || format!("no plugin of the policy serves type {} (exec)", escape(kind, 80));
        served.ok_or_else(|| Fault::CONFIG.because(none()))
    }

    async fn add(&self, kind: &str, id: &str, amount: u32, numa: Option<&[u32]>) -> Answer {
        let served = self.served(kind)?;
        let until = Instant::now() + TIMEOUT;
        let late = || Fault::LATE.because(format!("nothing came of it within {TIMEOUT:?}; nothing is held"));
        let Ok(turn) = tokio::time::timeout_at(until, self.turn.lock()).await else {
            return Err(late());
        };
        // Who asks anew under an id has ended it before, though that was not heard.
        let is_over = self.note(kind, id).exists() || self.note("", id).exists();
        if is_over && tokio::time::timeout_at(until, self.del(Some(kind), id)).await.is_err() {
            return Err(late());
        }
        let (kind, id) = (kind.to_owned(), id.to_owned());
        let who = Consumer::Request { kind, id };
        let amount = usize::try_from(amount).unwrap_or(usize::MAX);
        let held = self.devices.held(&who).into_iter().next();
        let was_held = held.is_some();
        let ids = match held {
            Some(held) if held.ids.len() != amount || held.resource != served.resource => {
                let (has, of) = (held.ids.len(), held.resource);
                return Err(Fault::TAKEN.because(format!("{who}: has {has} devices of {of} already")));
            }
            Some(held) => held.ids,
            None if amount == 0 => return Ok(added(BTreeSet::new(), numa.map(|_| BTreeSet::new()))),
            None => Vec::new(),
        };
        let wanted = Wanted {
            who: &who,
            resource: &served.resource,
            count: amount,
            ids: &ids,
            numa: numa.unwrap_or_default(),
            ttl: None,
        };
        let given = tokio::time::timeout_at(until, give(&*self.devices, &wanted)).await;
        let granted = given.map_or_else(|_| Err(late()), |given| given.map_err(not_given));
        let answer = granted.and_then(|granted| self.shown(&served, &granted, numa.is_some()));
        if answer.is_err() && !was_held {
            self.devices.release(&who, Duration::ZERO).await;
        }
        drop(turn);
        answer
    }

    /// What the caller is told.
    fn shown(&self, served: &Served, granted: &Granted, with_numa: bool) -> Answer {
        let reply = &granted.reply;
        let has_more = !reply.env.is_empty() || !reply.mounts.is_empty() || !reply.cdi.is_empty();
        if has_more && !served.nodes_only {
            const WHY: &str = "its component gives more than nodes, which this protocol cannot say (exec: nodes-only)";
            return Err(Fault::FAILED.because(format!("resource {}: {WHY}", granted.resource)));
        }
        let nodes = numa_nodes(&*self.devices, &granted.resource);
        let numa = granted.ids.iter().filter_map(|id| nodes.get(id)).flatten();
        let numa = with_numa.then(|| numa.copied().collect());
        let paths = reply.nodes.iter().map(|node| node.host_path.clone()).collect();
        Ok(added(paths, numa))
    }

    async fn del(&self, kind: Option<&str>, id: &str) -> Answer {
        let its = |who: &Consumer| match who {
            Consumer::Request { kind: of, id: its } if its == id && kind.is_none_or(|kind| kind == of) => {
                Some(of.clone())
            }
            _ => None,
        };
        let kinds: Vec<_> = self.devices.consumers().iter().filter_map(its).collect();
        let released = match kinds.as_slice() {
            [] => Released::Nothing,
            [kind] => {
                let (kind, id) = (kind.clone(), id.to_owned());
                self.devices.release(&Consumer::Request { kind, id }, TIMEOUT).await
            }
            several => {
                let types = several.join(", ");
                return Err(Fault::CONFIG.because(format!("which of {types} gave it to {id} is not said")));
            }
        };
        // What a caller said is over is so by now.
        for of in kinds.iter().map(String::as_str).chain(kind).chain([""]) {
            let _ = fs::remove_file(self.note(of, id));
        }
        match released {
            Released::Dirty(dirty) => {
                let ids: Vec<_> = dirty.iter().map(|(_, id)| id.as_str()).collect();
                let ids = escape(&ids.join(", "), 160);
                let why = format!("{ids}: not given until their component has released them");
                Err(Fault::NOT_RELEASED.because(why))
            }
            Released::Nothing => Err(Fault::UNKNOWN_ID.because("")),
            Released::Clean | Released::Refused => Ok(Value::Null),
        }
    }
}

fn not_given(why: NotGiven) -> Failure {
    match why {
        NotGiven::NotEnough(..) => Fault::NOT_ENOUGH.because(why.to_string()),
        NotGiven::Allocate(AllocateError::Refused(why) | AllocateError::Unknown(why)) => Fault::NOT_ENOUGH.because(why),
        NotGiven::Allocate(AllocateError::Busy(why)) => Fault::LATE.because(why),
        NotGiven::Allocate(AllocateError::Guest(why) | AllocateError::Host(why)) => Fault::FAILED.because(why),
    }
}

/// Nodes of the machine, sorted; the NUMA nodes of their devices where that was asked.
fn added(paths: BTreeSet<String>, numa: Option<BTreeSet<u32>>) -> Value {
    match numa {
        Some(numa) => json!({"devices": paths, "numa_locality": numa}),
        None => json!({"devices": paths}),
    }
}

/// Leaves a note for a host that is away, which it works off before it serves. Its name, `TYPE=ID`, is all that it says.
pub fn leave_note(state_dir: &Path, note: &str) -> io::Result<()> {
    put(&state_dir.join(NOTES).join(note), b"", Style::SHOWN)
}
