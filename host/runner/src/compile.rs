//! Reading and compiling components in children (`devgate-compile`), each with a limit of processor time and one of memory that grow
//! with the component. What makes a compiler run or grow without end costs that child, and is refused by the limit's name, once.

mod allowance;
mod judge;

use crate::code_cache::CodeCache;
use crate::memory::Budget;
use crate::message::{Nonsense, bytes, cut, join, split, wire};
use crate::program::{Program, wait};
use allowance::Allowance;
use devgate_types::load::{Refusal, Scan};
use devgate_types::{GuestText, Limits, Mutex};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::process::ChildStdout;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a child that has said all may take to end.
const LAST: Duration = Duration::from_secs(5);
/// So many refusals are remembered.
const REMEMBERED: usize = 256;
/// The longest message of a compiler, in bytes: a thousand names.
const MAX_MESSAGE: usize = 1 << 20;

/// A component's file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) sha256: [u8; 32],
    /// What it may be.
    pub(crate) limits: &'a Limits,
}

/// A component that can be run.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) scan: Scan,
    pub(crate) code: Vec<u8>,
}

/// Reads and compiles components, and keeps what comes of it.
#[derive(Debug)]
pub(crate) struct Compiler {
    program: Program,
    /// Where; nothing is kept without.
    kept: Option<CodeCache>,
    /// What is wrong with components that could not be compiled, by their digests: they are not tried again.
    refused: Mutex<BTreeMap<[u8; 32], Refusal>>,
    budget: Arc<Budget>,
    /// Components that are being made, by their digests: a plugin that asks for the same meanwhile gets what comes of it.
    under_way: Mutex<BTreeMap<[u8; 32], UnderWay>>,
}

/// What came of a component, once its turn is over.
type UnderWay = Arc<Mutex<Option<Result<Arc<Made>, Refusal>>>>;

impl Compiler {
    pub(crate) fn new(program: Program, kept: Option<CodeCache>, budget: Arc<Budget>) -> Self {
        Self { program, kept, refused: Mutex::default(), budget, under_way: Mutex::default() }
    }

    /// Where code is kept.
    pub(crate) const fn kept(&self) -> Option<&CodeCache> {
        self.kept.as_ref()
    }

    /// What the file is, without compiling any of it. The error says what is wrong with it, which limit it is over, or that the host cannot
    /// look.
    pub(crate) fn scan(&self, source: Source<'_>) -> Result<Scan, Refusal> {
        let order = wire::order::Kind::Scan(source.limits.into());
        self.ask_once(order, source, scanned)
    }

    /// The machine code of a component that was looked at and is let in. Fails as [`Compiler::scan`] does.
    pub(crate) fn make(&self, source: Source<'_>, scan: Scan) -> Result<Arc<Made>, Refusal> {
        let under_way = Arc::clone(self.under_way.lock().entry(source.sha256).or_default());
        let mut made = under_way.lock();
        let outcome = made.get_or_insert_with(|| self.make_anew(source, scan).map(Arc::new)).clone();
        // Those who wait have it; the next one asks what was kept.
        self.under_way.lock().remove(&source.sha256);
        outcome
    }

    fn make_anew(&self, source: Source<'_>, scan: Scan) -> Result<Made, Refusal> {
        let code = self.compile(source, &scan)?;
        if let Some(kept) = &self.kept {
            let all = join(&wire::Scan::from(scan.clone()), &code);
            if let Err(error) = kept.write(&source.sha256, &all) {
                tracing::warn!(
                    family = "host",
                    "machine code of a component could not be kept, and is made again at the next start: {error}"
                );
            }
        }
        Ok(Made { scan, code })
    }

    /// What was made of it before and kept. The limits of today count, whichever it was made under.
    pub(crate) fn made_before(&self, source: Source<'_>) -> Option<Made> {
        let mut all = self.kept.as_ref()?.read(&source.sha256)?;
        let (scan, code) = split::<wire::Scan>(&all, MAX_MESSAGE).ok()?;
        let (scan, from) = (scan.read().ok()?, all.len() - code.len());
        scan.counts.check(source.limits).ok()?;
        all.drain(..from);
        Some(Made { scan, code: all })
    }

