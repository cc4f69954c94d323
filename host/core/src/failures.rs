//! Why a host must end: noticed at any time, while a reload takes its minutes as well.

use devgate_types::PluginName;
use tokio::sync::watch;

/// The task of a plugin ended that is in the policy, which only a bug of the host makes happen: nothing looks after its devices any
/// more, and a restart is the cure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin {0}: its task failed")]
pub struct TaskFailed(pub PluginName);

/// Tells when the host must end: the first reason counts. Cheap to clone; outlives no plugin.
#[derive(Clone, Default)]
pub struct Failures(watch::Sender<Option<TaskFailed>>);

impl Failures {
    /// Waits until the host must end. Loses nothing where it is dropped.
    pub async fn next(&self) -> TaskFailed {
        let mut told = self.0.subscribe();
        loop {
            if let Some(why) = told.borrow_and_update().clone() {
                return why;
            }
            // The sender lives as long as this.
            let _ = told.changed().await;
        }
    }

    /// Watches the task of a plugin from inside.
    pub(crate) fn of_task(&self, plugin: PluginName) -> Watched {
        Watched(Some((plugin, self.clone())))
    }
}

/// A plugin's task, as long as this is not dropped.
pub(crate) struct Watched(Option<(PluginName, Failures)>);

impl Watched {
    /// It was told to leave, and has.
    pub(crate) fn has_left(mut self) {
        self.0 = None;
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some((plugin, failures)) = self.0.take() {
            failures.0.send_if_modified(|told| {
                let first = told.is_none();
                told.get_or_insert(TaskFailed(plugin));
                first
            });
        }
    }
}
