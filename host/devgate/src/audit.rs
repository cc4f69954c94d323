//! The audit log: who got what, what was refused and what was written, as JSON lines in a file that is only added to.
//!
//! What makes an event never waits for the disk: lines go through a queue to a thread of their own. What does not fit is left out, and
//! counted in the next line that does. The admin's logrotate moves the file away and sends SIGHUP, at which it is opened anew.

mod file;
mod line;
mod pace;
mod pods;

pub(crate) use pods::Pods;

use crate::exit;
use anyhow::Context as _;
use file::AppendOnly;
use line::{Kind, Line};
use pace::Pace;
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The target of events that are for the audit log.
const TARGET: &str = "audit";
/// Lines that wait for the disk.
const QUEUE: usize = 1_024;

/// An open audit log.
pub(crate) struct Audit {
    shared: Arc<Shared>,
}

struct Shared {
    queue: SyncSender<Message>,
    paces: Arc<Paces>,
}

/// As many as the policy has plugins, times the kinds of events that the host knows.
#[derive(Default)]
struct Paces(Mutex<HashMap<Kind, Pace>>);

enum Message {
    /// A line, what it is about, and how many it says were left out before it.
    Line(String, Kind, u64),
    Reopen,
    Flush(SyncSender<()>),
}

impl Audit {
    /// Opens or makes the file.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = AppendOnly::open(path).map_err(|error| {
            let text = format!("--audit-log {}: cannot be written: {error}", path.display());
            exit::with_code(exit::NODE, text)
        })?;
        let (queue, messages) = sync_channel(QUEUE);
        let paces = Arc::<Paces>::default();
        let shared = Shared { queue, paces: Arc::clone(&paces) };
        std::thread::Builder::new().name("devgate-audit".into()).spawn(move || write(file, &messages, &paces))?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Opens the file anew at each SIGHUP from now on.
    pub(crate) fn reopen_at_hangup(&self, runtime: &Runtime) -> anyhow::Result<()> {
        let _inside = runtime.enter();
        let mut hangup = signal(SignalKind::hangup()).context("listen for SIGHUP")?;
        let shared = Arc::clone(&self.shared);
        runtime.spawn(async move {
            while hangup.recv().await.is_some() {
                let shared = Arc::clone(&shared);
                // Waits for room in the queue: a file that was moved away must not grow on.
                let _ = tokio::task::spawn_blocking(move || shared.queue.send(Message::Reopen)).await;
            }
        });
        Ok(())
    }

    /// What takes events.
    pub(crate) fn layer(&self) -> AuditLayer {
        AuditLayer(Arc::clone(&self.shared))
    }

    /// What takes lines that are for this file alone, and for no log that leaves the node.
    pub(crate) fn pods(&self) -> Pods {
        Pods::new(Arc::clone(&self.shared))
    }

    /// Waits until all lines so far are written, but not for long.
    pub(crate) fn flush(&self, patience: Duration) {
        let (done, written) = sync_channel(1);
        if self.shared.queue.try_send(Message::Flush(done)).is_ok() {
            let _ = written.recv_timeout(patience);
        }
    }
}

fn write(mut file: AppendOnly, messages: &Receiver<Message>, paces: &Paces) {
    let mut failing = false;
    for message in messages {
        let written = match message {
            Message::Line(line, kind, left_out) => file.line(&line).inspect_err(|_| paces.leave_out(&kind, left_out)),
            Message::Reopen => file.reopen(),
            Message::Flush(done) => {
                let _ = done.try_send(());
                continue;
            }
        };
        if let (Err(error), false) = (&written, failing) {
            tracing::error!(family = "host", "audit log {}: not written: {error}", file.path().display());
        }
        failing = written.is_err();
    }
}

/// Takes the events that are for the audit log.
pub(crate) struct AuditLayer(Arc<Shared>);

impl<S: Subscriber> Layer<S> for AuditLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let is_audit = event.metadata().target() == TARGET;
        if is_audit || event.metadata().fields().field("family").is_some() {
            let line = Line::of(event);
            if is_audit || line.kind().refused {
                self.0.write(line);
            }
        }
    }
}

impl Shared {
    /// Queues a line. Whether it is on its way; where it is not, the next one of its kind counts it.
    fn write(&self, line: Line) -> bool {
        let kind = line.kind();
        let Some(left_out) = self.paces.with(&kind, |pace| pace.line(Instant::now())) else {
            return false;
        };
        let line = Message::Line(line.text(left_out), kind.clone(), left_out);
        let queued = self.queue.try_send(line).is_ok();
        if !queued {
            self.paces.leave_out(&kind, left_out);
        }
        queued
    }
}

