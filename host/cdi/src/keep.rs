//! Keeps the files of leases as they should be: back after a restart of the machine, renewed when hardware moves, put back when
//! something else takes them away, gone when the lease is over or has no hardware any more.

use crate::lease::Unwritten;
use crate::leases::{Known, Leases, consumer};
use crate::name::Kind;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often it is looked whether a file or the numbers of its nodes are others.
const LOOK: Duration = Duration::from_secs(1);
/// How often it is asked whether the hardware is the same and the policy grants it still.
const RESTORE: Duration = Duration::from_secs(10);
/// How long a file stays whose resource nothing offers: a plugin that starts or fails may come back, one that left the policy does not.
pub(crate) const UNOFFERED: Duration = Duration::from_secs(60);

impl Leases {
    /// Looks after the files for as long as it is polled.
    pub async fn keep(self: Arc<Self>) {
        let leases = Arc::clone(&self);
        let problem = tokio::task::spawn_blocking(move || leases.files.tidy()).await;
        if let Ok(Some(problem)) = problem {
            tracing::warn!(
                family = "host",
                "{problem}: who can write there can give any device to any container"
            );
        }
        loop {
            self.look().await;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Why leases have no files that should, in words for people.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let known = self.known.lock();
        let problem = |(name, known): (&String, &Known)| Some(format!("lease {name}: {}", known.problem.as_ref()?));
        known.iter().filter_map(problem).collect()
    }

    /// Waits until each lease of before this start has its file back, or cannot have it.
    pub async fn settled(&self) {
        let is_settled = || {
            let known = self.known.lock();
            let is_settled = |name: &String| known.get(name).is_some_and(|known| known.unoffered.is_none());
            self.names().all(|name| is_settled(&name))
        };
        while !is_settled() {
            tokio::time::sleep(LOOK / 4).await;
        }
    }

    /// One look at all of them.
    async fn look(self: &Arc<Self>) {
        if self.names().next().is_none() && self.files.names().is_empty() {
            return;
        }
        let _turn = self.turn.lock().await;
        let leases = Arc::clone(self);
        let Ok(stale) = tokio::task::spawn_blocking(move || leases.stale()).await else {
            return;
        };
        for name in stale {
            self.renew_file(&name).await;
        }
    }

    /// The leases whose files are not as they should be; those of leases that are over go. Blocks.
    fn stale(&self) -> Vec<String> {
        let names: BTreeSet<String> = self.names().collect();
        let mut known = self.known.lock();
        known.retain(|name, _| names.contains(name));
        let kinds = names.iter().map(|name| match known.get(name) {
            Some(known) => Some(known.kind.file(name)),
            None => Some(Kind::of(&self.devices.held(&consumer(name)).first()?.resource).file(name)),
        });
        let kept: BTreeSet<String> = kinds.flatten().collect();
        for file in self.files.names().into_iter().filter(|file| !kept.contains(file)) {
            if let Err(why) = self.files.remove(&file) {
                tracing::error!(family = "host", "CDI: the lease that had it is over: {why}");
            }
        }
        let is_stale = |name: &String| {
            let is_fresh = |known: &&Known| known.problem.is_none() && known.restored.elapsed() < RESTORE;
            let Some(known) = known.get(name).filter(is_fresh) else {
                return true;
            };
            match self.spec(name, &known.kind, &known.reply) {
                Ok(Some(spec)) => known.unoffered.is_some() || !self.files.says(&known.kind.file(name), &spec),
                Ok(None) => false,
                Err(_) => true,
            }
        };
        names.iter().filter(|name| is_stale(name)).cloned().collect()
    }

    /// Has the file of one say what stands for it today, or takes it away.
    async fn renew_file(&self, name: &str) {
        let who = consumer(name);
        let Some(held) = self.devices.held(&who).into_iter().next() else {
            return;
        };
        let (kind, restored) = (
            Kind::of(&held.resource),
            self.devices.restore(&who).await.into_iter().next(),
        );
        let mut now = Known::of(kind.clone(), &held);
        let before = self
            .known
            .lock()
            .get(name)
            .map(|known| (known.problem.clone(), known.unoffered));
        let (problem, unoffered) = before.unwrap_or_default();
        let failed = match restored {
            None => return,
            Some(Ok(granted)) => {
                now.reply = Arc::clone(&granted.reply);
                self.write(name, &kind, &granted.reply).err()
            }
            Some(Err(gone)) => {
                let since = unoffered.unwrap_or_else(Instant::now);
                now.unoffered = gone.may_come.then_some(since);
                // What is there is right for as long as its numbers are.
                let may_stay = gone.may_come && since.elapsed() < self.unoffered;
                let is_right = matches!(self.spec(name, &kind, &held.reply), Ok(Some(spec)) if self.files.says(&kind.file(name), &spec));
                if !(may_stay && is_right) {
                    let removed = self.files.remove(&kind.file(name));
                    removed.unwrap_or_else(|why| tracing::error!(family = "host", "lease {name}: {why}"));
                }
                (!may_stay).then(|| Unwritten::Gone(gone.to_string()))
            }
        };
        now.problem = failed.map(|why| why.to_string());
        match &now.problem {
            Some(why) if problem.as_ref() != Some(why) => {
                tracing::error!(family = "host", "lease {name}: no container gets it: {why}");
            }
            None if problem.is_some() => tracing::info!("lease {name}: its file is back"),
            _ => {}
        }
        self.known.lock().insert(name.to_owned(), now);
    }
}
