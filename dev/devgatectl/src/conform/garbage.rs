//! Everything that the component reads, one thing at a time, as it should not be.

use super::meddler::Script;
use super::sheet::{Outcome, Rule, Sheet};
use super::subject::{Baseline, Call, Given, Subject, Wanted, broke, named};
use super::thing::Kind;
use super::values::{self, Make};
use devgate_types::CallError;
use std::collections::BTreeSet;

/// The most things of one kind that are tried; more than any component reads of different shapes.
const MOST_THINGS: usize = 64;

const REMEDY: &str = "take every value that is read for what it may be: `get` instead of an index, checked arithmetic, `parse` \
with its error; a device that cannot be described is listed by its name in `devgate.unread` or left out, with a line in the log, \
and the others are listed all the same";

macro_rules! rules {
    ($($name:ident = $id:literal, $title:literal, $expected:literal;)*) => {
        $(const $name: Rule = Rule { id: $id, title: $title, expected: $expected, remedy: REMEDY };)*
        pub(super) const RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    MISSING = "garbage.missing", "An attribute or file is not there", "no call breaks, and other units stay as they are";
    UNREADABLE = "garbage.unreadable", "An attribute or file gives EIO, ETIMEDOUT or EAGAIN", "no call breaks, and other units stay as they are";
    DENIED = "garbage.denied", "An attribute or file may not be read", "no call breaks, and other units stay as they are";
    GONE = "garbage.gone", "The device is gone when an attribute of it is read", "no call breaks, and other units stay as they are";
    EMPTY = "garbage.empty", "An attribute or file is empty", "no call breaks, and other units stay as they are";
    BINARY = "garbage.binary", "An attribute or file is not text", "no call breaks, and other units stay as they are";
    LONG = "garbage.long", "An attribute or file is as long as it may be, or longer", "no call breaks, and other units stay as they are";
    HUGE = "garbage.huge", "An attribute or file has numbers that fit no integer", "no call breaks, and other units stay as they are";
    NEGATIVE = "garbage.negative", "An attribute or file has negative numbers, zeros, fractions, or none", "no call breaks, and other units stay as they are";
    CONTROL = "garbage.control", "An attribute or file has control characters and more lines", "no call breaks, and other units stay as they are";
    MULTIBYTE = "garbage.multibyte", "An attribute or file has letters of several bytes", "no call breaks, and other units stay as they are";
    CUT = "garbage.cut", "An attribute or file is cut off, doubled or written otherwise", "no call breaks, and other units stay as they are";
    SEPARATORS = "garbage.separators", "An attribute or file is nothing but separators", "no call breaks, and other units stay as they are";
    LINKS = "garbage.links", "A link or related device is missing, denied, gone or strange", "no call breaks, and other units stay as they are";
    ENTRIES = "garbage.entries", "A directory is missing, unreadable, empty, full or has strange names", "no call breaks, and other units stay as they are";
    PARTS = "garbage.parts", "A device has no driver, NUMA node, parent, children or nodes", "no call breaks, and other units stay as they are";
    PLACES = "garbage.places", "A subsystem, node, mount, the kernel's log or the state cannot be had", "no call breaks";
}

/// What is looked for by a name, and not on a device.
const PLACES_OF: [Kind; 5] = [Kind::Devices, Kind::Device, Kind::HostPath, Kind::Log, Kind::State];

/// Checks everything.
pub(super) fn run(subject: &Subject, baseline: &Baseline, sheet: &mut Sheet<'_>) -> anyhow::Result<()> {
    let texts: [(&'static Rule, Make); 13] = [
        (&MISSING, values::missing),
        (&UNREADABLE, values::unreadable),
        (&DENIED, values::denied),
        (&GONE, values::gone),
        (&EMPTY, values::empty),
        (&BINARY, values::binary),
        (&LONG, values::long),
        (&HUGE, values::huge),
        (&NEGATIVE, values::negative),
        (&CONTROL, values::control),
        (&MULTIBYTE, values::multibyte),
        (&CUT, values::cut),
        (&SEPARATORS, values::separators),
    ];
    let read = baseline.things(&[Kind::Attribute, Kind::File]);
    for (rule, make) in texts {
        each(subject, baseline, sheet, rule, &read, &[make], "attribute or file")?;
    }
    let failures: [Make; 4] = [values::missing, values::unreadable, values::denied, values::gone];
    let with = |more: &[Make]| [&failures[..], more].concat();
    let links = baseline.things(&[Kind::Link]);
    let strange = with(&[
        values::empty,
        values::multibyte,
        values::control,
        values::cut,
        values::separators,
    ]);
    each(subject, baseline, sheet, &LINKS, &links, &strange, "link")?;
    let entries = baseline.things(&[Kind::Entries, Kind::FileEntries]);
    each(
        subject,
        baseline,
        sheet,
        &ENTRIES,
        &entries,
        &with(&[values::names]),
        "directory",
    )?;
    let parts = baseline.things(&[Kind::Driver, Kind::Numa, Kind::Parent, Kind::Children, Kind::Nodes]);
    each(
        subject,
        baseline,
        sheet,
        &PARTS,
        &parts,
        &with(&[|_| vec![super::thing::Given::Nothing]]),
        "part of a device",
    )?;
    let places = baseline.things(&PLACES_OF);
    each(
        subject,
        baseline,
        sheet,
        &PLACES,
        &places,
        &with(&[|_| vec![super::thing::Given::Nothing]]),
        "place",
    )
}

fn each(
    subject: &Subject,
    baseline: &Baseline,
    sheet: &mut Sheet<'_>,
    rule: &'static Rule,
    things: &[Wanted],
    ways: &[Make],
    what: &str,
) -> anyhow::Result<()> {
    if !sheet.wants(rule) {
        return Ok(());
    }
    if things.is_empty() {
        sheet.check(rule, || Outcome::skipped(format!("the component asks for no {what}")));
        return Ok(());
    }
    let (mut tries, mut failures) = (0, Vec::new());
    let mut bench = subject.bench()?;
    for wanted in things.iter().take(MOST_THINGS) {
        let known = wanted.text.as_deref().and_then(|text| std::str::from_utf8(text).ok());
        for given in ways.iter().flat_map(|make| make(known)) {
            for call in calls(baseline, wanted) {
                tries += 1;
                let script = Script::instead(wanted.thing.clone(), given.clone());
                if subject.policy.state {
                    // What it was made to believe lasts no longer than it.
                    bench = subject.bench()?;
                }
                let (result, _) = subject.call(&bench, &baseline.listed.pools, &call, script);
                let Some(wrong) = wrong(baseline, wanted, &call, &result) else {
                    continue;
                };
                failures.push(format!("{wrong}, when {} was {given}", wanted.thing));
            }
        }
    }
    let more = things.len().saturating_sub(MOST_THINGS);
    let and_more = if more > 0 {
        format!(" (and {more} more, not tried)")
    } else {
        String::new()
    };
    let names: BTreeSet<_> = things
        .iter()
        .take(MOST_THINGS)
        .map(|wanted| wanted.thing.to_string())
        .collect();
    let shown: Vec<_> = names.iter().take(3).cloned().collect();
    let tried = format!(
        "{tries} calls, with {} of them changed{and_more}: {}, …",
        names.len(),
        shown.join(", ")
    );
    sheet.check(rule, || Outcome::of(tried, failures));
    Ok(())
}

/// The calls that ask about a thing, about a unit that it has to do with.
fn calls(baseline: &Baseline, wanted: &Wanted) -> Vec<Call> {
    let meant = |n: usize, m: usize| {
        let pool = baseline.listed.pools.get(n);
        let touched = pool.and_then(|pool| pool.units.iter().position(|unit| baseline.touches(&wanted.thing, unit)));
        (n, touched.unwrap_or(m))
    };
    let mut calls: Vec<Call> = Vec::new();
    for call in &wanted.calls {
        let call = match call {
            Call::Allocate(n, m) => {
                let (n, m) = meant(*n, *m);
                Call::Allocate(n, m)
            }
            Call::Prepare(n, m) => {
                let (n, m) = meant(*n, *m);
                Call::Prepare(n, m)
            }
            Call::Release(n, m) => {
                let (n, m) = meant(*n, *m);
                Call::Release(n, m)
            }
            other => other.clone(),
        };
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
    calls
}

/// What is wrong with what a call gave while one thing was not as it should be.
fn wrong(baseline: &Baseline, wanted: &Wanted, call: &Call, result: &Result<Given, CallError>) -> Option<String> {
    if let Some(how) = broke(result) {
        return Some(format!("{call} {how}"));
    }
    // What is asked for by a subsystem or path may be all that there is to say.
    if PLACES_OF.contains(&wanted.thing.kind) {
        return None;
    }
    let others: Vec<_> = baseline
        .judged()
        .filter(|(_, unit, _)| !baseline.touches(&wanted.thing, unit))
        .collect();
    // What has to do with no unit, or with all of them, may say something about all of them.
    if others.is_empty() || others.len() == baseline.units().count() {
        return None;
    }
    match result {
        Err(error) if matches!(call, Call::Enumerate | Call::Health(_)) => Some(format!(
            "{call} {error}, and so takes {} other units away",
            others.len()
        )),
        Ok(Given::Listed(listed)) => {
            let lost = others.iter().find(|(pool, unit, _)| {
                let same = listed.pools.iter().find(|other| other.resource == pool.resource);
                same.is_none_or(|same| !same.units.iter().any(|other| other.id() == unit.id()))
            })?;
            let why = listed
                .rejected
                .iter()
                .find(|rejected| rejected.what.contains(lost.1.id().as_str()));
            let why = why.map(|why| format!(" ({})", why.why)).unwrap_or_default();
            Some(format!("enumerate does not list {} any more{why}", named(lost.1)))
        }
        Ok(Given::Verdicts(verdicts)) => {
            let Call::Health(n) = call else { return None };
            let pool = baseline.listed.pools.get(*n)?;
            let before = baseline.verdicts.get(*n)?;
            let mut judged = pool.units.iter().zip(before).zip(verdicts);
            let other = judged.find(|((unit, before), now)| !baseline.touches(&wanted.thing, unit) && before != now)?;
            Some(format!(
                "health of {}, which has nothing to do with it, is {:?}",
                named(other.0.0),
                other.1
            ))
        }
        _ => None,
    }
}
