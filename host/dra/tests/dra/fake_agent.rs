//! An agent that is none: it says of claims what a test has it say.

use devgate_agent_protocol::{Allocated, Claim, Device, FromAgent, Lines, ToAgent, write};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Honest,
    /// It reads and says nothing.
    Silent,
    /// It says this instead.
    Garbage(&'static [u8]),
    /// It says 5 MiB without an end of a line.
    Endless,
    /// It answers what was asked with another number.
    Wrong,
}

#[derive(Default)]
pub(crate) struct Says {
    /// By uid.
    pub(crate) claims: BTreeMap<String, Claim>,
    /// What to say after each list of devices.
    pub(crate) published: Option<FromAgent>,
    pub(crate) manner: Option<Manner>,
}

pub(crate) struct FakeAgent {
    pub(crate) path: PathBuf,
    pub(crate) says: Arc<Mutex<Says>>,
    /// All that was said to it, and by which connection.
    pub(crate) heard: watch::Sender<Vec<(usize, ToAgent)>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl FakeAgent {
    pub(crate) fn new(dir: &Path) -> Self {
        let path = dir.join("agent.sock");
        Self { path, says: Arc::default(), heard: watch::Sender::default(), task: Mutex::default() }
    }

    /// Listens, from now on.
    pub(crate) fn begin(&self) {
        let _ = std::fs::remove_file(&self.path);
        let listener = UnixListener::bind(&self.path).unwrap();
        let (says, heard) = (Arc::clone(&self.says), self.heard.clone());
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            for n in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(connection(n, stream, Arc::clone(&says), heard.clone()));
            }
        });
        *self.task.lock().unwrap() = Some(task);
    }

    /// Is away.
    pub(crate) async fn end(&self) {
        let task = self.task.lock().unwrap().take().unwrap();
        task.abort();
        let _ = task.await;
        let _ = std::fs::remove_file(&self.path);
    }

    pub(crate) fn claim(&self, uid: &str, claim: Claim) {
        self.says.lock().unwrap().claims.insert(uid.to_owned(), claim);
    }

    pub(crate) fn manner(&self, manner: Manner) {
        self.says.lock().unwrap().manner = Some(manner);
    }

    /// How often it was asked for claims.
    pub(crate) fn asked(&self) -> usize {
        self.heard.borrow().iter().filter(|(_, said)| matches!(said, ToAgent::Claim { .. })).count()
    }

    /// The lists of a driver's devices that it was told.
    pub(crate) fn lists(&self, of: &str) -> Vec<Vec<Device>> {
        let list = |(_, said): &(usize, ToAgent)| match said {
            ToAgent::Publish { driver, devices, .. } if driver == of => Some(devices.clone()),
            _ => None,
        };
        self.heard.borrow().iter().filter_map(list).collect()
    }

    /// Waits for so many lists of a driver's.
    pub(crate) async fn list(&self, of: &str, nth: usize) -> Vec<Device> {
        let mut heard = self.heard.subscribe();
        let until = heard.wait_for(|_| self.lists(of).len() >= nth);
        drop(tokio::time::timeout(Duration::from_secs(20), until).await.expect("a list").unwrap());
        self.lists(of)[nth - 1].clone()
    }
}

async fn connection(n: usize, stream: UnixStream, says: Arc<Mutex<Says>>, heard: watch::Sender<Vec<(usize, ToAgent)>>) {
    let (from, mut to) = stream.into_split();
    let mut lines = Lines::new(BufReader::new(from));
    while let Ok(Some(said)) = lines.next::<ToAgent>().await {
        heard.send_modify(|heard| heard.push((n, said.clone())));
        let manner = says.lock().unwrap().manner.unwrap_or(Manner::Honest);
        let answer = {
            let says = says.lock().unwrap();
            match &said {
                ToAgent::Drivers(_) | ToAgent::Judged(_) => None,
                ToAgent::Publish { .. } => says.published.clone(),
                ToAgent::Claim { ask, uid, .. } => {
                    let claim = says.claims.get(uid).cloned().unwrap_or(Claim::Gone);
                    let ask = if manner == Manner::Wrong { ask + 1_000 } else { *ask };
                    Some(FromAgent::Claim { ask, claim })
                }
            }
        };
        let Some(answer) = answer else { continue };
        let written = match manner {
            Manner::Silent => Ok(()),
            Manner::Garbage(bytes) => to.write_all(bytes).await,
            Manner::Endless => to.write_all(&vec![b'x'; 5 << 20]).await,
            Manner::Honest | Manner::Wrong => match write(&mut to, &answer).await {
                Ok(()) => Ok(()),
                // What is too long for a line.
                Err(_) => to.write_all(&serde_json::to_vec(&answer).unwrap()).await,
            },
        };
        if written.is_err() {
            return;
        }
    }
}

/// A device that was given, of a pool that is this node's.
pub(crate) fn given(request: &str, device: &str) -> Allocated {
    Allocated {
        request: request.to_owned(),
        pool: "node-1".to_owned(),
        device: device.to_owned(),
        share: None,
        admin: false,
    }
}

pub(crate) fn allocated(devices: &[Allocated]) -> Claim {
    Claim::Allocated { devices: devices.to_vec(), parameters: Vec::new() }
}
