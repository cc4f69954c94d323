//! Who is woken by what happens on the node.
//!
//! One for all plugins of a host. An event only says where to look: it wakes the plugins that it may be about, which look for
//! themselves. Too many are woken rather than one too few; a look costs little, and [`wake::Wake`] makes one of many.

mod interest;
mod wake;

pub(crate) use interest::Interest;
pub(crate) use wake::{Asked, Wake};

use crate::claims::Place;
use devgate_node::{DeviceAction, LogSource, Node, NodeEvent, Watch};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Wakes plugins. Cheap to clone; the last one ends it.
#[derive(Clone)]
pub(crate) struct Watcher(Arc<Inner>);

struct Inner {
    node: Node,
    interests: Mutex<BTreeMap<Place, Arc<Interest>>>,
    watching: Mutex<Watching>,
}

#[derive(Default)]
struct Watching {
    /// Nothing until somebody is interested.
    watch: Option<Watch>,
    directories: BTreeSet<String>,
}

impl Watcher {
    /// Nobody is woken yet.
    pub(crate) fn new(node: Node) -> Self {
        Self(Arc::new(Inner {
            node,
            interests: Mutex::default(),
            watching: Mutex::default(),
        }))
    }

    /// Wakes a plugin from now on for what it is interested in now.
    pub(crate) fn register(&self, place: Place, interest: Interest) {
        locked(&self.0.interests).insert(place, Arc::new(interest));
        self.0.listen();
    }

    /// Wakes a plugin no more.
    pub(crate) fn forget(&self, place: Place) {
        locked(&self.0.interests).remove(&place);
    }
}

impl Inner {
    /// Listens to all that somebody is interested in.
    fn listen(self: &Arc<Self>) {
        let (mut directories, mut kernel_log, mut has_none) = (BTreeSet::new(), false, false);
        let interests: Vec<_> = locked(&self.interests).values().map(Arc::clone).collect();
        for interest in &interests {
            directories.extend(interest.directories().cloned());
            kernel_log |= interest.wants_kernel_log();
            has_none |= interest.wants_kernel_log() && interest.has_no_lines();
        }
        let mut watching = locked(&self.watching);
        let has_log = watching.watch.as_ref().map(|watch| *watch.log() != LogSource::NotAsked);
        // Whoever comes later wants the lines from the start as well: they are told again, and those who know them pass over them.
        if has_log.is_none_or(|has| kernel_log && !has) || has_none {
            let inner = Arc::downgrade(self);
            let watch = self.node.watch(kernel_log, Arc::new(move |event| tell(&inner, &event)));
            if has_log.is_none_or(|has| kernel_log && !has) {
                say(&watch);
            }
            interests.iter().for_each(|interest| interest.log_is(watch.log()));
            watching.watch = Some(watch);
            watching.directories.clear();
        }
        if watching.directories != directories {
            if let Some(watch) = &watching.watch {
                watch.directories(&directories);
            }
            watching.directories = directories;
        }
    }

    /// Watches the directories again: one of them may be another by now, or there at last.
    fn listen_again(&self) {
        // Whoever has it now does this anyway, and may be waiting for the one who tells.
        let Ok(watching) = self.watching.try_lock() else { return };
        if let Some(watch) = &watching.watch {
            watch.directories(&watching.directories);
        }
    }

    fn tell(&self, event: &NodeEvent) {
        // What a plugin does when it is woken, it does elsewhere; nothing here waits for it.
        let interests: Vec<_> = locked(&self.interests).values().map(Arc::clone).collect();
        for interest in &interests {
            interest.tell(event);
        }
        if let NodeEvent::Path(path) = event
            && interests.iter().any(|interest| interest.hangs_on(path))
        {
            self.listen_again();
        }
    }
}

fn tell(inner: &Weak<Inner>, event: &NodeEvent) {
    if let Some(inner) = inner.upgrade() {
        inner.tell(event);
    }
}

/// Says once where events come from, and what does not come.
fn say(watch: &Watch) {
    if let Some(why) = watch.no_device_events() {
        tracing::warn!(
            family = "host",
            "events: the kernel does not tell when devices come and go: {why}; they are seen at the next look"
        );
    }
    match watch.log() {
        LogSource::NotAsked => {}
        source @ LogSource::Off { .. } => tracing::warn!(
            family = "host",
            "events: the kernel's log, which a plugin is granted, is {source}"
        ),
        source => tracing::info!("events: the kernel's log comes from {source}"),
    }
}

/// Whether hardware may be gone after this, so that it is looked at before anybody is asked about it.
fn takes_away(action: DeviceAction) -> bool {
    matches!(
        action,
        DeviceAction::Remove | DeviceAction::Unbind | DeviceAction::Offline
    )
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
