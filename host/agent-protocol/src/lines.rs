//! Messages as lines, of a bounded length.

use crate::MAX_LINE;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Why there is no message.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The other side is gone, or the system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is longer than a message may be.
    #[error("a message of more than {MAX_LINE} bytes")]
    TooLong,
    /// It is none of the messages that there are.
    #[error("no message of this protocol: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// Messages from the other side.
pub struct Lines<R> {
    from: R,
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Those that come from here.
    pub const fn new(from: R) -> Self {
        Self { from, line: Vec::new() }
    }

    /// The next message; nothing at the end. After an error the connection is of no use. Not to be dropped before it ends.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, LineError> {
        self.line.clear();
        let most = u64::try_from(MAX_LINE).unwrap_or(u64::MAX);
        let read = (&mut self.from).take(most + 1).read_until(b'\n', &mut self.line).await?;
        match self.line.last() {
            None => Ok(None),
            Some(b'\n') => Ok(Some(serde_json::from_slice(&self.line)?)),
            Some(_) if read > MAX_LINE => Err(LineError::TooLong),
            Some(_) => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }
}

/// Sends a message.
pub async fn write(to: &mut (impl AsyncWrite + Unpin), message: &impl Serialize) -> Result<(), LineError> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    if line.len() > MAX_LINE {
        return Err(LineError::TooLong);
    }
    to.write_all(&line).await?;
    Ok(to.flush().await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Claim, FromAgent, Judged, ToAgent, Unhealthy, User};

    async fn read(bytes: &[u8]) -> Result<Option<FromAgent>, LineError> {
        Lines::new(bytes).next().await
    }

    #[tokio::test]
    async fn what_is_written_is_read() {
        let said = FromAgent::Claim { ask: 7, claim: Claim::Gone };
        let mut bytes = Vec::new();
        write(&mut bytes, &said).await.unwrap();
        write(&mut bytes, &said).await.unwrap();
        let mut lines = Lines::new(bytes.as_slice());
        assert_eq!(lines.next::<FromAgent>().await.unwrap(), Some(said.clone()));
        assert_eq!(lines.next::<FromAgent>().await.unwrap(), Some(said));
        assert_eq!(lines.next::<FromAgent>().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_judgement_of_the_most_devices_is_one_line() {
        let (namespace, name) = ("n".repeat(63), "p".repeat(253));
        let user = User::Pod { namespace, name, uid: Some("u".repeat(36)) };
        let (resource, id, why) = ("r".repeat(253), "i".repeat(63), "\u{1F980}".repeat(256));
        let device = Unhealthy { resource, id, why, users: vec![user; Judged::MOST_USERS] };
        let said = ToAgent::Judged(Judged { devices: vec![device; Judged::MOST], ..Judged::default() });
        let mut bytes = Vec::new();
        write(&mut bytes, &said).await.unwrap();
        assert_eq!(Lines::new(bytes.as_slice()).next::<ToAgent>().await.unwrap(), Some(said));
    }

    #[tokio::test]
    async fn what_is_no_message_is_an_error() {
        assert!(matches!(read(b"{}\n").await, Err(LineError::Malformed(_))));
        assert!(matches!(read(b"\xff\n").await, Err(LineError::Malformed(_))));
        assert!(matches!(read(b"{\"claim\"").await, Err(LineError::Io(_))));
        assert!(matches!(read(&vec![b' '; MAX_LINE + 2]).await, Err(LineError::TooLong)));
        let long = FromAgent::Claim { ask: 0, claim: Claim::Unknown("x".repeat(MAX_LINE)) };
        assert!(matches!(write(&mut Vec::new(), &long).await, Err(LineError::TooLong)));
    }
}
