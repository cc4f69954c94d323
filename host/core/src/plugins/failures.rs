//! Why a host must end: noticed at any time, while a reload takes its minutes as well.

use crate::overdue::Overdue;
use devgate_types::PluginName;
use tokio::sync::watch;

/// Why a host must end; for people. A restart is the cure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MustEnd {
    /// The task of a plugin ended that is in the policy, which only a bug of the host makes happen: nothing looks after its devices
    /// any more.
    #[error("{0}")]
    Task(String),
    /// A call that the host gave up on goes on computing, or too many do not return: nothing ends a thread from outside.
    #[error("{0}")]
    Stuck(String),
}

/// Tells when the host must end. Cheap to clone; outlives no plugin.
#[derive(Clone)]
pub struct Failures {
    ended: watch::Sender<Option<String>>,
    overdue: Overdue,
}

impl Failures {
    pub(super) fn new(overdue: Overdue) -> Self {
        Self {
            ended: watch::Sender::new(None),
            overdue,
        }
    }

    /// Waits until the host must end. Loses nothing where it is dropped.
    pub async fn next(&self) -> MustEnd {
        let mut ended = self.ended.subscribe();
        tokio::select! {
            why = self.overdue.too_much() => MustEnd::Stuck(why),
            // The sender lives as long as this.
            Ok(why) = ended.wait_for(Option::is_some) => MustEnd::Task(why.clone().unwrap_or_default()),
        }
    }

    /// Watches the task of a plugin from inside.
    pub(super) fn of_task(&self, plugin: PluginName) -> Watched {
        Watched {
            plugin,
            ended: self.ended.clone(),
            was_told: false,
        }
    }
}

/// A plugin's task, as long as this is not dropped.
pub(super) struct Watched {
    plugin: PluginName,
    ended: watch::Sender<Option<String>>,
    was_told: bool,
}

impl Watched {
    /// It was told to leave, and has.
    pub(super) fn has_left(mut self) {
        self.was_told = true;
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.was_told {
            let why = || Some(format!("plugin {}: its task failed", self.plugin));
            self.ended.send_if_modified(|told| {
                let first = told.is_none();
                *told = told.take().or_else(why);
                first
            });
        }
    }
}
