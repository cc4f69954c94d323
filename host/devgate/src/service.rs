//! What the service manager that started this host is told: that it is ready, how it is, that it lives, and that it ends.
//!
//! The protocol is `sd_notify(3)`, with which systemd and others follow a service: datagrams to the socket in `NOTIFY_SOCKET`.
//! Where that is not set, nothing is sent. A reload is not told (`RELOADING=1`): what was in force serves until another takes
//! its place, and `devgate reload` waits for it.

use crate::watching::Watching;
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
    loop {
        send(vec![Said::Status(why.clone()), Said::Waits]).await;
        tokio::time::sleep(LOOK).await;
    }
}

/// Tells the manager all of it, from now until `stop`.
pub(crate) async fn tell(watching: Watching, stop: CancellationToken) {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return;
    }
    let watchdog = sd_notify::watchdog_enabled();
    let mut told = Told::default();
    let mut next = vec![Said::Ready];
    loop {
        let hangs = watchdog.map_or_else(Vec::new, |_| watching.hangs());
        next.extend(told.compare(watching.report().summary, &hangs, watchdog.is_some()));
        send(next).await;
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(every(watchdog)) => next = Vec::new(),
        }
    }
    send(vec![Said::Stopping]).await;
}

/// Twice within the time after which the manager gives the host up.
fn every(watchdog: Option<Duration>) -> Duration {
    watchdog.map_or(LOOK, |patience| LOOK.min(patience / 2))
}

/// One thing to tell.
#[derive(Debug, PartialEq)]
enum Said {
    Ready,
    Waits,
    Alive,
    Status(String),
    Stopping,
}

/// What the manager knows.
#[derive(Default)]
struct Told {
    status: String,
    hangs: bool,
}

impl Told {
    fn compare(&mut self, status: String, hangs: &[String], watched: bool) -> Vec<Said> {
        let mut said = Vec::new();
        // As for /healthz: what hangs is healed by a restart, and by nothing else.
        if watched && hangs.is_empty() {
            said.push(Said::Alive);
        }
        if !hangs.is_empty() && !self.hangs {
            tracing::error!(
                family = "host",
                "host fault: {}; the service manager is not told that the host lives, so that it starts it again",
                hangs.join("; ")
            );
        }
        self.hangs = !hangs.is_empty();
        if status != self.status {
            said.push(Said::Status(status.clone()));
            self.status = status;
        }
        said
    }
}

/// Not on a thread that serves: a manager that reads nothing lets a sender wait.
async fn send(said: Vec<Said>) {
    if said.is_empty() {
        return;
    }
    let sent = tokio::task::spawn_blocking(move || {
        let states: Vec<_> = said.iter().map(state).collect();
        sd_notify::notify(&states)
    });
    if let Ok(Err(error)) = sent.await {
        tracing::warn!(family = "host", "service manager: cannot be told how the host is: {error}");
    }
}

fn state(said: &Said) -> NotifyState<'_> {
    match said {
        Said::Ready => NotifyState::Ready,
        Said::Waits => NotifyState::ExtendTimeoutUsec(u32::try_from(MORE.as_micros()).unwrap_or(u32::MAX)),
        Said::Alive => NotifyState::Watchdog,
        Said::Status(text) => NotifyState::Status(text),
        Said::Stopping => NotifyState::Stopping,
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
        let well = || "1 plugin".to_owned();
        let late = ["plugin acme: is 70s late".to_owned()];
        assert_eq!(told.compare(well(), &[], true), [Said::Alive, Said::Status(well())]);
        assert_eq!(told.compare(well(), &late, true), []);
        assert_eq!(told.compare(well(), &[], true), [Said::Alive]);
        assert_eq!(told.compare(well(), &[], false), [], "no watchdog is set");
    }
}
