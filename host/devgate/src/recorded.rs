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

/// Reads the recording again whenever it is another one. Runs until it is dropped.
pub(crate) async fn follow(node: Node, recording: PathBuf) {
    let touched = Arc::new(Notify::new());
    let _watch = watch(&recording, &touched);
    let mut known = version(&recording);
    loop {
        // Another file in its directory is a reason to look, and no more than that.
        let _ = tokio::time::timeout(LOOK, touched.notified()).await;
        let now = version(&recording);
        if now.is_none() || now == known {
            continue;
        }
        known = now;
        match node.reload(&recording) {
            Ok(()) => tracing::info!("recorded node {}: read again", recording.display()),
            Err(error) => tracing::error!("recorded node {}: not read again: {error}", recording.display()),
        }
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

/// What changes when the file does, whether it was written or replaced.
fn version(file: &Path) -> Option<(u64, i64, i64, u64)> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}
