//! Frames over one end of a pair of sockets: four bytes of length, the least first, and a message.

use prost::Message;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::time::Instant;

/// The longest message of a runner, in bytes: a blob of 64 KiB and what is around it. What it says that is longer is sent in parts.
pub(crate) const MAX_UP: usize = 68 << 10;
/// The longest message of the host, which is believed: units of a whole node.
pub(crate) const MAX_DOWN: usize = 256 << 20;
/// How much is read at once, and how much is collected before it is written.
const PIECE: usize = 16 << 10;
/// What stands before each message.
const HEAD: usize = 4;

/// What went wrong with the other end.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// It is not there any more.
    #[error("it has ended")]
    Closed,
    /// It said nothing in time, or does not take what it is told.
    #[error("it does not answer")]
    Late,
    /// What it says is not in the protocol.
    #[error("it says something that is not in the protocol: {0}")]
    Nonsense(&'static str),
    /// What the kernel says.
    #[error("{0}")]
    System(io::Error),
}

impl From<io::Error> for SocketError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => Self::Closed,
            _ => Self::System(error),
        }
    }
}

/// One end. Read and written as a file is: a filter that allows `read` and `write` is enough for it.
#[derive(Debug)]
pub struct Socket {
    file: File,
    inbox: Vec<u8>,
    /// How much of the inbox has been taken.
    taken: usize,
    outbox: Vec<u8>,
    /// Until when it waits; for ever without.
    until: Option<Instant>,
}

impl Socket {
    /// An end that blocks, of the process that has nothing else to do.
    #[must_use]
    pub fn blocking(end: OwnedFd) -> Self {
        Self { file: File::from(end), inbox: Vec::new(), taken: 0, outbox: Vec::new(), until: None }
    }

