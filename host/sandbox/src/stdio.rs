//! What a component writes to the log: through `log.write`, and, where it imports WASI, on its standard output and error.
//!
//! What it writes there is held to the limits of a call as what it passes through the contract's own functions is: each write is a
//! call to the host, and its bytes are passed to it.

use crate::brief::cut;
use crate::meter::within;
use devgate_types::component::{Capabilities, LogLevel};
use devgate_types::{CallError, Limit, Limits, Mutex, escape};
use std::sync::Arc;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};
use wasmtime_wasi_io::bytes::Bytes;

/// The longest line, in bytes; longer ones are cut.
const LINE: usize = 1024;
/// What a line counts besides its text: in the log, time, level, target and the plugin's name stand before it, and what is held of it
/// until then is more than its bytes. Without it, empty lines would be a hundred times what the limit says.
const BESIDES: u64 = 128;
/// The longest last words, in bytes, whatever they were put together from.
const LAST_WORDS: usize = 512;
/// What begins a panic's message in Rust.
const PANIC: &str = "panicked at ";

/// One call's lines, held to `limits.log`: what is over is dropped and counted.
#[derive(Debug)]
pub(crate) struct Lines {
    limits: Arc<Limits>,
    written: u64,
    dropped: u64,
    /// Writes to the standard streams, and their bytes.
    writes: u32,
    streamed: u64,
    /// Complete lines of the standard streams that have not been handed to the log yet.
    waiting: Vec<(LogLevel, String)>,
    /// Unfinished lines of the standard streams.
    output: Vec<u8>,
    error: Vec<u8>,
    last_words: String,
    /// Whether they are the place of a panic alone, whose message is on the next line.
    place_alone: bool,
}

/// Shared by the call and its two standard streams. Never contended: a call has one thread.
pub(crate) type SharedLines = Arc<Mutex<Lines>>;

impl Lines {
    pub(crate) fn new(limits: Arc<Limits>) -> Self {
        Self {
            limits,
            written: 0,
            dropped: 0,
            writes: 0,
            streamed: 0,
            waiting: Vec::new(),
            output: Vec::new(),
            error: Vec::new(),
            last_words: String::new(),
            place_alone: false,
        }
    }

    /// A message from `log.write`: each of its lines is a line of the log.
    pub(crate) fn write(&mut self, level: LogLevel, message: &str, log: &mut dyn Capabilities) {
        self.flush(log);
        for line in message.lines() {
            self.remember(level, line);
            if let Some(line) = self.admit(line) {
                log.log(level, line);
            }
        }
    }

    /// Hands what the standard streams have collected to the log.
    pub(crate) fn flush(&mut self, log: &mut dyn Capabilities) {
        for (level, line) in self.waiting.drain(..) {
            log.log(level, &line);
        }
    }

    /// At the end of the call: unfinished lines, and one word about what was dropped.
    pub(crate) fn finish(&mut self, log: &mut dyn Capabilities) {
        for stream in [Stream::Output, Stream::Error] {
            if !self.unfinished(stream).is_empty() {
                self.end_line(stream);
            }
        }
        self.flush(log);
        if self.dropped > 0 {
            let n = self.dropped;
            log.log(LogLevel::Warn, &format!("{n} bytes dropped: one call may log {} (limits.log)", self.limits.log));
        }
    }

    /// What the component said last before it broke, or nothing: the panic message where there is one.
    pub(crate) fn last_words(&self) -> &str {
        &self.last_words
    }

    fn remember(&mut self, level: LogLevel, line: &str) {
        if level < LogLevel::Error || line.is_empty() || line.starts_with("note: ") {
            return;
        }
        // Rust's standard library prints place and message of a panic on two lines: one more is taken, and only one.
        let place = std::mem::take(&mut self.place_alone);
        match self.last_words.contains(PANIC) {
            true if place => self.last_words.push(' '),
            true => return,
            false => {
                self.last_words.clear();
                self.place_alone = line.contains(PANIC) && line.ends_with(':');
            }
        }
        let room = LAST_WORDS.saturating_sub(self.last_words.len());
        self.last_words.push_str(cut(line, room));
    }

