//! Keeps files as they should be: back after a restart of the machine, renewed when hardware moves, put back when something else takes
//! them away, gone when what they name is over or has no hardware any more.

use crate::edits::{NodeUnread, spec};
use crate::files::{FileError, Files, Unwritten};
use crate::hook::ReleaseHook;
use crate::named::Named;
use crate::spec::Spec;
use devgate_core::offer::Reply;
use devgate_core::state::Dir;
use devgate_core::{Consumer, Devices, Gone, Granted, KeyedLock};
use devgate_node::Node;
use devgate_types::{Mutex, ResourceName};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How often it is looked whether a file or the numbers of its nodes are others.
const LOOK: Duration = Duration::from_secs(1);
/// How often it is asked whether the hardware is the same and the policy grants it still.
const RESTORE: Duration = Duration::from_secs(10);
/// How long a file stays whose resource nothing offers: a plugin that starts or fails may come back, one that left the policy does not.
const UNOFFERED: Duration = Duration::from_secs(60);

/// What files are made of.
pub struct KeeperConfig {
    /// All devices of the host.
    pub devices: Arc<dyn Devices>,
    /// The node that they are on.
    pub node: Node,
    /// Where files are written; made with the first.
    pub dir: PathBuf,
    /// Where they are noted.
    pub state: Option<Dir>,
    /// What ends a lease with its container.
    pub hook: Option<ReleaseHook>,
}

/// The files of a host.
pub struct Keeper {
    pub(crate) devices: Arc<dyn Devices>,
    node: Node,
    hook: Option<ReleaseHook>,
    pub(crate) files: Files,
    /// By their files' names. What is of before this start is in here once it was looked at.
    known: Mutex<BTreeMap<String, Known>>,
    /// How long a file stays whose resource nothing offers.
    pub(crate) unoffered: Duration,
    /// One thing at a time is done to what one consumer has ([`Named::turn`]).
    pub(crate) turns: KeyedLock<String>,
    /// What is told is not another while it is written.
    writing: Mutex<()>,
}

/// What is known of one besides what is recorded.
struct Known {
    /// What it is called, for people.
    shown: String,
    /// As it was told.
    told: Arc<Reply>,
    /// What stands for it today.
    reply: Arc<Reply>,
    /// When that was asked, and how often something had moved by then.
    restored: (Instant, u64),
    /// Why it has no file, if so.
    problem: Option<String>,
    /// Since when nothing offers its resource.
    unoffered: Option<Instant>,
}

impl Keeper {
    /// The files that are noted. [`Self::keep`] sees to them.
    #[must_use]
    pub fn new(config: KeeperConfig) -> Self {
        let files = Files::open(&config.dir, config.state.as_ref());
        let all = Named::all(&*config.devices).into_iter();
        files.adopt(all.filter(Named::is_unmistakable).map(|named| named.file()));
        Self {
            files,
            devices: config.devices,
            node: config.node,
            hook: config.hook,
            known: Mutex::default(),
            unoffered: UNOFFERED,
            turns: KeyedLock::default(),
            writing: Mutex::default(),
        }
    }

    /// Looks after the files for as long as it is polled.
    pub async fn keep(self: Arc<Self>) {
        let keeper = Arc::clone(&self);
        let problem = tokio::task::spawn_blocking(move || keeper.files.tidy()).await;
        if let Ok(Some(problem)) = problem {
            tracing::warn!(family = "host", "{problem}: who can write there can give any device to any container");
        }
        // What takes long keeps no other file from being looked after.
        let mut renewing = JoinSet::new();
        loop {
            let keeper = Arc::clone(&self);
            for named in tokio::task::spawn_blocking(move || keeper.stale()).await.unwrap_or_default() {
                renewing.spawn(Arc::clone(&self).renew_alone(named));
            }
            tokio::time::sleep(LOOK).await;
            while renewing.try_join_next().is_some() {}
        }
    }