impl Paces {
    fn with<T>(&self, kind: &Kind, with: impl FnOnce(&mut Pace) -> T) -> T {
        let mut paces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        with(paces.entry(kind.clone()).or_insert_with(|| Pace::of(kind)))
    }

    /// Counts a line that was not written, and those that it would have told of.
    fn leave_out(&self, kind: &Kind, told: u64) {
        self.with(kind, |pace| pace.leave_out(told.saturating_add(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt;

    fn lines(path: &Path) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn what_is_for_the_audit_log_is_in_it_whatever_the_log_says() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        let audit = Audit::open(&path).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(audit.layer()), || {
            tracing::info!(target: "audit", event = "allocate", plugin = "edge", count = 2, "allocated \"a\"");
            tracing::warn!(plugin = "edge", family = "refused", "plugin edge: no");
            tracing::warn!(plugin = "edge", family = "guest", "plugin edge: broke");
            tracing::info!("something else");
        });
        audit.flush(Duration::from_secs(10));
        let lines = lines(&path);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!((&lines[0]["event"], &lines[0]["count"]), (&"allocate".into(), &2.into()));
        assert_eq!(lines[0]["message"], "allocated \"a\"");
        assert!(lines[0]["time"].as_str().unwrap().ends_with('Z'));
        assert_eq!(lines[1]["message"], "plugin edge: no");
    }

    #[test]
    fn a_flood_is_left_out_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        let audit = Audit::open(&path).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(audit.layer()), || {
            for n in 0..10_000 {
                tracing::info!(target: "audit", n, "again");
            }
            std::thread::sleep(Duration::from_millis(1_100));
            tracing::info!(target: "audit", "after");
        });
        audit.flush(Duration::from_secs(10));
        let lines = lines(&path);
        let counted: u64 = lines.iter().filter_map(|line| line["left_out"].as_u64()).sum();
        assert!(lines.len() < 1_000, "{}", lines.len());
        assert_eq!(u64::try_from(lines.len()).unwrap() + counted, 10_001);
    }

    /// What says how many were left out before it was counted where it was made: to count it here as well would leave out
    /// lines that the log has.
    #[test]
    fn a_line_has_one_pace() {
        let pace = |paced| Pace::of(&Kind { refused: true, paced, ..Kind::default() });
        let now = Instant::now();
        let written = |mut pace: Pace| (0..1_000).filter(|_| pace.line(now) == Some(0)).count();
        assert_eq!((written(pace(true)), written(pace(false))), (1_000, 100));

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        let audit = Audit::open(&path).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(audit.layer()), || {
            for n in 0..300u64 {
                tracing::warn!(target: "audit", plugin = "edge", family = "refused", event = "allocate", left_out = n, "no");
            }
        });
        audit.flush(Duration::from_secs(10));
        assert_eq!(lines(&path).len(), 300);
    }

    /// Neither another plugin's lines nor what is given are pushed out by refusals.
    #[test]
    fn a_flood_of_one_plugins_refusals_costs_nobody_else_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        let audit = Audit::open(&path).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(audit.layer()), || {
            for n in 0..10_000 {
                tracing::warn!(plugin = "bad", family = "refused", n, "no");
            }
            audit.flush(Duration::from_secs(10));
            tracing::info!(target: "audit", plugin = "good", event = "allocate", "theirs");
            tracing::info!(target: "audit", plugin = "bad", event = "control-write", "its own");
            tracing::warn!(plugin = "good", family = "refused", "no");
        });
        audit.flush(Duration::from_secs(10));
        let lines = lines(&path);
        assert!(lines.len() < 200, "{}", lines.len());
        let last: Vec<_> = lines.iter().rev().take(3).map(|line| (&line["plugin"], &line["left_out"])).collect();
        let none = serde_json::Value::Null;
        assert_eq!(last, [(&"good".into(), &none), (&"bad".into(), &none), (&"good".into(), &none)]);
    }

    #[test]
    fn a_line_that_could_not_be_written_is_counted_in_the_next_of_its_kind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        std::fs::File::create(&path).unwrap().set_len(256 << 20).unwrap();
        let audit = Audit::open(&path).unwrap();
        let line = || tracing::info!(target: "audit", event = "allocate", plugin = "edge", count = 1, "allocated");
        tracing::subscriber::with_default(tracing_subscriber::registry().with(audit.layer()), || {
            line();
            line();
            audit.flush(Duration::from_secs(10));
            std::fs::remove_file(&path).unwrap();
            audit.shared.queue.send(Message::Reopen).unwrap();
            line();
        });
        audit.flush(Duration::from_secs(10));
        let lines = lines(&path);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["left_out"], 2, "{lines:?}");
    }
}
