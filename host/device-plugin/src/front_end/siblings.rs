//! Another devgate that serves the same resource, as in a rolling update where old and new run side by side.
//!
//! The kubelet takes the one that registered last. When that one leaves, the kubelet marks the resource as without a plugin
//! and tells no other: the stream of the one before stays open (`pkg/kubelet/cm/devicemanager`, up to 1.36 `runClient` of
//! `handler.go`; later it is ignored). So the one before watches the sockets beside its own, and registers again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use devgate_kubelet::left_behind::is_dead;
use devgate_types::ResourceName;
use tokio::time::Instant;

use super::socket;

/// How many polls after a newer one was seen it has left. One that registers again has another socket sooner than that.
const GONE_FOR: u32 = 3;
/// After how many polls it is tried again whether anybody listens on their sockets.
const TRY_EVERY: u32 = 3;

/// What was seen of the others.
pub(crate) struct Siblings<'a> {
    dir: &'a Path,
    resource: &'a ResourceName,
    own: &'a str,
    poll: Duration,
    /// When a newer one was seen last.
    newer: Option<Instant>,
    tried: Option<Instant>,
    /// No process listened on them the last time.
    silent: BTreeSet<PathBuf>,
}

impl<'a> Siblings<'a> {
    /// The others for `resource`, whose own socket is `own`; looked at every `poll`.
    pub(crate) fn new(dir: &'a Path, resource: &'a ResourceName, own: &'a str, poll: Duration) -> Self {
        Self { dir, resource, own, poll, newer: None, tried: None, silent: BTreeSet::new() }
    }

    /// Looks. True if one that was registered after us has left. Removes the sockets that killed ones left behind.
    pub(crate) async fn left(&mut self) -> bool {
        let mut others = socket::siblings(self.dir, self.resource, self.own);
        if !others.is_empty() && self.tried.is_none_or(|tried| tried.elapsed() >= self.poll * TRY_EVERY) {
            let mut silent = BTreeSet::new();
            for other in &others {
                if is_dead(&other.path).await {
                    silent.insert(other.path.clone());
                }
            }
            // Twice, because a socket has its name a moment before its process listens on it.
            let dead: Vec<_> = silent.intersection(&self.silent).cloned().collect();
            for path in dead {
                tracing::info!(resource = %self.resource, "socket {}: left behind by another devgate, removed", path.display());
                let _ = std::fs::remove_file(&path);
                others.retain(|other| other.path != path);
            }
            self.silent = silent;
            self.tried = Some(Instant::now());
        }
        if others.iter().any(|other| other.newer) {
            self.newer = Some(Instant::now());
            return false;
        }
        self.newer.is_some_and(|seen| seen.elapsed() >= self.poll * GONE_FOR)
    }
}
