//! Which pods have which devices, asked of the kubelet: the device-plugin API has no call for the end of an allocation.
//!
//! ```text
//!  pod-resources/kubelet.sock ── List, every 10 s or when asked ──┐
//!  device-plugins/kubelet_internal_checkpoint ── when it changed ─┴──► HoldersSource ──► plugin layer
//! ```
//!
//! What the list leaves out is not free for that: it shows no init containers (`pkg/kubelet/apis/podresources/server_v1.go`),
//! and a kubelet that has just started lists no pods until it has heard of them from the API server, which may be away. The
//! kubelet's own checkpoint knows of both, but is written only when something is allocated or listed. So both are told.

#[doc(hidden)]
pub mod fuzz;
mod in_use;
mod record;

pub use in_use::{claims, claims_in_use, in_use};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use devgate_core::{Backoff, Holder, Holders, HoldersSource, Offered, jittered};
use devgate_types::{ResourceName, escape};
use tonic::Code;
use tonic::transport::Channel;

use crate::allocating::Allocating;
use crate::front_end::{AGAIN, cause, failures};
use devgate_kubelet::api::pods::pod_resources_lister_client::PodResourcesListerClient;
use devgate_kubelet::api::pods::{ListPodResourcesRequest, ListPodResourcesResponse, MESSAGE_LIMIT, SOCKET};
use devgate_kubelet::file_id::FileId;
use devgate_kubelet::{CHECKPOINT, api::KUBELET_SOCKET, transport};
use record::Record;

/// The most characters of the kubelet's answer that are logged.
const MAX_TEXT: usize = 512;

/// Where to ask, and how often. The defaults are for production; tests shorten the times.
#[derive(Debug, Clone)]
pub struct PodResourcesConfig {
    /// The directory of the kubelet's pod-resources socket; the directory and not the socket is what is mounted, because a
    /// kubelet that restarts makes a new socket.
    pub dir: PathBuf,
    /// The kubelet's device-plugin directory, where its checkpoint is.
    pub kubelet_dir: PathBuf,
    /// How often to ask, more or less a tenth. 10 s.
    pub every: Duration,
    /// The least time between two questions, for all callers together. 500 ms: a fiftieth of what the kubelet allows to all.
    pub pause: Duration,
    /// How long an answer may take. 10 s.
    pub patience: Duration,
    /// The longest wait after questions that failed. 60 s.
    pub longest: Duration,
    /// The calls of `Allocate`, in which the kubelet is not asked. As the front end has it.
    pub allocating: Allocating,
}

impl PodResourcesConfig {
    /// The defaults. `dir` is usually `/var/lib/kubelet/pod-resources`, `kubelet_dir` as the front end has it.
    #[must_use]
    pub fn new(dir: PathBuf, kubelet_dir: PathBuf) -> Self {
        Self {
            dir,
            kubelet_dir,
            every: Duration::from_secs(10),
            pause: Duration::from_millis(500),
            patience: Duration::from_secs(10),
            longest: Duration::from_secs(60),
            allocating: Allocating::default(),
        }
    }

    /// The kubelet's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.join(SOCKET)
    }

    /// Whether anything tells that there is a kubelet. One that ended has left its record, and pods.
    fn is_kubelet_there(&self) -> bool {
        let own = [KUBELET_SOCKET, CHECKPOINT].map(|name| self.kubelet_dir.join(name));
        own.into_iter().chain([self.socket()]).any(|path| path.symlink_metadata().is_ok())
    }
}

/// Why it is not known who has what; the kubelet's own words are escaped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// The kubelet's socket is not there.
    #[error("there is no {}; mount the kubelet's pod-resources directory", .0.display())]
    NoSocket(PathBuf),
    /// No kubelet answers on it, for this reason.
    #[error("the kubelet does not answer: {0}")]
    Silent(String),
    /// It took longer than this.
    #[error("the kubelet did not answer within {0:?}")]
    Late(Duration),
    /// It answered with an error.
    #[error("the kubelet refused: {0:?}: {1}")]
    Refused(Code, String),
    /// Its own record is there and makes no sense.
    #[error("{}: cannot be understood", .0.display())]
    Record(PathBuf),
}

