//! Follows a recorded node's file: whoever edits it while it is played sees devices come, go and change.

use devgate_node::{Node, NodeError, Watch};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// How often the file is looked at where nothing tells that it was written. Somebody edits it by hand or from a script; nothing
/// else depends on it.
const LOOK: Duration = Duration::from_secs(1);

/// Reads the recording again whenever it is another one than `known`, which was looked at before it was opened. Runs until it is
/// dropped.
pub(crate) async fn follow(node: Node, recording: PathBuf, mut known: Version) {
    let touched = Arc::new(Notify::new());
    let _watch = watch(&recording, &touched);
    loop {
        let now = version(&recording);
        if now.is_some() && now != known {
            known = now;
            match node.reload(&recording) {
                Ok(()) => tracing::info!("recorded node {}: read again", recording.display()),
                Err(error) => tracing::error!("recorded node {}: not read again: {error}", recording.display()),
            }
        }
        // Another file in its directory is a reason to look, and no more than that.
        let _ = tokio::time::timeout(LOOK, touched.notified()).await;
    }
}

/// Tells when something in the recording's directory is written, made or replaced.
fn watch(recording: &Path, touched: &Arc<Notify>) -> Result<Watch, NodeError> {
    let directory = recording.parent().filter(|parent| !parent.as_os_str().is_empty());
    let touched = Arc::clone(touched);
    let tell = move |_| touched.notify_one();
    let watch = Node::open(directory.unwrap_or(Path::new(".")))?.watch(false, Arc::new(tell));
    watch.directories(&BTreeSet::from(["/".to_owned()]));
    Ok(watch)
}

/// What changes when a file does, whether it was written or replaced; nothing where there is none.
pub(crate) type Version = Option<(u64, i64, i64, u64)>;

/// What a file is like now.
pub(crate) fn version(file: &Path) -> Version {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "P: /devices/x/y\nE: SUBSYSTEM=misc\n";

    /// A change between the opening and the following is a change all the same.
    #[tokio::test]
    async fn what_is_written_before_it_is_followed_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("node.umockdev");
        std::fs::write(&file, "# nothing\n").unwrap();
        let known = version(&file);
        let node = Node::open(&file).unwrap();
        std::fs::write(&file, ONE).unwrap();
        let following = tokio::spawn(follow(node.clone(), file, known));
        let seen = async {
            while node.device("misc", "y").is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), seen).await.unwrap();
        following.abort();
    }
}
