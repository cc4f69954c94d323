//! Stands between a component and its host: records what the component asks, answers in the host's place where a script says so,
//! and changes the node in the middle of a call.

mod host;

use crate::query::{Fake, Query};
use devgate_types::component::{Call, Capabilities, Component, Cost, Denied, Output, Profile};
use devgate_types::{CallError, Limits, Verdict};
use host::FaultyHost;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Texts that are kept to be looked at: far more than one battery makes different ones of.
const MAX_WORDS: usize = 4_096;

/// The answer to a query in the host's place; `None` if the host answers.
type Answers = dyn Fn(&Query) -> Option<Fake> + Send;

/// What is done in a call's way.
#[derive(Default)]
pub(super) struct Script {
    /// Answers in the host's place.
    pub(super) answer: Option<Box<Answers>>,
    /// Called before the host is asked for the n-th time, counted from 0.
    pub(super) before: Option<Box<dyn FnMut(usize) + Send>>,
    /// Other limits than those of the policy.
    pub(super) limits: Option<Limits>,
}

impl Script {
    /// Fakes the answer to one query.
    pub(super) fn fake(query: Query, fake: Fake) -> Self {
        Self { answer: Some(Box::new(move |asked| (*asked == query).then(|| fake.clone()))), ..Self::default() }
    }

    /// Does something before the n-th question.
    pub(super) fn at(n: usize, act: impl FnOnce() + Send + 'static) -> Self {
        let mut act = Some(act);
        Self {
            before: Some(Box::new(move |asked| {
                if let Some(act) = act.take_if(|_| asked == n) {
                    act();
                }
            })),
            ..Self::default()
        }
    }

    pub(super) fn limited(limits: Limits) -> Self {
        Self { limits: Some(limits), ..Self::default() }
    }
}

/// What was seen of one call.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// In the order asked, repetitions included.
    pub(super) asked: Vec<Asked>,
    /// Bytes that were read from the node.
    pub(super) read: u64,
    /// What the call took; `None` if it failed.
    pub(super) cost: Option<Cost>,
}

impl Seen {
    /// Adds what was seen of a later call.
    pub(super) fn add(&mut self, later: Self) {
        self.asked.extend(later.asked);
        self.read += later.read;
        self.cost = match (self.cost, later.cost) {
            (Some(first), Some(second)) => Some(Cost {
                time: first.time + second.time,
                memory: first.memory.max(second.memory),
                host_calls: first.host_calls.saturating_add(second.host_calls),
            }),
            (first, second) => second.or(first),
        };
    }
}

/// One question to the host.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) query: Query,
    /// The text or bytes that were the answer; `None` if it had another form.
    pub(super) content: Option<Vec<u8>>,
    /// Why there was no answer.
    pub(super) error: Option<Denied>,
    /// How long the host took.
    pub(super) took: Duration,
}

impl Asked {
    /// Why there was no answer, as people read it.
    pub(super) fn why(&self) -> Option<String> {
        self.error.as_ref().map(|denied| match denied {
            Denied::Failure(failure) => failure.to_string(),
            Denied::End(error) => error.to_string(),
        })
    }
}

/// A text for people that a component gave: an error's message, or a verdict's reason.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) call: &'static str,
    pub(super) is_reason: bool,
    pub(super) text: String,
    /// Whether an answer of its host was a fake.
    pub(super) of_garbage: bool,
}

#[derive(Default)]
struct State {
    script: Script,
    seen: Seen,
    words: Vec<Word>,
}

impl State {
    fn hear(&mut self, call: &'static str, is_reason: bool, text: &str) {
        let word = Word { call, is_reason, text: text.to_owned(), of_garbage: self.script.answer.is_some() };
        if self.words.len() < MAX_WORDS && !self.words.contains(&word) {
            self.words.push(word);
        }
    }
}

/// The component, with faults injected into its calls.
pub(super) struct FaultInjector {
    inner: Arc<dyn Component>,
    state: Arc<Mutex<State>>,
}

impl FaultInjector {
    pub(super) fn new(inner: Arc<dyn Component>) -> Self {
        Self { inner, state: Arc::default() }
    }

    /// Makes calls under a script, which ends with them. What is seen is that of the last call.
    pub(super) fn under<T>(&self, script: Script, calls: impl FnOnce() -> T) -> (T, Seen) {
        lock(&self.state).script = script;
        let value = calls();
        let mut state = lock(&self.state);
        state.script = Script::default();
        (value, std::mem::take(&mut state.seen))
    }

    /// What was said so far of what went wrong, each text once.
    pub(super) fn words(&self) -> Vec<Word> {
        lock(&self.state).words.clone()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Component for FaultInjector {
    fn profile(&self) -> &Profile {
        self.inner.profile()
    }

    /// With its host replaced.
    fn call(&self, call: &Call<'_>, host: &mut dyn Capabilities) -> Result<(Output, Cost), CallError> {
        let limits = {
            let mut state = lock(&self.state);
            state.seen = Seen::default();
            state.script.limits.clone()
        };
        let result = self.inner.call(call, &mut FaultyHost::new(host, limits, Arc::clone(&self.state)));
        let mut state = lock(&self.state);
        match &result {
            Ok((output, cost)) => {
                state.seen.cost = Some(*cost);
                state.seen.read = host.bytes_read();
                for verdict in &output.verdicts {
                    if let Verdict::Unhealthy(reason) | Verdict::Unknown(reason) = verdict {
                        state.hear(call.kind.as_str(), true, reason);
                    }
                }
            }
            Err(CallError::Failed(failure)) => state.hear(call.kind.as_str(), false, &failure.message),
            Err(_) => {}
        }
        result
    }
}