    fn compile(&self, source: Source<'_>, scan: &Scan) -> Result<Vec<u8>, Refusal> {
        let order = wire::order::Kind::Compile(scan.counts.memory.0);
        self.ask_once(order, source, |answer| compiled(answer).map(<[u8]>::to_vec))
    }

    /// What a child's answer is read as. What is wrong with the component itself is remembered: it is not tried again.
    fn ask_once<T>(
        &self,
        order: wire::order::Kind,
        source: Source<'_>,
        read: impl FnOnce(&[u8]) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if let Some(refusal) = self.refused.lock().get(&source.sha256) {
            return Err(refusal.clone());
        }
        let answer = self.ask(order, source.bytes).and_then(|answer| read(&answer));
        answer.inspect_err(|refusal| {
            // What the host is to blame for may be over the next time, and the policy's limits may be others.
            if !matches!(refusal, Refusal::Host(_) | Refusal::Limit { key: Some(_), .. }) {
                let mut refused = self.refused.lock();
                if refused.len() >= REMEMBERED {
                    refused.clear();
                }
                refused.insert(source.sha256, refusal.clone());
            }
        })
    }

    /// What a child answers that has an end.
    fn ask(&self, order: wire::order::Kind, component: &[u8]) -> Result<Vec<u8>, Refusal> {
        let allowance = Allowance::of(bytes(component.len())).within(self.budget.most_for_compiler());
        let _share = self.budget.share(allowance.memory);
        let host = |error: io::Error| Refusal::Host(format!("cannot start a compiler: {error}"));
        let order = wire::Order { build: crate::BUILD.to_owned(), kind: Some(order) };
        let numbers = [allowance.seconds, allowance.memory.0];
        let mut child = self.program.start(numbers, &order, component).map_err(host)?;
        let answer = match child.stdout.take() {
            Some(stdout) => read(stdout, Instant::now() + allowance.patience(), allowance.code()),
            None => Err(io::Error::other("it has no output")),
        };
        if answer.is_err() {
            let _ = child.kill();
        }
        let status = wait(&mut child, LAST).map_or_else(|| child.kill().and_then(|()| child.wait()), Ok);
        let status = status.map_err(host)?;
        judge::judge(answer, status, allowance)
    }
}

/// What a child says of a component that it has read. The error is what it says is wrong with the component; likewise for [`compiled`].
pub(crate) fn scanned(answer: &[u8]) -> Result<Scan, Refusal> {
    match made(answer) {
        Ok((wire::made::Kind::Scan(scan), _)) => {
            scan.read().map_err(|why| Refusal::Invalid(GuestText::new(&why.to_string())))
        }
        Ok((wire::made::Kind::Refused(refusal), _)) => Err(refusal.into()),
        _ => Err(Refusal::Invalid(GuestText::new("what reads it does not say what it is"))),
    }
}

/// The machine code that a child has made.
pub(crate) fn compiled(answer: &[u8]) -> Result<&[u8], Refusal> {
    match made(answer) {
        Ok((wire::made::Kind::Compiled(_), code)) => Ok(code),
        Ok((wire::made::Kind::Refused(refusal), _)) => Err(refusal.into()),
        _ => Err(Refusal::Invalid(GuestText::new("the compiler makes nothing of it"))),
    }
}

fn made(answer: &[u8]) -> Result<(wire::made::Kind, &[u8]), Nonsense> {
    let (message, rest) = cut(answer, MAX_MESSAGE)?;
    let kind = wire::Made::read(message)?.kind;
    Ok((kind.ok_or(Nonsense("nothing"))?, rest))
}

/// All that a child writes, until it has ended or its time has.
fn read(mut from: ChildStdout, until: Instant, most: usize) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let left = until.saturating_duration_since(Instant::now()).try_into();
        match poll(&mut [PollFd::new(&from, PollFlags::IN)], left.ok().as_ref()) {
            Ok(0) => return Err(ErrorKind::TimedOut.into()),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let read = from.read(&mut piece)?;
        answer.extend(piece.iter().take(read));
        if answer.len() > most {
            return Err(ErrorKind::FileTooLarge.into());
        }
        if read == 0 {
            return Ok(answer);
        }
    }
}
