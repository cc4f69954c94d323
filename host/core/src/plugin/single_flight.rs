//! Work that may never return, and is not begun again beside itself.

use devgate_types::{CallError, HostFault};
use std::time::Duration;
use tokio::task::JoinHandle;

/// One attempt at a time: compiling a component again because the last time has not ended yet would only slow both.
pub(super) struct SingleFlight<T>(Option<JoinHandle<T>>);

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Send + 'static> SingleFlight<T> {
    /// What `work` returns, on a thread of its own; or, where an earlier attempt goes on, what that one returns. Fails when it panics, and
    /// when it does not return within `patience`: it goes on, and the next call waits for it again.
    pub(super) async fn wait(
        &mut self,
        patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let task = self.0.get_or_insert_with(|| tokio::task::spawn_blocking(work));
        let host = |message: String| CallError::Host(HostFault(message));
        let Ok(ended) = tokio::time::timeout(patience, task).await else {
            return Err(host(format!("did not return within {patience:?}; it is still waited for")));
        };
        self.0 = None;
        ended.map_err(|panic| host(format!("panicked: {panic}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn an_attempt_that_hangs_is_waited_for_and_not_repeated() {
        let mut attempt = SingleFlight::default();
        let (release, held) = mpsc::channel::<()>();
        let first = move || held.recv().map_or(0, |()| 1);
        let error = attempt.wait(Duration::from_millis(10), first).await.unwrap_err();
        insta::assert_snapshot!(error, @"host fault: did not return within 10ms; it is still waited for");
        release.send(()).unwrap();
        assert_eq!(attempt.wait(LONG, || 2).await.unwrap(), 1, "the first attempt's");
        assert_eq!(attempt.wait(LONG, || 3).await.unwrap(), 3, "a new one");
    }

    #[tokio::test]
    async fn an_attempt_that_panics_is_over() {
        let mut attempt = SingleFlight::default();
        let error = attempt.wait(LONG, || panic!("no")).await.unwrap_err();
        assert!(error.to_string().starts_with("host fault: panicked: "), "{error}");
        attempt.wait(LONG, || ()).await.unwrap();
    }
}
