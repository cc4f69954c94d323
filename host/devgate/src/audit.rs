//! The audit log: who got what, what was refused and what was written, as JSON lines in a file that is only added to.
//!
//! What makes an event never waits for the disk: lines go through a queue to a thread of their own. What has no room there or cannot be
//! written is counted in the next line that is. The admin's logrotate moves the file away and sends SIGHUP, at which it is opened anew.

mod file;
mod pods;

pub(crate) use pods::Pods;

use crate::exit;
use anyhow::Context as _;
use devgate_core::status::When;
use devgate_types::{Bucket, Mutex};
use file::AppendOnly;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::FormatFields as _;
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::layer::Context;

/// The target of events that are for the audit log.
const TARGET: &str = "audit";
/// Lines that wait for the disk.
const QUEUE: usize = 1_024;
/// Of each plugin and event that has no pace where its lines are made, so that a component that writes in a loop pushes out nothing but
/// that.
const PACE: Bucket = Bucket::new(500, Duration::from_millis(500));
/// How many lines are missing before one.
const LEFT_OUT: &str = "left_out";

/// The fields of a line.
type Line = Map<String, Value>;

/// An open audit log. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Audit {
    queue: SyncSender<Message>,
    /// Lines that were not written, and that no line has counted yet.
    missing: Arc<AtomicU64>,
    /// By plugin and event: as many as the policy has plugins, times the events that the host knows.
    paces: Arc<Mutex<HashMap<[String; 2], Bucket>>>,
}

enum Message {
    Line(Line),
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
        let (audit, messages) = Self::new(QUEUE);
        let missing = Arc::clone(&audit.missing);
        std::thread::Builder::new().name("devgate-audit".into()).spawn(move || write(file, &messages, &missing))?;
        Ok(audit)
    }

    fn new(queue: usize) -> (Self, Receiver<Message>) {
        let (queue, messages) = sync_channel(queue);
        (Self { queue, missing: Arc::default(), paces: Arc::default() }, messages)
    }

    /// Opens the file anew at each SIGHUP from now on.
    pub(crate) fn reopen_at_hangup(&self, runtime: &Runtime) -> anyhow::Result<()> {
        let _inside = runtime.enter();
        let mut hangup = signal(SignalKind::hangup()).context("listen for SIGHUP")?;
        let queue = self.queue.clone();
        runtime.spawn(async move {
            while hangup.recv().await.is_some() {
                let queue = queue.clone();
                // Waits for room in the queue: a file that was moved away must not grow on.
                let _ = tokio::task::spawn_blocking(move || queue.send(Message::Reopen)).await;
            }
        });
        Ok(())
    }

    /// Waits until all lines so far are written, but not for long.
    pub(crate) fn flush(&self, patience: Duration) {
        let (done, written) = sync_channel(1);
        if self.queue.try_send(Message::Flush(done)).is_ok() {
            let _ = written.recv_timeout(patience);
        }
    }

    /// Queues a line. Whether it is on its way; where it is not, a later one counts it.
    fn write(&self, level: Level, mut line: Line) -> bool {
        if !line.contains_key(LEFT_OUT) {
            let whose = ["plugin", "event"].map(|name| text(&line, name).to_owned());
            let Some(left_out) = self.paces.lock().entry(whose).or_insert(PACE).line(Instant::now()) else {
                return false;
            };
            count(&mut line, left_out);
        }
        line.insert("time".to_owned(), When::now().to_string().into());
        line.insert("level".to_owned(), level.as_str().into());
        let lost = count(&mut line, 0).saturating_add(1);
        let queued = self.queue.try_send(Message::Line(line)).is_ok();
        if !queued {
            self.missing.fetch_add(lost, Ordering::Relaxed);
        }
        queued
    }
}

fn text<'a>(line: &'a Line, name: &str) -> &'a str {
    line.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Has a line count that many more lines before it. Returns how many it counts then.
fn count(line: &mut Line, missing: u64) -> u64 {
    let counted = line.get(LEFT_OUT).and_then(Value::as_u64).unwrap_or_default().saturating_add(missing);
    if missing > 0 {
        line.insert(LEFT_OUT.to_owned(), counted.into());
    }
    counted
}

fn write(mut file: AppendOnly, messages: &Receiver<Message>, missing: &AtomicU64) {
    let mut failing = false;
    for message in messages {
        let written = match message {
            Message::Line(mut line) => {
                let lost = count(&mut line, missing.swap(0, Ordering::Relaxed)).saturating_add(1);
                let written = file.line(&Value::Object(line).to_string());
                if written.is_err() {
                    missing.fetch_add(lost, Ordering::Relaxed);
                }
                written
            }
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

impl<S: Subscriber> Layer<S> for Audit {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let is_audit = metadata.target() == TARGET;
        if !is_audit && metadata.fields().field("family").is_none() {
            return;
        }
        let mut json = String::new();
        let formatted = JsonFields::new().format_fields(Writer::new(&mut json), event);
        if let (Ok(()), Ok(line)) = (formatted, serde_json::from_str::<Line>(&json))
            && (is_audit || text(&line, "family") == "refused")
        {
            self.write(*metadata.level(), line);
        }
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
        tracing::subscriber::with_default(tracing_subscriber::registry().with(audit.clone()), || {
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
        tracing::subscriber::with_default(tracing_subscriber::registry().with(audit.clone()), || {
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

    /// What says how many were left out before it was counted where it was made: to count it here as well would leave out lines
    /// that the log has.
    #[test]
    fn a_line_has_one_pace() {
        let written = |lines: u64, is_paced: bool| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("audit.log");
            let audit = Audit::open(&path).unwrap();
            tracing::subscriber::with_default(tracing_subscriber::registry().with(audit.clone()), || {
                for n in 0..lines {
                    match is_paced {
                        true => {
                            tracing::info!(target: "audit", plugin = "edge", event = "allocate", left_out = n, "no")
                        }
                        false => tracing::info!(target: "audit", plugin = "edge", event = "control-write", n, "no"),
                    }
                }
            });
            audit.flush(Duration::from_secs(10));
            super::tests::lines(&path).len()
        };
        assert_eq!((written(800, true), written(800, false)), (800, 500));
    }

    /// Neither another plugin's lines nor what is given are pushed out by refusals.
    #[test]
    fn a_flood_of_one_plugins_refusals_costs_no_other_plugin_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        let audit = Audit::open(&path).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(audit.clone()), || {
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
        assert!(lines.len() < 600, "{}", lines.len());
        let last: Vec<_> = lines.iter().rev().take(3).map(|line| (&line["plugin"], &line["left_out"])).collect();
        let none = serde_json::Value::Null;
        assert_eq!(last, [(&"good".into(), &none), (&"bad".into(), &none), (&"good".into(), &none)]);
    }

    #[test]
    fn a_line_that_could_not_be_written_is_counted_in_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        std::fs::File::create(&path).unwrap().set_len(256 << 20).unwrap();
        let audit = Audit::open(&path).unwrap();
        let line = || tracing::info!(target: "audit", event = "allocate", plugin = "edge", count = 1, "allocated");
        tracing::subscriber::with_default(tracing_subscriber::registry().with(audit.clone()), || {
            line();
            line();
            audit.flush(Duration::from_secs(10));
            std::fs::remove_file(&path).unwrap();
            audit.queue.send(Message::Reopen).unwrap();
            line();
        });
        audit.flush(Duration::from_secs(10));
        let lines = lines(&path);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["left_out"], 2, "{lines:?}");
    }
}
