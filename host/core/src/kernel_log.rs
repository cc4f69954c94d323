//! What a plugin's patterns captured from the kernel's log: a bounded piece of the past, read through cursors that survive a
//! restart of the host.

use crate::status::KernelLogStatus;
use devgate_node::{KernelLine, LogSource};
use devgate_policy::KernelPattern;
use devgate_types::component::{LogBatch, LogEvent};
use devgate_types::{Failure, FailureKind, Mutex, escape};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The most events that are kept for one plugin, and the most bytes of their captures.
const MAX_EVENTS: usize = 1_024;
const MAX_BYTES: usize = 128 << 10;
/// The longest capture, in bytes; what is longer is cut. A line of the kernel has about as much.
const MAX_CAPTURE: usize = 1_024;
/// The longest cursor, in bytes, as the contract says.
const MAX_CURSOR: usize = 64;
/// Why there are no lines until the watcher has said anything.
const UNREAD: &str = "it is not read yet";
/// Beyond the index of any pattern.
const AFTER_ALL: u32 = 999;

/// The captures of one plugin. The watcher hands lines in; the component's calls take captures out.
pub(crate) struct MatchedLines {
    /// Which boot the lines are of, or which process read them where that is not known. With the source, which has numbers of
    /// its own, a cursor's era: one of another era is worth nothing.
    boot: String,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    patterns: Vec<KernelPattern>,
    /// The first watch of the log that counts, which hands in all lines that there were before; nothing until there is one.
    watch: Option<u64>,
    /// Whether the lines come from `syslog(2)`, which numbers them by their time.
    by_time: bool,
    /// Why there are no lines, if so.
    off: Option<String>,
    events: VecDeque<(Place, LogEvent)>,
    bytes: usize,
    /// The first line that was seen since lines were lost the last time.
    first: Option<u64>,
    /// The last line that was seen.
    last: Option<u64>,
    /// Nothing is known of what comes at or before this place, if there is one: it was lost, or had no room.
    lost: Option<Place>,
    /// How many times lines were lost.
    gaps: u64,
}

/// A line of the log and a pattern that matched it.
type Place = (u64, u32);

impl MatchedLines {
    /// For these patterns, on this boot ([`devgate_node::Node::boot_id`]). Until the watcher says that the log is read, it is not.
    pub(crate) fn new(patterns: Vec<KernelPattern>, boot: Option<String>) -> Self {
        let unknown = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            format!("p{}-{}", std::process::id(), now.as_nanos())
        };
        let kept = Kept { patterns, off: Some(UNREAD.to_owned()), ..Kept::default() };
        Self { boot: boot.unwrap_or_else(unknown), kept: Mutex::new(kept) }
    }

    /// Whether it wants lines and no watch of the log has begun for it yet.
    pub(crate) fn is_new(&self) -> bool {
        let kept = self.kept.lock();
        kept.watch.is_none() && !kept.patterns.is_empty()
    }

    /// Counts what this watch of the log and those after it say, and nothing of those before: what they hand in while the new
    /// one has not begun would make all that is older pass for known.
    pub(crate) fn begin(&self, watch: u64) {
        let mut kept = self.kept.lock();
        if !kept.patterns.is_empty() {
            kept.watch.get_or_insert(watch);
        }
    }

    /// Whether what this watch of the log says counts.
    pub(crate) fn listens_to(&self, watch: u64) -> bool {
        self.kept.lock().watch.is_some_and(|first| first <= watch)
    }

    /// Says where this watch of the log has its lines from, from now on; whether a component would be told something else. What
    /// earlier watches say does not count any more: this one tells all that there is.
    pub(crate) fn comes_from(&self, watch: u64, source: &LogSource) -> bool {
        let (off, by_time) = match source {
            LogSource::NotAsked => return false,
            LogSource::Off { why } => (Some(why.clone()), None),
            LogSource::Syslog { .. } => (None, Some(true)),
            _ => (None, Some(false)),
        };
        let mut kept = self.kept.lock();
        let was_read = kept.off.is_none();
        let changed = was_read == off.is_some() && kept.off.as_deref() != Some(UNREAD);
        (kept.watch, kept.off) = (Some(watch), off);
        let other = by_time.filter(|by_time| *by_time != kept.by_time);
        if let Some(by_time) = other {
            // The other source's numbers say nothing about these: all of its lines are new, and all cursors are foreign.
            *kept = Kept { by_time, last: None, lost: None, ..kept.anew(&kept.patterns) };
        }
        changed || (other.is_some() && was_read)
    }

    /// Whether there is anything to look for.
    pub(crate) fn wants_lines(&self) -> bool {
        !self.kept.lock().patterns.is_empty()
    }

    /// Says that the log is read.
    pub(crate) fn is_read(&self) {
        self.kept.lock().off = None;
    }

    /// Other patterns from now on, after a reload. What the old ones captured is forgotten, and readers are told that something
    /// is missing.
    pub(crate) fn replace(&self, patterns: &[KernelPattern]) {
        let mut kept = self.kept.lock();
        if !kept.has(patterns) {
            *kept = kept.anew(patterns);
        }
    }

    /// What a call on trial under these patterns sees: the same as it would after [`MatchedLines::replace`], which is not done yet.
    pub(crate) fn on_trial(self: &Arc<Self>, patterns: &[KernelPattern]) -> Arc<Self> {
        let kept = self.kept.lock();
        if kept.has(patterns) {
            return Arc::clone(self);
        }
        let mut anew = kept.anew(patterns);
        // It has not been read for these patterns because they are not in force.
        anew.off = anew.off.filter(|why| why != UNREAD);
        Arc::new(Self { boot: self.boot.clone(), kept: Mutex::new(anew) })
    }

    /// Takes a line, unless it has been taken already; whether a pattern captured something.
    pub(crate) fn record(&self, line: &KernelLine) -> bool {
        let mut kept = self.kept.lock();
        if kept.last.is_some_and(|last| line.sequence <= last) {
            return false;
        }
        kept.first.get_or_insert(line.sequence);
        kept.last = Some(line.sequence);
        let captured = kept.captured(line);
        let any = !captured.is_empty();
        for event in captured {
            kept.push((line.sequence, event.pattern), event);
        }
        any
    }

    /// Notes that lines before the next one were lost: the kernel's buffer is a ring, and its reader was late.
    pub(crate) fn record_gap(&self) {
        let mut kept = self.kept.lock();
        kept.lost = kept.last.map(|last| (last, AFTER_ALL)).or(kept.lost);
        kept.first = None;
        kept.gaps += 1;
    }

    /// What the status says of it, where there is anything to hear.
    pub(crate) fn status(&self) -> Option<KernelLogStatus> {
        let kept = self.kept.lock();
        (!kept.patterns.is_empty()).then(|| KernelLogStatus { off: kept.off.clone(), gaps: kept.gaps })
    }

    /// What was captured after a cursor (from the first that is kept, where it is empty), oldest first, at most `most`.
    pub(crate) fn since(&self, cursor: &str, most: u32) -> Result<LogBatch, Failure> {
        let kept = self.kept.lock();
        if let Some(why) = &kept.off {
            let message = format!("the kernel's log: {why}");
            return Err(Failure::new(FailureKind::Unsupported, message));
        }
        let is_said = |(line, _): &Place| kept.last.is_some_and(|last| *line <= last);
        let after = self.read_cursor(&kept, cursor)?.filter(is_said);
        // A cursor of another boot, or of a line that has not been said yet: what it stood for is gone.
        let foreign = after.is_none() && !cursor.is_empty();
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut events = Vec::new();
        let mut reached = None;
        let mut rest = kept.events.iter().filter(|(place, _)| Some(*place) > after);
        for (place, event) in rest.by_ref().take(most) {
            reached = Some(*place);
            events.push(event.clone());
        }
        if rest.next().is_none() {
            reached = kept.last.map(|last| (last, AFTER_ALL));
        }
        let at = |(line, pattern)| format!("{}.{line}.{pattern}", self.era(&kept));
        Ok(LogBatch {
            events,
            cursor: reached.or(after).map_or_else(String::new, at),
            gap: foreign || kept.has_lost_since(after),
        })
    }

    fn era(&self, kept: &Kept) -> String {
        format!("{}{}", self.boot, if kept.by_time { "t" } else { "" })
    }

    /// The place that a cursor stands for; nothing for the start, and for one of another boot.
    fn read_cursor(&self, kept: &Kept, cursor: &str) -> Result<Option<Place>, Failure> {
        let invalid = || {
            let message = format!("\"{}\" is no cursor of kernel-log", escape(cursor, 80));
            Failure::new(FailureKind::Invalid, message)
        };
        if cursor.is_empty() {
            return Ok(None);
        }
        let place = || {
            let (era, place) = cursor.split_once('.').filter(|_| cursor.len() <= MAX_CURSOR)?;
            let (line, pattern) = place.split_once('.')?;
            Some((era, (line.parse().ok()?, pattern.parse().ok()?)))
        };
        let (era, place) = place().ok_or_else(invalid)?;
        Ok(Some(place).filter(|_| era == self.era(kept)))
    }
}

