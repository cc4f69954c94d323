//! What is done to files and sockets behind the kubelet's back.

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// More than inotify remembers (`/proc/sys/fs/inotify/max_queued_events` is 16,384): two for each file.
const FLOOD: usize = 9_000;
/// How long strangers stay.
const STAY: Duration = Duration::from_millis(150);
/// What a client of HTTP/2 says first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The host's sockets in the kubelet's directory, all or those for one resource.
pub(super) fn sockets(dir: &Path, resource: Option<&str>) -> Vec<PathBuf> {
    let start = match resource {
        Some(resource) => format!("devgate-{}-", resource.replace('/', "_")),
        None => "devgate-".to_owned(),
    };
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&start));
    ours.map(|entry| entry.path()).collect()
}

/// Deletes files; that one is gone already is fine.
pub(super) fn delete(files: &[PathBuf]) {
    for file in files {
        let _ = std::fs::remove_file(file);
    }
}

/// Fills the queue of whoever watches the directory and does not look.
///
/// # Errors
/// When no file can be made.
pub(super) fn flood(dir: &Path) -> std::io::Result<()> {
    for n in 0..FLOOD {
        // Other names, because the kernel merges an event with the one before if they are the same.
        let file = dir.join(format!("devgate-flood{n}.sock"));
        std::fs::write(&file, "")?;
        std::fs::remove_file(&file)?;
    }
    Ok(())
}

/// Sets the times of all sockets to another century, this one or that one in turn.
pub(super) fn wrong_times(dir: &Path) {
    for (n, entry) in std::fs::read_dir(dir).into_iter().flatten().flatten().enumerate() {
        let seconds = if n % 2 == 0 { 1 } else { 4_102_444_800 };
        let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
        let times = Timestamps { last_access: time, last_modification: time };
        let _ = rustix::fs::utimensat(CWD, entry.path(), &times, AtFlags::SYMLINK_NOFOLLOW);
    }
}

/// Connections that nobody asked for: silent ones, one with nonsense, and clients of HTTP/2 that never go on.
pub(super) async fn strangers(dir: PathBuf, count: u32) {
    let mut connections = Vec::new();
    for socket in sockets(&dir, None) {
        for n in 0..count {
            let Ok(mut stranger) = UnixStream::connect(&socket) else {
                continue;
            };
            let _ = stranger.set_nonblocking(true);
            let said: &[u8] = match n % 3 {
                0 => b"",
                1 => b"GET / HTTP/1.1\r\n\r\n",
                _ => PREFACE,
            };
            let _ = stranger.write_all(said);
            connections.push(stranger);
        }
    }
    tokio::time::sleep(STAY).await;
}
