//! The host's side: who has a request's devices is its id, until it says that it is done, over restarts too.

use super::{Answer, Failure, Fault, Request};
use crate::choose::{choose, why_not_enough};
use devgate_core::offer::AllocateError;
use devgate_core::state::{Style, put};
use devgate_core::{Ask, Consumer, Devices, Granted, Mode, Released};
use devgate_types::{ResourceName, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// What a call may wait for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often devices are chosen anew where others got them first.
const TRIES: usize = 4;
/// The most notes that are looked at when the host starts, and the most bytes of one.
const MOST_NOTES: usize = 100_000;
const MOST_NOTE: u64 = 4_096;
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

/// What requests are served with.
pub struct RequestsConfig {
    /// All devices of the host.
    pub devices: Arc<dyn Devices>,
    /// The types of the policy in force.
    pub types: watch::Receiver<Arc<BTreeMap<String, Served>>>,
    /// Where the host keeps its state.
    pub state_dir: PathBuf,
}

/// The requests of a host.
pub struct Requests {
    config: RequestsConfig,
    /// One is chosen for at a time.
    turn: tokio::sync::Mutex<()>,
}

impl Requests {
    /// Serves requests with these.
    #[must_use]
    pub fn new(config: RequestsConfig) -> Self {
        let turn = tokio::sync::Mutex::default();
        Self { config, turn }
    }

    /// Takes back what callers have said to be over while no host was there.
    pub async fn catch_up(&self) {
        let dir = self.config.state_dir.join(NOTES);
        let notes = fs::read_dir(&dir).into_iter().flatten().flatten().take(MOST_NOTES);
        for note in notes.map(|entry| entry.path()) {
            match read_note(&note) {
                Ok(request) => drop(self.answer(&request).await),
                Err(why) => tracing::warn!(
                    family = "host",
                    "note {}: {why}; what it says is over stays given",
                    escape(&note.display().to_string(), 256)
                ),
            }
            let _ = fs::remove_file(&note);
        }
    }

    /// Answers a request.
    pub async fn answer(&self, request: &Request) -> Answer {
        let answered = match request {
            Request::Info { kind } => self
                .served(kind)
                .map(|served| Answer::Amount(self.config.devices.working(&served.resource))),
            Request::Add { kind, id, amount, numa } => {
                self.add(kind, id, *amount, numa.as_deref().unwrap_or_default()).await
            }
            Request::Del { kind, id } => self.del(kind.as_deref(), id).await,
        };
        answered.unwrap_or_else(Answer::Failed)
    }

    fn served(&self, kind: &str) -> Result<Served, Failure> {
        let types = Arc::clone(&self.config.types.borrow());
        let none = || {
            Fault::Config.because(format!(
                "no plugin of the policy serves type {} (exec)",
                escape(kind, 80)
            ))
        };
        types.get(kind).cloned().ok_or_else(none)
    }

    async fn add(&self, kind: &str, id: &str, amount: u32, numa: &[u32]) -> Result<Answer, Failure> {
        let served = self.served(kind)?;
        let who = consumer(kind, id);
        let amount = usize::try_from(amount).unwrap_or(usize::MAX);
        let late = || Fault::Late.because(format!("nothing came of it within {PATIENCE:?}; nothing is held"));
        let Ok(turn) = tokio::time::timeout(PATIENCE, self.turn.lock()).await else {
            return Err(late());
        };
        let held = self.config.devices.held(&who).into_iter().next();
        let was_held = held.is_some();
        let given = match held {
            Some(held) if held.ids.len() != amount || held.resource != served.resource => {
                let why = format!(
                    "request {id} has {} devices of {} already",
                    held.ids.len(),
                    held.resource
                );
                return Err(Fault::Taken.because(why));
            }
            Some(held) => tokio::time::timeout(PATIENCE, self.give(&who, &held.resource, held.ids)).await,
            None if amount == 0 => return Ok(added(&[], BTreeSet::new())),
            None => tokio::time::timeout(PATIENCE, self.choose(&who, &served.resource, amount, numa)).await,
        };
        let granted = given.unwrap_or_else(|_| Err(late()));
        let answer = granted.and_then(|granted| self.shown(&served, &granted));
        if answer.is_err() && !was_held {
            self.config.devices.release(&who, PATIENCE).await;
        }
        drop(turn);
        answer
    }

    async fn choose(
        &self,
        who: &Consumer,
        resource: &ResourceName,
        amount: usize,
        numa: &[u32],
    ) -> Result<Granted, Failure> {
        let mut tries = 1..=TRIES;
        loop {
            let devices = &*self.config.devices;
            let available = devices.available(resource, who);
            let Some(ids) = choose(devices, resource, &available, &[], amount, numa).await else {
                let why = why_not_enough(devices, resource, who);
                let free = available.len();
                return Err(Fault::NotEnough.because(format!(
                    "resource {resource}: {amount} asked for, {free} can be had{why}"
                )));
            };
            match self.give(who, resource, ids).await {
                Err(failure) if failure.number == NOT_ENOUGH && tries.next().is_some() => {}
                given => return given,
            }
        }
    }

    async fn give(&self, who: &Consumer, resource: &ResourceName, ids: Vec<String>) -> Result<Granted, Failure> {
        let ask = Ask {
            resource: resource.clone(),
            ids,
            share: None,
            mode: Mode::Hold,
            tag: String::new(),
        };
        let given = self.config.devices.allocate(who, &[ask], None).await;
        let failed = |error: AllocateError| match error {
            AllocateError::Refused(why) | AllocateError::Unknown(why) => Fault::NotEnough.because(why),
            AllocateError::Busy(why) => Fault::Late.because(why),
            AllocateError::Guest(why) | AllocateError::Host(why) => Fault::Failed.because(why),
        };
        let nothing = || Fault::Failed.because("nothing was given");
        given.map_err(failed)?.into_iter().next().ok_or_else(nothing)
    }

    /// What the caller is told.
    fn shown(&self, served: &Served, granted: &Granted) -> Result<Answer, Failure> {
        let reply = &granted.reply;
        let has_more = !reply.env.is_empty() || !reply.mounts.is_empty() || !reply.cdi.is_empty();
        if has_more && !served.nodes_only {
            return Err(Fault::Failed.because(format!(
                "resource {}: its component gives more than nodes, which this protocol cannot say (exec: nodes-only)",
                granted.resource
            )));
        }
        let offers = Arc::clone(&self.config.devices.offers().borrow());
        let list = offers
            .iter()
            .find(|offer| offer.resource() == &granted.resource)
            .map(|offer| offer.devices());
        let list = list.map(|list| Arc::clone(&list.borrow()));
        let devices = list.iter().flat_map(|list| &list.devices);
        let mine = devices.filter(|device| granted.ids.contains(&device.id));
        let paths: Vec<_> = reply.nodes.iter().map(|node| node.host_path.clone()).collect();
        Ok(added(
            &paths,
            mine.flat_map(|device| device.numa_nodes.clone()).collect(),
        ))
    }

    async fn del(&self, kind: Option<&str>, id: &str) -> Result<Answer, Failure> {
        let all = self.config.devices.consumers().into_iter();
        let is_its = |who: &Consumer| matches!(who, Consumer::Request { kind: of, id: its } if its == id && kind.is_none_or(|kind| kind == of));
        let all: Vec<_> = all.filter(is_its).collect();
        match all.as_slice() {
            [] => Err(Fault::UnknownId.because("")),
            [who] => match self.config.devices.release(who, PATIENCE).await {
                Released::Dirty(dirty) => {
                    let ids: Vec<_> = dirty.iter().map(|(_, id)| id.as_str()).collect();
                    let ids = escape(&ids.join(", "), 160);
                    Err(Fault::NotReleased.because(format!(
                        "{ids}: given to nobody until their component has released them"
                    )))
                }
                Released::Nothing => Err(Fault::UnknownId.because("")),
                Released::Clean | Released::Refused => Ok(Answer::Deleted),
            },
            several => Err(Fault::Config.because(format!(
                "{} types gave something to request {id}, and the configuration does not say which",
                several.len()
            ))),
        }
    }
}

/// The number of the error that others may have been quicker.
const NOT_ENOUGH: u32 = 102;

fn consumer(kind: &str, id: &str) -> Consumer {
    Consumer::Request {
        kind: kind.to_owned(),
        id: id.to_owned(),
    }
}

fn added(paths: &[String], numa: BTreeSet<u32>) -> Answer {
    let devices: BTreeSet<_> = paths.iter().cloned().collect();
    Answer::Added {
        devices: devices.into_iter().collect(),
        numa: numa.into_iter().collect(),
    }
}

fn read_note(note: &Path) -> io::Result<Request> {
    let look = fs::symlink_metadata(note)?;
    if !look.is_file() || look.len() > MOST_NOTE {
        return Err(io::Error::other("is no note"));
    }
    match serde_json::from_slice(&fs::read(note)?)? {
        request @ Request::Del { .. } => Ok(request),
        _ => Err(io::Error::other("is no note")),
    }
}

/// Leaves a note for a host that is away: one file for each id, which it works off before it serves.
///
/// # Errors
/// Where it cannot be written.
pub fn leave_note(state_dir: &Path, request: &Request) -> io::Result<()> {
    let Request::Del { kind, id } = request else {
        return Err(io::Error::other("only an end can be noted"));
    };
    let name = format!("{}={id}", kind.as_deref().unwrap_or_default());
    let text = serde_json::to_vec(request)?;
    put(&state_dir.join(NOTES).join(name), &text, Style::SHOWN)
}
