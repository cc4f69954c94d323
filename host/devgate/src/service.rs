//! What the service manager that started this host is told: that it is ready, how it is, that it lives, and that it ends.
//!
//! The protocol is `sd_notify(3)`, with which systemd and others follow a service: datagrams to the socket in `NOTIFY_SOCKET`.
//! Where that is not set, nothing is sent. A reload is not told (`RELOADING=1`): what was in force serves until another takes
//! its place, and `devgate reload` waits for it.

use crate::monitoring::Monitored;
use sd_notify::NotifyState;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often it is looked how the host is, unless the manager's watchdog wants to hear more often.
const LOOK: Duration = Duration::from_secs(10);

/// How much longer than it is said now a start may take that waits: three times as long as it is until it is said again.
const MORE: Duration = Duration::from_secs(30);

/// Tells the manager why this host does not serve yet, and that it is not to give up on the start, for as long as this is polled.
pub(crate) async fn wait(why: String) {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return;
    }
    let more = u32::try_from(MORE.as_micros()).unwrap_or(u32::MAX);
    loop {
        let why = why.clone();
        apart(move || send(&[NotifyState::Status(&why), NotifyState::ExtendTimeoutUsec(more)])).await;
        tokio::time::sleep(LOOK).await;
    }
}

/// Tells the manager all of it, from now until `stop`.
pub(crate) async fn tell(monitored: Monitored, stop: CancellationToken) {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return;
    }
    let watchdog = sd_notify::watchdog_enabled();
    let mut told = Told::default();
    loop {
        let monitored = monitored.clone();
        let look = move || {
            let hangs = watchdog.map_or_else(Vec::new, |_| monitored.hangs());
            send(&told.compare(&monitored.report().summary, &hangs, watchdog.is_some()));
            told
        };
        let Some(now) = apart(look).await else { break };
        told = now;
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(every(watchdog)) => {}
        }
    }
    apart(|| send(&[NotifyState::Stopping])).await;
}

/// Twice within the time after which the manager gives the host up.
fn every(watchdog: Option<Duration>) -> Duration {
    watchdog.map_or(LOOK, |patience| LOOK.min(patience / 2))
}

/// What the manager knows.
#[derive(Default)]
struct Told {
    ready: bool,
    status: String,
    hangs: bool,
}

impl Told {
    fn compare<'a>(&mut self, status: &'a str, hangs: &[String], watched: bool) -> Vec<NotifyState<'a>> {
        let mut said = Vec::new();
        if !self.ready {
            said.push(NotifyState::Ready);
        }
        // As for /healthz: what hangs is healed by a restart, and by nothing else.
        if watched && hangs.is_empty() {
            said.push(NotifyState::Watchdog);
        }
        if !hangs.is_empty() && !self.hangs {
            tracing::error!(
                family = "host",
                "host fault: {}; the service manager is not told that the host lives, so that it starts it again",
                hangs.join("; ")
            );
        }
        if status != self.status {
            said.push(NotifyState::Status(status));
        }
        *self = Self { ready: true, status: status.to_owned(), hangs: !hangs.is_empty() };
        said
    }
}

/// Does it on a thread that does not serve: a report of ten thousand devices takes milliseconds, and a manager that reads nothing lets a
/// sender wait. `None` if it could not be done.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

fn send(said: &[NotifyState<'_>]) {
    if said.is_empty() {
        return;
    }
    if let Err(error) = sd_notify::notify(said) {
        tracing::warn!(family = "host", "service manager: cannot be told how the host is: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_hears_twice_as_often_as_it_must() {
        assert_eq!(every(None), LOOK);
        assert_eq!(every(Some(Duration::from_secs(60))), LOOK);
        assert_eq!(every(Some(Duration::from_secs(4))), Duration::from_secs(2));
    }

    #[test]
    fn a_host_that_hangs_is_not_said_to_live() {
        let mut told = Told::default();
        let (well, late) = ("1 plugin", ["plugin acme: is 70s late".to_owned()]);
        let mut said = |hangs: &[String], watched| -> Vec<String> {
            told.compare(well, hangs, watched).iter().map(ToString::to_string).collect()
        };
        assert_eq!(said(&[], true), ["READY=1", "WATCHDOG=1", "STATUS=1 plugin"]);
        assert_eq!(said(&late, true), [""; 0]);
        assert_eq!(said(&[], true), ["WATCHDOG=1"]);
        assert_eq!(said(&[], false), [""; 0], "no watchdog is set");
    }
}
