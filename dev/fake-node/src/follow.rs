//! Follows a recorded node's file: edited while it is played, devices come, go and change.

use crate::{RecordedNode, RecordingError};
use devgate_node::{Node, NodeError, Told, Watch};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

/// How often the file is looked at where nothing tells that it was written. It is edited by hand or from a script; nothing
/// else depends on it.
const LOOK: Duration = Duration::from_secs(1);

/// Opens a recording, and reads it again whenever it is another one, on a thread of its own that ends once no caller has the node any
/// more. `tell` hears how each reading went.
///
/// # Errors
/// As [`RecordedNode::open`], and where there is no thread to be had.
pub fn follow(
    recording: &Path,
    tell: impl Fn(Result<(), RecordingError>) + Send + 'static,
) -> Result<RecordedNode, RecordingError> {
    let known = version(recording);
    let node = RecordedNode::open(recording)?;
    start(&node, recording.to_owned(), known, tell)
        .map_err(|source| NodeError::Open { path: recording.to_owned(), source })?;
    Ok(node)
}

/// Reads the recording again whenever it is another one than `known`, which was looked at before it was opened.
fn start(
    node: &RecordedNode,
    recording: PathBuf,
    mut known: Version,
    tell: impl Fn(Result<(), RecordingError>) + Send + 'static,
) -> std::io::Result<()> {
    let node = node.weak();
    let thread = std::thread::Builder::new().name("recording".to_owned());
    thread.spawn(move || {
        let (touch, touched) = sync_channel(1);
        let _watch = watch(&recording, touch.clone());
        while let Some(node) = node() {
            let now = version(&recording);
            if now.is_some() && now != known {
                known = now;
                tell(node.reload(&recording));
            }
            drop(node);
            // Another file in its directory is a reason to look, and no more than that.
            let _ = touched.recv_timeout(LOOK);
        }
    })?;
    Ok(())
}

/// Tells when something in the recording's directory is written, made or replaced.
fn watch(recording: &Path, touched: SyncSender<()>) -> Result<Watch, NodeError> {
    let directory = recording.parent().filter(|parent| !parent.as_os_str().is_empty());
    // One that is not taken yet stands for all.
    let tell = move |_| {
        let _ = touched.try_send(());
    };
    let watch = Node::open(directory.unwrap_or(Path::new(".")))?.watch(false, std::sync::Arc::new(tell));
    watch.listen_in(BTreeMap::from([("/".to_owned(), Told::Contents)]));
    Ok(watch)
}

/// What changes when a file does, whether it was written or replaced; nothing where there is none.
type Version = Option<(u64, i64, i64, u64)>;

/// What a file is like now.
fn version(file: &Path) -> Version {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const ONE: &str = "P: /devices/x/y\nE: SUBSYSTEM=misc\n";

    /// A change between the opening and the following is a change all the same.
    #[test]
    fn what_is_written_before_it_is_followed_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("node.umockdev");
        std::fs::write(&file, "# nothing\n").unwrap();
        let known = version(&file);
        let node = RecordedNode::open(&file).unwrap();
        std::fs::write(&file, ONE).unwrap();
        start(&node, file, known, |read| read.unwrap()).unwrap();
        let begun = Instant::now();
        while node.device("misc", "y").is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "it was never read again");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