impl Kept {
    /// Whether these are its patterns, wherever the policy has them.
    fn has(&self, patterns: &[KernelPattern]) -> bool {
        self.patterns.iter().map(KernelPattern::as_str).eq(patterns.iter().map(KernelPattern::as_str))
    }

    /// The same with other patterns, which have captured nothing yet.
    fn anew(&self, patterns: &[KernelPattern]) -> Self {
        Self {
            patterns: patterns.to_vec(),
            watch: self.watch,
            by_time: self.by_time,
            off: self.off.clone(),
            lost: self.last.map(|last| (last, AFTER_ALL)),
            last: self.last,
            gaps: self.gaps,
            ..Self::default()
        }
    }

    fn captured(&self, line: &KernelLine) -> Vec<LogEvent> {
        let patterns = (0_u32..).zip(&self.patterns);
        let event = |(pattern, regex): (u32, &KernelPattern)| {
            Some(LogEvent {
                pattern,
                captures: regex.captures(&line.text)?.into_iter().map(cut).collect(),
                micros: line.micros,
            })
        };
        patterns.filter_map(event).collect()
    }

    fn push(&mut self, place: Place, event: LogEvent) {
        self.bytes += size(&event);
        self.events.push_back((place, event));
        while self.events.len() > MAX_EVENTS || self.bytes > MAX_BYTES {
            let Some((place, event)) = self.events.pop_front() else {
                return;
            };
            self.bytes -= size(&event);
            self.lost = Some(place);
        }
    }

    /// Whether something after a place was lost. Before the first line that was seen there may have been others, unless it is the
    /// first that the kernel said; who asks from the start asks for what is kept.
    fn has_lost_since(&self, after: Option<Place>) -> bool {
        after.is_some_and(|after| {
            let dropped = self.lost.is_some_and(|lost| lost > after);
            // Not known to be the next one: the ring had gone round before it was read.
            let unseen = self.first.is_some_and(|first| after.0.saturating_add(1) < first);
            dropped || unseen
        })
    }
}

fn size(event: &LogEvent) -> usize {
    event.captures.iter().map(|capture| capture.len() + 16).sum::<usize>() + 32
}

fn cut(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_CAPTURE)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
