//! Who is woken by what happens on the node.
//!
//! One for all plugins of a host. An event only says where to look: it wakes the plugins that it may be about, which look for
//! themselves. Too many are woken rather than one too few; a look costs little, and [`wake::Wake`] makes one of many.

mod away;
mod interest;
mod wake;

pub(crate) use interest::Interest;
pub(crate) use wake::{Asked, Wake};

use crate::ledger::PluginIndex;
use crate::uevents::Uevents;
use devgate_node::{DeviceAction, LogSource, Node, NodeEvent, Told, Watch};
use devgate_types::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Wakes plugins. Cheap to clone; the last one ends it.
#[derive(Clone)]
pub(crate) struct Watcher(Arc<Inner>);

struct Inner {
    node: Node,
    interests: Mutex<BTreeMap<PluginIndex, Arc<Interest>>>,
    watching: Mutex<Watching>,
    uevents: Arc<Uevents>,
    /// What was said last of where the kernel's log comes from.
    said: Mutex<Option<LogSource>>,
}

#[derive(Default)]
struct Watching {
    /// Nothing until a plugin is interested.
    watch: Option<Watch>,
    /// How many watches there have been.
    number: u64,
    directories: BTreeMap<String, Told>,
    is_over: bool,
}

impl Watcher {
    /// No plugin is woken yet.
    pub(crate) fn new(node: Node) -> Self {
        Self(Arc::new(Inner {
            node,
            interests: Mutex::default(),
            watching: Mutex::default(),
            uevents: Arc::default(),
            said: Mutex::default(),
        }))
    }

    /// What drivers announce of what plugins are interested in.
    pub(crate) fn uevents(&self) -> Arc<Uevents> {
        Arc::clone(&self.0.uevents)
    }

    /// Wakes a plugin from now on for what it is interested in now.
    pub(crate) fn register(&self, index: PluginIndex, interest: Interest) {
        self.0.interests.lock().insert(index, Arc::new(interest));
        self.0.listen();
    }

    /// Wakes no plugin any more, and lets go of what tells.
    pub(crate) fn end(&self) {
        let mut watching = self.0.watching.lock();
        (watching.watch, watching.is_over) = (None, true);
    }

    /// Wakes a plugin no more.
    pub(crate) fn forget(&self, index: PluginIndex) {
        self.0.interests.lock().remove(&index);
    }
}

impl Inner {
    /// Listens to all that plugins are interested in.
    fn listen(self: &Arc<Self>) {
        let mut watching = self.watching.lock();
        if watching.is_over {
            return;
        }
        let (mut directories, mut kernel_log, mut has_none) = (BTreeMap::new(), false, false);
        let interests: Vec<_> = self.interests.lock().values().map(Arc::clone).collect();
        for interest in &interests {
            for (directory, told) in &interest.directories {
                let most = directories.entry(directory.clone()).or_insert(*told);
                *most = (*told).max(*most);
            }
            kernel_log |= interest.matched_lines.wants_lines();
            has_none |= interest.matched_lines.is_new();
        }
        // A plugin that comes later wants the lines from the start as well: they are told again, and those that know them pass over them.
        if watching.watch.is_none() || has_none {
            watching.number += 1;
            let (inner, number) = (Arc::downgrade(self), watching.number);
            interests.iter().for_each(|interest| interest.matched_lines.begin(number));
            let tell = move |event| {
                if let Some(inner) = inner.upgrade() {
                    inner.tell(number, &event);
                }
            };
            let watch = self.node.watch(kernel_log, Arc::new(tell));
            self.uevents.listens(watch.no_device_events());
            if let Some(why) = watch.no_device_events().filter(|_| watching.watch.is_none()) {
                tracing::warn!(
                    family = "host",
                    "events: the kernel does not tell when devices come and go: {why}; they are seen at the next look"
                );
            }
            // Not before the first call of a plugin that waits for this.
            self.tell(number, &NodeEvent::Log(watch.log().clone()));
            watching.watch = Some(watch);
            watching.directories.clear();
        }
        if watching.directories != directories {
            if let Some(watch) = &watching.watch {
                watch.listen_in(directories.clone());
            }
            watching.directories = directories;
        }
    }

    /// What a watch tells: each has a number, and later ones have greater ones.
    #[tracing::instrument(name = "core.event", level = "trace", skip_all)]
    fn tell(&self, watch: u64, event: &NodeEvent) {
        if let NodeEvent::Log(source) = event {
            self.say_log(source);
        }
        // What a plugin does when it is woken, it does elsewhere; nothing here waits for it.
        let interests: Vec<_> = self.interests.lock().values().map(Arc::clone).collect();
        self.uevents.forget(event);
        if let NodeEvent::Device(event) = event
            && interests.iter().any(|interest| interest.is_about(event))
        {
            self.uevents.keep(event, self.node.now());
        }
        for interest in &interests {
            interest.tell(watch, event);
        }
    }

    /// Says once where lines come from, or that there are none.
    fn say_log(&self, source: &LogSource) {
        let mut said = self.said.lock();
        if *source == LogSource::NotAsked || said.as_ref() == Some(source) {
            return;
        }
        *said = Some(source.clone());
        match source {
            LogSource::Off { .. } => {
                tracing::warn!(family = "host", "events: the kernel's log, which a plugin is granted, is {source}")
            }
            source => tracing::info!("events: the kernel's log comes from {source}"),
        }
    }
}

/// Whether hardware may be gone after this, so that it is looked at before anybody is asked about it.
fn takes_away(action: DeviceAction) -> bool {
    matches!(action, DeviceAction::Remove | DeviceAction::Unbind | DeviceAction::Offline)
}

#[cfg(test)]
mod tests;