    /// An end that waits no longer than it is told to.
    pub fn patient(end: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&end, true)?;
        Ok(Self { until: Some(Instant::now()), ..Self::blocking(end) })
    }

    /// Waits until then, from now on.
    pub fn wait_until(&mut self, until: Instant) {
        self.until = Some(until);
    }

    /// Sends a message with the next ones: see [`Socket::flush`].
    pub fn add(&mut self, message: &impl Message) -> Result<(), SocketError> {
        let length = u32::try_from(message.encoded_len()).map_err(|_| SocketError::Nonsense("too long"))?;
        self.outbox.extend(length.to_le_bytes());
        message.encode(&mut self.outbox).map_err(|_| SocketError::Nonsense("too long"))?;
        if self.outbox.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    /// Sends a message, and what was added before it.
    pub fn send(&mut self, message: &impl Message) -> Result<(), SocketError> {
        self.add(message)?;
        self.flush()
    }

    /// Sends what was added.
    pub fn flush(&mut self) -> Result<(), SocketError> {
        let mut sent = 0;
        while let Some(rest) = self.outbox.get(sent..).filter(|rest| !rest.is_empty()) {
            match self.file.write(rest) {
                Ok(0) => return Err(SocketError::Closed),
                Ok(more) => sent += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(PollFlags::OUT)?,
                Err(error) => return Err(error.into()),
            }
        }
        self.outbox.clear();
        self.outbox.shrink_to(PIECE);
        Ok(())
    }

    /// The next message, of at most so many bytes. No more is taken up than what has come. Fails where none comes in time, or what comes is
    /// none.
    pub fn receive<M: Message + Default>(&mut self, most: usize) -> Result<M, SocketError> {
        while self.waiting().len() < HEAD {
            self.read()?;
        }
        let head = self.waiting().first_chunk::<HEAD>().copied().unwrap_or_default();
        let length = usize::try_from(u32::from_le_bytes(head)).unwrap_or(usize::MAX);
        if length > most {
            return Err(SocketError::Nonsense("too long"));
        }
        let end = HEAD.saturating_add(length);
        while self.waiting().len() < end {
            self.read()?;
        }
        let message = M::decode(self.waiting().get(HEAD..end).unwrap_or_default());
        self.taken += end;
        message.map_err(|_| SocketError::Nonsense("not a message"))
    }

    /// Whether something came that was not asked for.
    pub(crate) fn is_ahead(&self) -> bool {
        !self.waiting().is_empty()
    }

    fn waiting(&self) -> &[u8] {
        self.inbox.get(self.taken..).unwrap_or_default()
    }

    fn read(&mut self) -> Result<(), SocketError> {
        self.inbox.drain(..self.taken);
        self.taken = 0;
        if self.inbox.is_empty() {
            self.inbox.shrink_to(PIECE);
        }
        if self.until.is_some() {
            self.wait(PollFlags::IN)?;
        }
        let had = self.inbox.len();
        self.inbox.resize(had + PIECE, 0);
        let read = loop {
            match self.file.read(self.inbox.get_mut(had..).unwrap_or_default()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.inbox.truncate(had + read.as_ref().map_or(0, |read| *read));
        match read {
            Ok(0) => Err(SocketError::Closed),
            Ok(_) => Ok(()),
            // Another thread's poll, or none: it is asked again.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn wait(&self, what: PollFlags) -> Result<(), SocketError> {
        loop {
            let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            let left: Option<Timespec> = left.and_then(|left| left.try_into().ok());
            match poll(&mut [PollFd::new(&self.file, what)], left.as_ref()) {
                Ok(0) => return Err(SocketError::Late),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(SocketError::System(error.into())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::wire;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    fn pair() -> (Socket, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut socket = Socket::patient(ours.into()).unwrap();
        socket.wait_until(Instant::now() + Duration::from_millis(200));
        (socket, theirs)
    }

    fn log(line: &str) -> wire::Log {
        wire::Log { line: line.to_owned(), ..wire::Log::default() }
    }

    #[test]
    fn messages_arrive_one_by_one_whatever_pieces_they_come_in() {
        let (mut socket, mut theirs) = pair();
        let long = log(&"x".repeat(60_000));
        let mut bytes = Vec::new();
        for message in [&long, &log(""), &log("a")] {
            bytes.extend(u32::try_from(message.encoded_len()).unwrap().to_le_bytes());
            bytes.extend(message.encode_to_vec());
        }
        let writer = std::thread::spawn(move || {
            for piece in bytes.chunks(7_001) {
                theirs.write_all(piece).unwrap();
            }
            theirs
        });
        for expected in [&long, &log(""), &log("a")] {
            assert_eq!(socket.receive::<wire::Log>(MAX_UP).unwrap(), *expected);
        }
        assert!(!socket.is_ahead());
        drop(writer.join().unwrap());
        assert!(matches!(socket.receive::<wire::Log>(MAX_UP), Err(SocketError::Closed)));
        assert!(matches!(socket.send(&log("b")), Err(SocketError::Closed)));
    }

    #[test]
    fn what_is_no_message_is_said_to_be_none() {
        for (bytes, is_late) in [
            (&[0xff; 12][..], false),
            (&[2, 0, 0, 0, 0xff, 0xff], false),
            // Half a message, and half a length.
            (&[9, 0, 0, 0, 1], true),
            (&[9, 0], true),
            (&[], true),
        ] {
            let (mut socket, mut theirs) = pair();
            theirs.write_all(bytes).unwrap();
            match socket.receive::<wire::Log>(MAX_UP) {
                Err(SocketError::Nonsense(_)) => assert!(!is_late, "{bytes:?}"),
                Err(SocketError::Late) => assert!(is_late, "{bytes:?}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn one_that_does_not_read_is_late() {
        let (mut socket, _theirs) = pair();
        let sent = (0..1_000).try_for_each(|_| socket.send(&log(&"x".repeat(60_000))));
        assert!(matches!(sent, Err(SocketError::Late)));
    }
}
