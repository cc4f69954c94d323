//! Follows a recorded node's file: whoever edits it while it is played sees devices come, go and change.

use devgate_node::Node;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the file is looked at. Somebody edits it by hand or from a script; nothing else depends on it.
const LOOK: Duration = Duration::from_millis(250);

/// Reads the recording again whenever it is another one. Runs until it is dropped.
pub(crate) async fn follow(node: Node, recording: PathBuf) {
    let mut known = version(&recording);
    loop {
        tokio::time::sleep(LOOK).await;
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

/// What changes when the file does, whether it was written or replaced.
fn version(file: &Path) -> Option<(u64, i64, i64, u64)> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}
