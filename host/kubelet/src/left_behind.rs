//! Sockets in a directory of the kubelet, and which of them a process that was killed has left there.

use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixStream;

/// How long a socket has to answer to count as alive, and to listen once it has its name.
const PROBE: Duration = Duration::from_millis(500);

/// Sockets of a front end that are in a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LeftBehind {
    /// Those that no process listens on, in the order of their names.
    pub dead: Vec<PathBuf>,
    /// Those that a running devgate answers on, or that cannot be tried.
    pub alive: Vec<PathBuf>,
}

impl LeftBehind {
    /// Which of these sockets are dead. Those that go meanwhile are neither.
    pub async fn of(sockets: Vec<PathBuf>) -> Self {
        let mut found = Self { dead: sockets, alive: Vec::new() };
        // Twice, because a socket has its name a moment before its process listens on it.
        for pause in [Duration::ZERO, PROBE] {
            if !found.dead.is_empty() {
                tokio::time::sleep(pause).await;
            }
            for path in std::mem::take(&mut found.dead) {
                if is_dead(&path).await {
                    found.dead.push(path);
                } else if path.exists() {
                    found.alive.push(path);
                }
            }
        }
        found.alive.sort();
        found
    }
}

/// Whether no process listens on a socket.
pub async fn is_dead(path: &Path) -> bool {
    let connected = tokio::time::timeout(PROBE, UnixStream::connect(path)).await;
    matches!(connected, Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused)
}

/// The sockets in a directory, sorted; one that is not there has none. No link is followed. Fails where it cannot be read.
pub fn sockets(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_socket() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}
