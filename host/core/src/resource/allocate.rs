//! The path of an allocation, for every consumer: all that it asks for, or nothing.
//!
//! Where a component has a life cycle, under the turn of the units: `release` of what is not clean, a note on the disk, `prepare`, then
//! `allocate`. What fails after `prepare` is undone by `release`; a caller that goes away in the middle of it leaves units that count as handed
//! out until they are known to be free. Where others have another slot of a unit, it was made ready for them, and is only asked about.

use super::Resource;
use super::attempt::{Attempt, Part};
use crate::allocations::{AllocationId, Consumer, Mode, State, StoredReply};
use crate::keyed_lock::Held;
use crate::ledger::PluginIndex;
use crate::offer::{AllocateError, Reply};
use devgate_types::{UnitId, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The most characters of the list of ids in the audit log, which is the kubelet's text.
const MAX_IDS: usize = 1_024;

/// An allocation and what its consumer is told.
pub(crate) type Given = (AllocationId, Arc<Reply>);

/// Gives all of this to a consumer; with `ttl` until that is over. Has a line in the audit log for each part.
#[tracing::instrument(name = "core.allocate", level = "trace", skip_all)]
pub(crate) async fn allocate(
    who: &Consumer,
    ttl: Option<Duration>,
    parts: &[Part<'_>],
) -> Result<Vec<Given>, AllocateError> {
    let given = give(who, ttl, parts).await;
    for part in parts {
        audit(who, part, given.as_ref().err());
    }
    given
}

/// Notes how an allocation ended, counts it and writes its line, whatever came of it.
fn audit(who: &Consumer, part: &Part<'_>, error: Option<&AllocateError>) {
    let Resource { core, name: resource, .. } = part.resource;
    let end = core.recorder.record_allocation(error);
    let Some(left_out) = core.recorder.take_line() else { return };
    let (plugin, count, result) = (core.name(), part.ids.len(), end.as_str());
    let shown = escape(&part.ids.join(","), MAX_IDS);
    let Some(error) = error else {
        tracing::info!(
            target: "audit", event = "allocate", plugin, %resource, consumer = %who, ids = shown, count, result, left_out,
            "plugin {plugin}: resource {resource}: allocated {shown} to {who}"
        );
        return;
    };
    let family = match error {
        AllocateError::Guest(_) => "guest",
        AllocateError::Host(_) => "host",
        AllocateError::Unknown(_) | AllocateError::Refused(_) | AllocateError::Busy(_) => "refused",
    };
    tracing::warn!(
        target: "audit", event = "allocate", plugin, family, %resource, consumer = %who, ids = shown, count, result, left_out,
        "not allocated: {error}"
    );
}

async fn give(who: &Consumer, ttl: Option<Duration>, parts: &[Part<'_>]) -> Result<Vec<Given>, AllocateError> {
    let ids = parts.iter().map(|part| part.resource.unit_ids(part.ids));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let _turns = turns(parts, &ids).await;
    let mut attempts = Vec::with_capacity(parts.len());
    for (part, ids) in parts.iter().zip(&ids) {
        attempts.push(Attempt::begin(who, part, ids).await?);
    }
    refuse_twice(&attempts)?;
    if attempts.iter().any(Attempt::is_made_ready) {
        return hand_over(who, ttl, attempts).await;
    }
    let replies = ask(&attempts).await?;
    tell(&attempts).await?;
    let stored = store(&attempts, &replies)?;
    let ids = record(who, State::Active, ttl, &attempts, stored).await?;
    attempts.iter_mut().for_each(Attempt::keep);
    Ok(ids.into_iter().zip(replies).collect())
}

/// The same where a component has a part in it.
async fn hand_over(
    who: &Consumer,
    ttl: Option<Duration>,
    mut attempts: Vec<Attempt<'_>>,
) -> Result<Vec<Given>, AllocateError> {
    for attempt in attempts.iter().filter(|attempt| attempt.is_made_ready()) {
        attempt.clean().await?;
    }
    let pods = *who == Consumer::Pods;
    // On disk before anything is done to them: after a restart they are what they are now.
    let state = if pods { State::Active } else { State::Recorded };
    let unknown = |attempt: &Attempt<'_>| (pods && attempt.part.is_kept).then(StoredReply::default);
    let unknown = attempts.iter().map(unknown).collect();
    let ids = record(who, state, ttl, &attempts, unknown).await?;
    attempts.iter_mut().for_each(Attempt::keep);
    let (done, ready) = make_ready(&attempts, &ids).await;
    let Err(error) = done else { return done };
    if !pods && let Some(first) = attempts.first() {
        first.part.resource.core.allocations.end_these(&ids);
    }
    // What failed to be made ready has been seen to.
    for attempt in attempts.iter().enumerate().filter(|(n, _)| Some(*n) != ready).map(|(_, attempt)| attempt) {
        attempt.undo().await;
    }
    Err(error)
}

/// Makes all ready that a component makes ready, and asks. If one could not be made ready, which.
async fn make_ready(
    attempts: &[Attempt<'_>],
    ids: &[AllocationId],
) -> (Result<Vec<Given>, AllocateError>, Option<usize>) {
    for (n, attempt) in attempts.iter().enumerate() {
        if let Err(error) = attempt.prepare().await {
            return (Err(error), Some(n));
        }
    }
    (finish(attempts, ids).await, None)
}

async fn finish(attempts: &[Attempt<'_>], ids: &[AllocationId]) -> Result<Vec<Given>, AllocateError> {
    let replies = ask(attempts).await?;
    tell(attempts).await?;
    let stored = store(attempts, &replies)?;
    let known: BTreeMap<_, _> = ids.iter().zip(stored).filter_map(|(id, stored)| Some((*id, stored?))).collect();
    if let Some(first) = attempts.first().filter(|_| !known.is_empty())
        && let allocations = &first.part.resource.core.allocations
        && let Some(step) = allocations.hand_over(known)
    {
        allocations.save(step).await.map_err(|problem| not_recorded(attempts, &problem))?;
    }
    Ok(ids.iter().copied().zip(replies).collect())
}

async fn ask(attempts: &[Attempt<'_>]) -> Result<Vec<Arc<Reply>>, AllocateError> {
    let mut replies = Vec::with_capacity(attempts.len());
    for attempt in attempts {
        replies.push(Arc::new(attempt.ask().await?));
    }
    Ok(replies)
}

async fn tell(attempts: &[Attempt<'_>]) -> Result<(), AllocateError> {
    for attempt in attempts.iter().filter(|attempt| attempt.holds()) {
        let part = attempt.part;
        part.resource.tell(&attempt.calls, &attempt.snapshot, &attempt.units, part.ids).await?;
    }
    Ok(())
}

/// The replies, where they are kept here.
fn store(attempts: &[Attempt<'_>], replies: &[Arc<Reply>]) -> Result<Vec<Option<StoredReply>>, AllocateError> {
    let store = |(attempt, reply): (&Attempt<'_>, &Arc<Reply>)| {
        if !attempt.part.is_kept {
            return Ok(None);
        }
        let resource = attempt.part.resource;
        let too_large = || resource.refused("what its component answers is too large to be kept");
        StoredReply::of(reply).ok_or_else(too_large).map(Some)
    };
    attempts.iter().zip(replies).map(store).collect()
}

/// Notes that these are given, also across restarts. Fails where it cannot be recorded of one that is new to this consumer: a restart would
/// give it to another. What a pod has already, it gets again.
async fn record(
    who: &Consumer,
    state: State,
    ttl: Option<Duration>,
    attempts: &[Attempt<'_>],
    replies: Vec<Option<StoredReply>>,
) -> Result<Vec<AllocationId>, AllocateError> {
    let Some(first) = attempts.first() else {
        return Ok(Vec::new());
    };
    let pods = *who == Consumer::Pods;
    // First here: a survey takes what the journal has and the held units do not for what was given before the host started.
    for attempt in attempts.iter().filter(|attempt| attempt.holds()) {
        let (resource, pool) = (attempt.part.resource, &attempt.snapshot.pool);
        let held_units = &resource.core.held_units;
        held_units.record_given(&resource.name, pool, &attempt.units, pods, attempt.begins_anew());
    }
    let allocations = &first.part.resource.core.allocations;
    let all: Vec<_> = attempts.iter().zip(replies).map(|(attempt, reply)| attempt.giving(reply)).collect();
    let noted = allocations.note(who, state, ttl, &all);
    let Some(step) = noted.unsaved else {
        return Ok(noted.ids);
    };
    match allocations.save(step).await {
        Err(problem) if noted.is_new => {
            allocations.take_back(&noted);
            for Attempt { part, units, .. } in attempts {
                let is_new = |unit: &&Arc<_>| !allocations.has(&part.resource.name, unit);
                let new: Vec<_> = units.iter().filter(is_new).map(|unit| unit.id.clone()).collect();
                part.resource.core.held_units.record_clean(&new);
            }
            Err(not_recorded(attempts, &problem))
        }
        // That has been said.
        _ => Ok(noted.ids),
    }
}

fn not_recorded(attempts: &[Attempt<'_>], problem: &dyn std::fmt::Display) -> AllocateError {
    let why = format!("what is handed out cannot be recorded: {problem}; look at the state directory (--state-dir)");
    let first = attempts.first().map(|attempt| attempt.part.resource.says(&why));
    AllocateError::Host(first.unwrap_or(why))
}

/// One call may not take the same twice.
fn refuse_twice(attempts: &[Attempt<'_>]) -> Result<(), AllocateError> {
    for (n, attempt) in attempts.iter().enumerate().filter(|(_, attempt)| attempt.holds()) {
        let before = attempts.iter().take(n).filter(|before| before.holds());
        let same = before.filter(|before| before.part.resource.name == attempt.part.resource.name);
        for other in same {
            if let Some(take) = attempt.take.iter().find(|take| other.take.iter().any(|other| other.excludes(take))) {
                let resource = attempt.part.resource;
                return Err(resource.refused(&format!("device {} is asked for twice", take.unit)));
            }
        }
    }
    Ok(())
}

/// The turns of all units, plugin by plugin in one order: no two allocations wait for each other.
async fn turns(parts: &[Part<'_>], ids: &[Vec<UnitId>]) -> Vec<Held<UnitId>> {
    let mut by_plugin = BTreeMap::<PluginIndex, (&super::Core, BTreeSet<UnitId>)>::new();
    for (part, ids) in parts.iter().zip(ids).filter(|(part, _)| part.mode == Mode::Hold) {
        let core = &part.resource.core;
        let of = by_plugin.entry(core.index).or_insert_with(|| (core, BTreeSet::new()));
        of.1.extend(ids.iter().cloned());
    }
    let mut turns = Vec::with_capacity(by_plugin.len());
    for (core, ids) in by_plugin.into_values() {
        let ids: Vec<_> = ids.into_iter().collect();
        turns.push(core.held_units.locks.lock(&ids).await);
    }
    turns
}
