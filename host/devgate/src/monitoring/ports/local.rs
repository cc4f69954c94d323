//! The socket on which root, and the user that the host runs as, may know who has what.

use super::Listener;
use crate::monitoring::http::Audience;
use std::fs::{DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};

/// The socket. Its file goes with it, if it still is its own.
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    id: Option<(u64, u64)>,
    /// As whom those are answered that may ask: `Local`, or `Standby` in the state directory, where a host that stands by asks.
    audience: Audience,
}

impl Socket {
    /// Opens the socket, for its owner alone. One that a host left behind is replaced; one that answers is not.
    pub(super) async fn open(path: &Path, audience: Audience) -> io::Result<Self> {
        if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o755).create(dir)?;
        }
        match UnixStream::connect(path).await {
            Ok(_) => return Err(io::Error::new(ErrorKind::AddrInUse, "another process answers there")),
            // Nothing is there, or no process listens: what the connection to a plain file says as well.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
            // A process listens that has more to do than it can (EAGAIN), or it cannot be known.
            Err(error) => {
                let why = format!("it cannot be seen whether another process answers there: {error}");
                return Err(io::Error::new(ErrorKind::AddrInUse, why));
            }
        }
        if std::fs::symlink_metadata(path).is_ok_and(|there| !there.file_type().is_socket()) {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "there is something that is no socket"));
        }
        // Made under another name, so that it is never there with other permissions than it should have.
        let mut new = path.as_os_str().to_owned();
        new.push(format!(".{}", std::process::id()));
        let new = PathBuf::from(new);
        let _ = std::fs::remove_file(&new);
        let listener = UnixListener::bind(&new)?;
        let moved =
            std::fs::set_permissions(&new, Permissions::from_mode(0o600)).and_then(|()| std::fs::rename(&new, path));
        moved.inspect_err(|_| drop(std::fs::remove_file(&new)))?;
        Ok(Self { listener, path: path.to_owned(), id: identity(path), audience })
    }
}

impl Listener for Socket {
    type Connection = UnixStream;
    type Peer = Option<u32>;

    async fn next(&self) -> io::Result<(UnixStream, Option<u32>, Audience)> {
        let (connection, _) = self.listener.accept().await?;
        let peer = connection.peer_cred().ok().map(|peer| peer.uid());
        let may_ask = may_ask(peer, rustix::process::geteuid().as_raw());
        let audience = if may_ask { self.audience } else { Audience::Unauthorized };
        Ok((connection, peer, audience))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.id.is_some() && identity(&self.path) == self.id {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Root, or this host's own user, learns nothing new. A peer that the kernel does not name may not.
fn may_ask(peer: Option<u32>, own: u32) -> bool {
    peer.is_some_and(|peer| peer == 0 || peer == own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_the_hosts_own_user_may_ask_and_nobody_else() {
        assert!(may_ask(Some(0), 1_000) && may_ask(Some(1_000), 1_000));
        assert!(!may_ask(Some(1_001), 1_000) && !may_ask(Some(65_534), 0) && !may_ask(None, 0));
    }

    #[tokio::test]
    async fn what_was_left_behind_is_replaced_and_what_answers_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deeper/status.sock");
        let mut first = Socket::open(&path, Audience::Local).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let taken = Socket::open(&path, Audience::Local).await.err().unwrap();
        assert_eq!(taken.to_string(), "another process answers there");
        // Killed: the file stays, and no process listens.
        first.id = None;
        drop(first);
        assert!(path.exists());
        let second = Socket::open(&path, Audience::Local).await.unwrap();
        drop(second);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_host_that_is_too_busy_to_accept_keeps_its_socket() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("status.sock");
        let busy = std::os::unix::net::UnixListener::bind(&path).unwrap();
        rustix::net::listen(&busy, 0).unwrap();
        let mut waiting = Vec::new();
        let full = loop {
            match UnixStream::connect(&path).await {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
        let before = identity(&path);
        assert!(Socket::open(&path, Audience::Local).await.is_err());
        assert_eq!(identity(&path), before);
    }

    #[tokio::test]
    async fn what_is_no_socket_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("precious");
        std::fs::write(&path, "precious").unwrap();
        assert!(Socket::open(&path, Audience::Local).await.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }
}
