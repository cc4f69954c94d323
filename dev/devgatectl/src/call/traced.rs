//! What was seen of a call besides its answer; the names are those of the JSON form.

use crate::fault_injector::{Asked, Seen};
use devgate_core::Line;
use devgate_types::component::{Cost as CallCost, LogLevel};
use devgate_types::{Limits, escape};
use serde::Serialize;

/// The longest answer that is shown, in characters.
const MAX_ANSWER: usize = 200;

/// What the last call took, beside what it may take.
#[derive(Debug, Serialize)]
pub(super) struct Cost {
    pub(super) time_us: u64,
    pub(super) deadline_us: u64,
    /// Bytes of linear memory.
    pub(super) memory: u64,
    pub(super) memory_limit: u64,
    pub(super) host_calls: u32,
    pub(super) host_calls_limit: u32,
    /// Bytes that the host read from the node.
    pub(super) read: u64,
    pub(super) read_limit: u64,
}

/// A line of the component, or the host's refusal.
#[derive(Debug, Serialize)]
pub(super) struct Said {
    pub(super) level: &'static str,
    pub(super) text: String,
}

/// One question to the host.
#[derive(Debug, Serialize)]
pub(super) struct Question {
    pub(super) what: String,
    /// The text that was the answer; `None` if it had another form.
    pub(super) answer: Option<String>,
    pub(super) bytes: Option<usize>,
    /// Why there was none.
    pub(super) error: Option<String>,
    pub(super) us: u64,
}

impl Cost {
    pub(super) fn of(cost: &CallCost, seen: &Seen, limits: &Limits) -> Self {
        let us = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self {
            time_us: us(cost.time),
            deadline_us: us(limits.deadline),
            memory: cost.memory.0,
            memory_limit: limits.memory.0,
            host_calls: cost.host_calls,
            host_calls_limit: limits.host_calls,
            read: seen.read,
            read_limit: limits.read.0,
        }
    }
}

impl Said {
    pub(super) fn of(line: &Line) -> Self {
        let level = match line.level {
            _ if line.refusal => "refused",
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Warn => "warn",
            LogLevel::Error => "error",
        };
        Self { level, text: line.text.clone() }
    }
}

impl Question {
    pub(super) fn of(asked: &Asked) -> Self {
        let text = |content: &Vec<u8>| escape(&String::from_utf8_lossy(content), MAX_ANSWER);
        Self {
            what: asked.query.to_string(),
            answer: asked.content.as_ref().map(text),
            bytes: asked.content.as_ref().map(Vec::len),
            error: asked.why().map(|error| escape(&error, MAX_ANSWER)),
            us: u64::try_from(asked.took.as_micros()).unwrap_or(u64::MAX),
        }
    }
}
