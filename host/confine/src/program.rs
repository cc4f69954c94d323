//! From the table to programs that the kernel runs at each system call.
//!
//! A program has one answer for what is in it, so there are two, and of their answers the kernel takes the severest. Both compare the
//! whole number, so calls of the x32 kind, which have bit 30 set, are in no table; and both end a process that calls by the numbers of
//! another kind of processor.

use crate::table::{Answer, Argument, Line, lines};
use crate::{Error, Filter};
use rustix::io::Errno;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch};
use std::collections::BTreeMap;

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;

/// Ends the process at a call that is not in the table, or fails the call where the host or the agent made it: a library of a later version that tries
/// another call first costs no node its devices.
pub(crate) fn end(filter: Filter) -> Result<BpfProgram, Error> {
    let otherwise = match filter {
        Filter::Host | Filter::Agent => SeccompAction::Errno(Errno::PERM.raw_os_error().cast_unsigned()),
        _ => SeccompAction::KillProcess,
    };
    compile(lines(filter), otherwise, SeccompAction::Allow)
}

/// Answers the calls that the table refuses.
pub(crate) fn refuse(filter: Filter) -> Result<BpfProgram, Error> {
    let refused = lines(filter).filter(|line| line.answer == Answer::Refused);
    let answer = SeccompAction::Errno(Errno::NOSYS.raw_os_error().cast_unsigned());
    compile(refused, SeccompAction::Allow, answer)
}

fn compile<'a>(
    lines: impl Iterator<Item = &'a Line>,
    otherwise: SeccompAction,
    listed: SeccompAction,
) -> Result<BpfProgram, Error> {
    let mut calls = BTreeMap::<i64, Vec<&Line>>::new();
    for line in lines {
        calls.entry(line.number).or_default().push(line);
    }
    let mut rules = BTreeMap::new();
    for (number, lines) in calls {
        // No rule at all is any argument.
        let chain = match lines.iter().any(|line| line.arguments.is_empty()) {
            true => Vec::new(),
            false => chain(&lines)?,
        };
        rules.insert(number, chain);
    }
    let filter = SeccompFilter::new(rules, otherwise, listed, ARCH)?;
    Ok(filter.try_into()?)
}

fn chain(lines: &[&Line]) -> Result<Vec<SeccompRule>, BackendError> {
    let ways = lines.iter().flat_map(|line| ways(line.arguments));
    ways.map(|conditions| SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)).collect()
}

/// A condition is met by one value, so each combination of values is a rule of its own.
fn ways(arguments: &[Argument]) -> Vec<Vec<Result<SeccompCondition, BackendError>>> {
    let mut ways = vec![Vec::new()];
    for argument in arguments {
        ways = ways
            .iter()
            .flat_map(|way: &Vec<_>| conditions(*argument).into_iter().map(move |one| [&way[..], &[one]].concat()))
            .collect();
    }
    ways.into_iter()
        .map(|way: Vec<(u8, seccompiler::SeccompCmpOp, u32)>| {
            way.into_iter().map(|(index, op, value)| SeccompCondition::new(index, Dword, op, value.into())).collect()
        })
        .collect()
}

fn conditions(argument: Argument) -> Vec<(u8, seccompiler::SeccompCmpOp, u32)> {
    let own = rustix::process::getpid().as_raw_nonzero().get().cast_unsigned();
    match argument {
        Argument::OneOf(index, values, besides) => {
            values.iter().map(|value| (index, MaskedEq((!besides).into()), *value)).collect()
        }
        Argument::With(index, bits) => vec![(index, MaskedEq(bits.into()), bits)],
        Argument::Without(index, bits) => vec![(index, MaskedEq(bits.into()), 0)],
        Argument::Own(index) => vec![(index, Eq, own)],
        Argument::Foreign(index) => vec![(index, Ne, own)],
    }
}