/// Asks for ever and tells what is answered. While the kubelet does not answer, nothing is told: what was seen last stands,
/// and no device is taken for free.
pub async fn follow(config: PodResourcesConfig, source: HoldersSource) {
    let mut asker = Asker::new(&config);
    let mut troubles = failures();
    let (mut failing, mut poll, mut warned, mut allocated) = (None, 0, false, 0);
    if let Some(records) = asker.record.first(&config.socket()).await {
        source.tell_records(records);
    }
    let mut answered = Instant::now();
    loop {
        config.allocating.pause(&mut allocated, config.patience).await;
        let begun = Instant::now();
        let every = jittered(config.every);
        let wait = match asker.ask().await {
            Ok(seen) => {
                failing = None;
                answered = Instant::now();
                if std::mem::take(&mut warned) {
                    tracing::info!("pod resources: the kubelet answers; devices of pods that are gone are noticed");
                    troubles.forget();
                }
                poll += 1;
                let (recorded, uids) = (asker.record.ids(), asker.record.uids());
                source.tell(Holders { seen, recorded, uids, poll, process: asker.process, begun });
                every
            }
            Err(why) => {
                let why = why.to_string();
                let backoff = failing.get_or_insert_with(|| Backoff::new(config.every, config.longest));
                if answered.elapsed() < config.patience {
                    // A kubelet that restarts; what is offered to it says so.
                    tracing::debug!("pod resources: {why}");
                } else if let Some(more) = troubles.line(&why, AGAIN, Instant::now()) {
                    warned = true;
                    tracing::warn!(
                        family = "host",
                        more,
                        "pod resources: {why}; until it answers, no device is known to be free again (--pod-resources-dir is {})",
                        config.dir.display()
                    );
                }
                backoff.pause()
            }
        };
        if failing.is_some() {
            // A kubelet that is in trouble is asked less, however much callers want to know.
            tokio::time::sleep(wait).await;
        } else {
            let asked = async {
                tokio::time::sleep_until((begun + config.pause).into()).await;
                source.asked().await;
            };
            let _ = tokio::time::timeout(wait, asked).await;
        }
    }
}

/// A connection that lasts as long as the kubelet's socket.
struct Asker<'a> {
    config: &'a PodResourcesConfig,
    connection: Option<(FileId, PodResourcesListerClient<Channel>)>,
    /// Counts the sockets that were connected to: each belongs to another process of the kubelet.
    process: u64,
    last: Option<FileId>,
    record: Record,
}

impl<'a> Asker<'a> {
    fn new(config: &'a PodResourcesConfig) -> Self {
        Self { config, connection: None, process: 0, last: None, record: Record::new(&config.kubelet_dir) }
    }

    /// Who has what now, or why that is not known.
    async fn ask(&mut self) -> Result<BTreeMap<Offered, Vec<Holder>>, Unknown> {
        let patience = self.config.patience;
        let asked = tokio::time::timeout(patience, self.list()).await;
        let answer = asked.unwrap_or(Err(Unknown::Late(patience)));
        if answer.is_err() {
            self.connection = None;
        }
        let answer = answer?;
        // After the list: what is freed in between is only noticed later.
        self.record.read().await;
        Ok(merge(answer))
    }

    async fn list(&mut self) -> Result<ListPodResourcesResponse, Unknown> {
        let socket = self.config.socket();
        let id = FileId::of(&socket).ok_or_else(|| Unknown::NoSocket(socket.clone()))?;
        let known = self.connection.take().filter(|(of, _)| *of == id);
        let mut client = match known {
            Some((_, client)) => client,
            None => {
                let channel = transport::connect(socket, self.config.patience).await;
                let channel = channel.map_err(|error| Unknown::Silent(cause(&error)))?;
                if self.last.replace(id) != Some(id) {
                    self.process += 1;
                }
                PodResourcesListerClient::new(channel).max_decoding_message_size(MESSAGE_LIMIT)
            }
        };
        let answer = client.list(ListPodResourcesRequest {}).await;
        let answer = answer.map_err(|status| Unknown::Refused(status.code(), escape(status.message(), MAX_TEXT)))?;
        self.connection = Some((id, client));
        Ok(answer.into_inner())
    }
}

/// One entry for each id, however many NUMA nodes it is listed under. What is no name of a resource cannot be one of ours.
fn merge(answer: ListPodResourcesResponse) -> BTreeMap<Offered, Vec<Holder>> {
    let mut seen: BTreeMap<Offered, Vec<Holder>> = BTreeMap::new();
    for pod in answer.pod_resources {
        for container in pod.containers {
            let holder = Holder { namespace: pod.namespace.clone(), pod: pod.name.clone(), container: container.name };
            for devices in container.devices {
                let Ok(resource) = ResourceName::try_new(&devices.resource_name) else {
                    continue;
                };
                for id in devices.device_ids {
                    let holders = seen.entry((resource.clone(), id)).or_default();
                    if !holders.contains(&holder) {
                        holders.push(holder.clone());
                    }
                }
            }
        }
    }
    seen
}
