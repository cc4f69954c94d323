//! What happens in the kubelet's directory: inotify for speed, a slow poll for certainty.

use std::io;
use std::os::linux::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inotify::{Event, EventMask, EventStream, Inotify, WatchMask};
use tokio::sync::watch;
use tokio_stream::StreamExt as _;

use devgate_kubelet::api::KUBELET_SOCKET;
use devgate_kubelet::file_id::FileId;

/// How many more looks must find the directory deleted before its end is believed, and how long to wait before each.
const MORE_LOOKS: u32 = 3;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The kubelet's socket as it was seen last, if there is one. Sent anew after every event and every poll, changed or not, so that
/// readers look for what is theirs.
pub(crate) type Sight = Option<FileId>;

/// The kubelet's socket in `dir` now.
pub(crate) fn look(dir: &Path) -> Sight {
    FileId::of(&dir.join(KUBELET_SOCKET))
}

/// The directory's inode has no name any more: it was deleted while it was mounted here, and what the kubelet makes in
/// its place will never be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deleted;

/// Watches `dir` until it is deleted under its mount.
pub(crate) async fn watch(dir: PathBuf, poll: Duration, use_inotify: bool, out: watch::Sender<Sight>) -> Deleted {
    let mut events: Option<Events> = None;
    let mut warned = !use_inotify;
    loop {
        match directory_id(&dir) {
            // Where the path leads to it, it may just be on its way out, and is not found then.
            Ok(None) if stays_deleted(&dir).await => return Deleted,
            Ok(None) => events = None,
            Ok(Some(id)) => {
                // A directory that was made anew needs a new watch, too.
                if use_inotify && events.as_ref().is_none_or(|e| e.directory != id) {
                    events = Events::new(&dir, id)
                        .inspect_err(|error| {
                            if !std::mem::replace(&mut warned, true) {
                                tracing::warn!(
                                    "directory {}: no inotify, looking every {poll:?} instead: {error}",
                                    dir.display()
                                );
                            }
                        })
                        .ok();
                }
            }
            Err(_) => events = None,
        }
        // After the watch is set, so that nothing falls between.
        out.send_replace(look(&dir));
        match events.as_mut() {
            Some(waiting) => tokio::select! {
                lost = waiting.next() => if lost.is_err() {
                    events = None;
                },
                () = tokio::time::sleep(poll) => {}
            },
            None => tokio::time::sleep(poll).await,
        }
    }
}

/// Whether each of some more looks finds it deleted, a moment apart: through a mount, it is for ever.
async fn stays_deleted(dir: &Path) -> bool {
    for _ in 0..MORE_LOOKS {
        tokio::time::sleep(BETWEEN_LOOKS).await;
        if !matches!(directory_id(dir), Ok(None)) {
            return false;
        }
    }
    true
}

/// Device and inode of the directory, or nothing where it was deleted.
fn directory_id(dir: &Path) -> io::Result<Option<(u64, u64)>> {
    let meta = std::fs::metadata(dir)?;
    Ok((meta.st_nlink() > 0).then(|| (meta.st_dev(), meta.st_ino())))
}

struct Events {
    directory: (u64, u64),
    stream: EventStream<[u8; 4096]>,
}

impl Events {
    fn new(dir: &Path, directory: (u64, u64)) -> io::Result<Self> {
        let inotify = Inotify::init()?;
        let mask = WatchMask::CREATE
            | WatchMask::MOVED_TO
            | WatchMask::DELETE
            | WatchMask::DELETE_SELF
            | WatchMask::MOVE_SELF
            | WatchMask::ONLYDIR;
        inotify.watches().add(dir, mask)?;
        Ok(Self { directory, stream: inotify.into_event_stream([0; 4096])? })
    }

    /// The next event that may matter; the kubelet's checkpoint, written with every list, is not one.
    async fn next(&mut self) -> Result<(), ()> {
        loop {
            match self.stream.next().await {
                Some(Ok(event)) if event.mask.contains(EventMask::IGNORED) => return Err(()),
                Some(Ok(event)) if matters(&event) => return Ok(()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(()),
            }
        }
    }
}

fn matters<T: AsRef<std::ffi::OsStr>>(event: &Event<T>) -> bool {
    let Some(name) = event.name.as_ref().map(AsRef::as_ref) else {
        return true;
    };
    // Ours, or another devgate's, which has come or left.
    name == KUBELET_SOCKET || super::socket::is_ours(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_kubelet::transport::bind;
    use std::os::fd::AsRawFd as _;

    const LONG: Duration = Duration::from_secs(60);

    async fn until(sight: &mut watch::Receiver<Sight>, there: bool) {
        let seen = sight.wait_for(|s| s.is_some() == there);
        tokio::time::timeout(LONG, seen).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn the_kubelets_socket_is_seen_by_inotify_and_by_poll() {
        for (poll, use_inotify) in [(LONG * 60, true), (Duration::from_millis(5), false)] {
            let dir = tempfile::tempdir().unwrap();
            let (out, mut sight) = watch::channel(None);
            let task = tokio::spawn(watch(dir.path().to_path_buf(), poll, use_inotify, out));
            // The first look is the sign that the watch is set.
            sight.changed().await.unwrap();
            let socket = dir.path().join(KUBELET_SOCKET);
            let _listener = bind(&socket).unwrap();
            until(&mut sight, true).await;
            std::fs::remove_file(&socket).unwrap();
            until(&mut sight, false).await;
            task.abort();
        }
    }

    #[tokio::test]
    async fn a_directory_made_anew_is_watched_again() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("device-plugins");
        std::fs::create_dir(&dir).unwrap();
        let (out, mut sight) = watch::channel(None);
        let task = tokio::spawn(watch(dir.clone(), Duration::from_millis(5), true, out));
        sight.changed().await.unwrap();
        std::fs::remove_dir(&dir).unwrap();
        sight.changed().await.unwrap();
        std::fs::create_dir(&dir).unwrap();
        let _listener = bind(&dir.join(KUBELET_SOCKET)).unwrap();
        until(&mut sight, true).await;
        task.abort();
    }

    /// A look that meets the deletion sees the inode without a name, and it is not the end if the path finds nothing, or
    /// another one, a moment later.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_directory_that_is_deleted_by_its_name_is_not_deleted_under_a_mount() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("device-plugins");
        std::fs::create_dir(&dir).unwrap();
        let (out, _sight) = watch::channel(None);
        let task = tokio::spawn(watch(dir.clone(), Duration::ZERO, false, out));
        let churn = tokio::task::spawn_blocking(move || {
            for _ in 0..20_000 {
                std::fs::remove_dir(&dir).unwrap();
                std::fs::create_dir(&dir).unwrap();
            }
        });
        churn.await.unwrap();
        assert!(!task.is_finished());
        task.abort();
    }

    #[tokio::test]
    async fn a_directory_deleted_under_its_mount_is_told() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("device-plugins");
        std::fs::create_dir(&dir).unwrap();
        let held = std::fs::File::open(&dir).unwrap();
        // As through a mount: the path goes on to lead to the inode.
        let mounted = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
        let (out, mut sight) = watch::channel(None);
        let task = tokio::spawn(watch(mounted, Duration::from_millis(5), true, out));
        sight.changed().await.unwrap();
        std::fs::remove_dir(&dir).unwrap();
        assert_eq!(tokio::time::timeout(LONG, task).await.unwrap().unwrap(), Deleted);
    }
}