    /// Why something has no file that should, in words for people.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let known = self.known.lock();
        let problem = |known: &Known| Some(format!("{}: {}", known.shown, known.problem.as_ref()?));
        known.values().filter_map(problem).collect()
    }

    /// Why one has no file, if so.
    pub(crate) fn problem(&self, named: &Named) -> Option<String> {
        self.known.lock().get(&named.file())?.problem.clone()
    }

    /// Waits until everything of before this start has its file back, or cannot have it.
    pub async fn settled(&self) {
        let is_settled = || {
            let known = self.known.lock();
            let is_settled = |named: &Named| known.get(&named.file()).is_some_and(|known| known.unoffered.is_none());
            Named::all(&*self.devices).iter().all(is_settled)
        };
        while !is_settled() {
            tokio::time::sleep(LOOK / 4).await;
        }
    }

    /// Has what pods have of a resource in files, as far as that can be: before a kubelet hears of it.
    pub(crate) async fn settle(self: &Arc<Self>, resource: &ResourceName) {
        let held = self.devices.held(&Consumer::Pods).into_iter();
        for granted in held.filter(|granted| granted.resource == *resource) {
            self.renew(Named::new(Consumer::Pods, granted)).await;
        }
    }

    /// Has a file say what was just told.
    pub(crate) async fn put(self: &Arc<Self>, named: Named) -> Result<(), Unwritten> {
        let keeper = Arc::clone(self);
        let put = move || {
            let _writing = keeper.writing.lock();
            keeper.write(&named, &named.granted.reply)?;
            let known = Known::of(&named, keeper.devices.times_moved());
            keeper.known.lock().insert(named.file(), known);
            Ok(())
        };
        tokio::task::spawn_blocking(put).await?
    }

    /// Takes one's file away.
    pub(crate) fn take_away(&self, named: &Named) -> Result<(), FileError> {
        self.files.remove(&named.file())?;
        self.known.lock().remove(&named.file());
        Ok(())
    }

    async fn renew_alone(self: Arc<Self>, named: Named) {
        // What something is done to at the moment is looked at with the next look.
        if let Some(_turn) = self.turns.try_lock(&[named.turn()]) {
            self.renew(named).await;
        }
    }

    /// Those whose files are not as they should be. What is over goes. Blocks.
    fn stale(&self) -> Vec<Named> {
        // Before what there is: what is noted now was recorded earlier, so that nothing that is just given looks as if it were over.
        let noted = self.files.names();
        let mut all = Named::all(&*self.devices);
        let names: BTreeSet<String> = all.iter().map(Named::file).collect();
        let mut known = self.known.lock();
        known.retain(|file, _| names.contains(file));
        for file in noted.iter().filter(|file| !names.contains(*file)) {
            if let Err(why) = self.files.remove(file) {
                tracing::error!(family = "host", "CDI: what it named is over: {why}");
            }
        }
        self.files.save();
        let is_stale = |named: &Named| {
            let is_fresh = |known: &&Known| {
                let (at, moved) = known.restored;
                known.problem.is_none() && at.elapsed() < RESTORE && moved == self.devices.times_moved()
            };
            let known = known.get(&named.file()).filter(is_fresh);
            let Some(known) = known.filter(|known| known.told == named.granted.reply) else {
                return true;
            };
            known.unoffered.is_some() || !self.is_right(named, &known.reply).unwrap_or(false)
        };
        all.retain(is_stale);
        all
    }

    /// Whether one's file says just this, or is not there where there is nothing to say.
    fn is_right(&self, named: &Named, reply: &Reply) -> Result<bool, NodeUnread> {
        let spec = self.spec(named, reply)?;
        Ok(spec.is_none_or(|spec| self.files.says(&named.file(), &spec)))
    }

    /// Has one's file say what stands for it today, or takes it away. What that is, if its consumer has it still.
    pub(crate) async fn renew(self: &Arc<Self>, named: Named) -> Option<Result<Granted, Gone>> {
        let moved = self.devices.times_moved();
        let restored = self.devices.restore(&named.who, named.granted.id).await?;
        let (keeper, told) = (Arc::clone(self), restored.clone());
        let written = tokio::task::spawn_blocking(move || keeper.follow(&named, told, moved)).await;
        if let Err(error) = written {
            tracing::error!(family = "host", "CDI: {error}");
        }
        Some(restored)
    }

    /// Blocks.
    fn follow(&self, named: &Named, restored: Result<Granted, Gone>, moved: u64) {
        let _writing = self.writing.lock();
        let held = self.devices.held(&named.who).into_iter();
        // Something else may be told of it by now, and is written then.
        if !held.into_iter().any(|granted| granted.id == named.granted.id && granted.reply == named.granted.reply) {
            return;
        }
        let mut now = Known::of(named, moved);
        let before = self.known.lock().get(&named.file()).map(|known| (known.problem.clone(), known.unoffered));
        let (problem, unoffered) = before.unwrap_or_default();
        now.problem = match restored {
            Ok(granted) => {
                now.reply = granted.reply;
                self.write(named, &now.reply).err().map(|why| why.to_string())
            }
            Err(gone) => {
                let since = unoffered.unwrap_or_else(Instant::now);
                now.unoffered = gone.may_come.then_some(since);
                // What is there is right for as long as its numbers are; what was taken away is not back by waiting.
                let may_stay = gone.may_come && since.elapsed() < self.unoffered;
                let stays = may_stay && self.is_right(named, &now.told).unwrap_or(false);
                if !stays {
                    let removed = self.files.remove(&named.file());
                    removed.unwrap_or_else(|why| tracing::error!(family = "host", "{named}: {why}"));
                }
                let is_missed = !may_stay || (problem.is_some() && !stays);
                is_missed.then(|| gone.to_string())
            }
        };
        match &now.problem {
            Some(why) if problem.as_ref() != Some(why) => {
                tracing::error!(family = "host", "{named}: no container gets it: {why}");
            }
            None if problem.is_some() => tracing::info!("{named}: its file is back"),
            _ => {}
        }
        self.known.lock().insert(named.file(), now);
    }

    fn write(&self, named: &Named, reply: &Reply) -> Result<(), Unwritten> {
        match self.spec(named, reply)? {
            Some(spec) => drop(self.files.write(&named.file(), &spec, named.style())?),
            None => self.files.remove(&named.file())?,
        }
        Ok(())
    }

    fn spec(&self, named: &Named, reply: &Reply) -> Result<Option<Spec>, NodeUnread> {
        let mut spec = spec(&named.kind, &named.devices, reply, &self.node)?;
        if let (Some(hook), Consumer::Lease { name }) = (&self.hook, &named.who) {
            let edits = spec.iter_mut().flat_map(|spec| &mut spec.devices);
            edits.for_each(|device| device.container_edits.hooks.extend(hook.of(&named.granted.resource, name)));
        }
        Ok(spec)
    }
}

impl Known {
    /// One that is as it was told.
    fn of(named: &Named, moved: u64) -> Self {
        Self {
            shown: named.to_string(),
            told: Arc::clone(&named.granted.reply),
            reply: Arc::clone(&named.granted.reply),
            restored: (Instant::now(), moved),
            problem: None,
            unoffered: None,
        }
    }
}