    /// The line as far as it may be logged. It counts as the log has it: what is escaped there can be several times as long.
    fn admit<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        let line = cut(line, LINE);
        let size = u64::try_from(escape(line, LINE).len()).unwrap_or(u64::MAX);
        let size = size.saturating_add(BESIDES);
        if self.written.saturating_add(size) > self.limits.log.0 {
            self.dropped = self.dropped.saturating_add(size);
            return None;
        }
        self.written += size;
        Some(line)
    }

    /// How many calls to the host the standard streams were.
    pub(crate) fn writes(&self) -> u32 {
        self.writes
    }

    /// Takes what is written to a stream, if the call may still write.
    fn take(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), CallError> {
        self.writes = self.writes.saturating_add(1);
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.streamed = self.streamed.saturating_add(size);
        let Limits { host_calls, transfer, .. } = *self.limits;
        within(self.writes <= host_calls, Limit::HostCalls(host_calls))?;
        within(self.streamed <= transfer.0, Limit::Transfer(transfer))?;
        self.bytes(stream, bytes);
        Ok(())
    }

    fn unfinished(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Output => &mut self.output,
            Stream::Error => &mut self.error,
        }
    }

    fn bytes(&mut self, stream: Stream, bytes: &[u8]) {
        for part in bytes.split_inclusive(|&b| b == b'\n') {
            let line = self.unfinished(stream);
            let text = part.strip_suffix(b"\n").unwrap_or(part);
            let room = LINE.saturating_sub(line.len());
            line.extend_from_slice(text.get(..room).unwrap_or(text));
            if part.ends_with(b"\n") {
                self.end_line(stream);
            }
        }
    }

    fn end_line(&mut self, stream: Stream) {
        let line = std::mem::take(self.unfinished(stream));
        let text = String::from_utf8_lossy(&line);
        let (level, last_words) = match stream {
            Stream::Output => (LogLevel::Info, LogLevel::Info),
            // Not `Error`: that is where most programs write everything that is not their result.
            Stream::Error => (LogLevel::Warn, LogLevel::Error),
        };
        self.remember(last_words, &text);
        if let Some(text) = self.admit(&text) {
            let text = text.to_owned();
            self.waiting.push((level, text));
        }
    }
}

/// One of WASI's standard streams.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stream {
    Output,
    Error,
}

/// A standard stream whose lines go to the log. Always ready: a component cannot wait on it.
#[derive(Debug, Clone)]
pub(crate) struct ToLog {
    pub(crate) stream: Stream,
    pub(crate) lines: SharedLines,
}

impl IsTerminal for ToLog {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for ToLog {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for this one, and it is not served.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for ToLog {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let taken = self.lines.lock().take(self.stream, &bytes);
        taken.map_err(|error| StreamError::Trap(wasmtime::Error::new(error)))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 * 1024)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for ToLog {
    async fn ready(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(limits: Limits) -> Lines {
        Lines::new(Arc::new(limits))
    }

    fn unbounded() -> Limits {
        Limits { host_calls: u32::MAX, transfer: devgate_types::ByteSize(u64::MAX), ..Limits::default() }
    }

    /// What is kept of a call's output, in bytes.
    fn kept(lines: &Lines) -> usize {
        let waiting: usize = lines.waiting.iter().map(|(_, line)| line.capacity()).sum();
        let unfinished = lines.output.capacity() + lines.error.capacity();
        let waiting = waiting + lines.waiting.capacity() * size_of::<(LogLevel, String)>();
        waiting + unfinished + lines.last_words.capacity()
    }

    #[test]
    fn however_much_is_written_little_is_kept() {
        let long = "a".repeat(510);
        for pattern in [
            format!("x panicked at y:\n{long}:\n{long}:\n{long}:\n"),
            format!("{long}:\n{long} panicked at {long}:\n"),
            "\n".repeat(1_000),
            "é".repeat(10_000),
            ": panicked at :\n: panicked at :\n".to_owned(),
        ] {
            let mut lines = lines(unbounded());
            for _ in 0..1_000 {
                for stream in [Stream::Output, Stream::Error] {
                    lines.take(stream, pattern.as_bytes()).unwrap();
                }
                assert!(lines.last_words().len() <= LAST_WORDS);
            }
            assert!(kept(&lines) < 64 * 1024, "{pattern:.20}: {}", kept(&lines));
        }
    }

    #[test]
    fn a_panics_message_is_the_one_line_after_its_place() {
        let mut lines = lines(unbounded());
        for line in ["before\n", "thread 'm' panicked at a.rs:1:2:\n", "no such key:\n", "a:\n", "b\n"] {
            lines.take(Stream::Error, line.as_bytes()).unwrap();
        }
        assert_eq!(lines.last_words(), "thread 'm' panicked at a.rs:1:2: no such key:");
    }
}
