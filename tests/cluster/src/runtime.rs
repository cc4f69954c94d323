//! Which container has which disk at every moment, by what the runtime tells of their beginnings and ends.

use crate::cluster::Cluster;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Major number of loop devices.
const LOOP: u64 = 7;

/// What was seen.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    /// Containers that began with a disk.
    pub(crate) began: usize,
    /// Disks that were in two containers at once, with both.
    pub(crate) twice: Vec<String>,
    /// Events that could not be understood: then nothing is shown by what was seen.
    pub(crate) lost: Vec<String>,
    /// Who has which disk now.
    held: BTreeMap<u64, String>,
}

/// Follows the runtime's events until it is asked for what it saw.
pub(crate) struct Watch {
    events: Child,
    thread: Option<JoinHandle<()>>,
    seen: Arc<Mutex<Seen>>,
}

impl Cluster {
    /// Follows containers from here on. Those that run already are not known.
    ///
    /// # Errors
    /// When `ctr` cannot be started.
    pub(crate) fn watch_runtime(&self) -> Result<Watch> {
        let mut events = self.beside_node("ctr");
        events.args(["--address", "/run/containerd/containerd.sock", "--namespace", "k8s.io", "events"]);
        let mut events = events.stdout(Stdio::piped()).spawn().context("start ctr")?;
        let lines = BufReader::new(events.stdout.take().context("ctr's output")?);
        let (root, seen) = (self.node_root(), Arc::new(Mutex::new(Seen::default())));
        let into = Arc::clone(&seen);
        let thread = std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                into.lock().unwrap_or_else(PoisonError::into_inner).take(&line, &root);
            }
        });
        Ok(Watch { events, thread: Some(thread), seen })
    }
}

impl Watch {
    /// How many containers with a disk began until now.
    pub(crate) fn began(&self) -> usize {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).began
    }

    /// Ends, and gives what was seen.
    pub(crate) fn end(mut self) -> Seen {
        self.stop();
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn stop(&mut self) {
        let _ended = self.events.kill().and_then(|()| self.events.wait());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Seen {
    /// Whether at least so many containers with disks show that none was in two.
    ///
    /// # Errors
    /// With what is not so.
    pub(crate) fn shows(&self, containers: usize) -> Result<()> {
        ensure!(self.lost.is_empty(), "the runtime's events were not understood: {}", self.lost.join("; "));
        ensure!(self.twice.is_empty(), "in two containers at once: {}", self.twice.join("; "));
        ensure!(self.began >= containers, "{} containers began: too few to show anything", self.began);
        Ok(())
    }

    /// A line of `ctr events`: time, namespace, topic and the event.
    fn take(&mut self, line: &str, root: &Path) {
        let Some((start, event)) = line.split_once(" {").map(|(start, rest)| (start, format!("{{{rest}"))) else {
            return;
        };
        let topic = start.rsplit(' ').next().unwrap_or_default();
        let Ok(event) = serde_json::from_str::<Value>(&event) else {
            self.lost.push(line.to_owned());
            return;
        };
        let container = event["container_id"].as_str().unwrap_or_default().to_owned();
        match topic {
            "/tasks/create" => {
                let bundle = event["bundle"].as_str().unwrap_or_default().trim_start_matches('/');
                match disks(&root.join(bundle).join("config.json")) {
                    Ok(disks) => self.begins(&container, &disks),
                    Err(error) => self.lost.push(format!("{container}: {error:#}")),
                }
            }
            // Of what is run in a container by `exec`, the id is another one.
            "/tasks/exit" if event["id"] == event["container_id"] => self.ends(&container),
            "/tasks/delete" => self.ends(&container),
            _ => {}
        }
    }

    fn begins(&mut self, container: &str, disks: &[u64]) {
        if !disks.is_empty() {
            self.began += 1;
        }
        for disk in disks {
            if let Some(other) = self.held.insert(*disk, container.to_owned()).filter(|other| other != container) {
                self.twice.push(format!("loop{disk} in {other} and {container}"));
            }
        }
    }

    fn ends(&mut self, container: &str) {
        self.held.retain(|_, holder| holder != container);
    }
}

/// The disks that the runtime was told to put into a container.
fn disks(config: &PathBuf) -> Result<Vec<u64>> {
    let text = std::fs::read(config).with_context(|| format!("read {}", config.display()))?;
    let config: Value = serde_json::from_slice(&text)?;
    let devices = config["linux"]["devices"].as_array().cloned().unwrap_or_default();
    let loops = devices.iter().filter(|device| device["major"] == LOOP);
    Ok(loops.filter_map(|device| device["minor"].as_u64()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_in_two_containers_is_seen_and_one_after_the_other_is_not() {
        let mut seen = Seen::default();
        seen.begins("a", &[8, 9]);
        seen.begins("b", &[10]);
        seen.take(r#"2026-11-23 k8s.io /tasks/exit {"container_id":"a","id":"x"}"#, Path::new("/"));
        seen.begins("c", &[9]);
        assert_eq!(seen.twice, ["loop9 in a and c"]);
        seen.take(r#"2026-11-23 k8s.io /tasks/exit {"container_id":"b","id":"b"}"#, Path::new("/"));
        seen.begins("d", &[10]);
        assert_eq!((seen.twice.len(), seen.began), (1, 4));
    }
}
