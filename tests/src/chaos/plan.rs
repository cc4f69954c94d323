//! Which steps are taken: from a seed, or from a text.

use super::machine::KINDS;
use super::step::{Act, Step, Word};
use anyhow::Context;
use fastrand::Rng;
use std::collections::VecDeque;
use std::time::Duration;

/// How hard the steps are on the host between two calms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// Calms come soon: for a minute in the tests.
    Short,
    /// As many troubles at once as come, and long waits for the end of the host's patience with the kubelet.
    Long,
}

/// Steps, one after the other: without end from a seed, or those of a text.
#[derive(Debug, Clone)]
pub struct Plan {
    source: Option<Generator>,
    steps: VecDeque<Step>,
}

#[derive(Debug, Clone)]
struct Generator {
    rng: Rng,
    mix: Mix,
    /// Troubles since the kubelet was new, each of which makes the host wait longer before it registers again.
    troubles: u32,
    renumbered: bool,
}

impl Plan {
    /// The steps of a seed.
    #[must_use]
    pub fn of_seed(seed: u64, mix: Mix) -> Self {
        let generator = Generator { rng: Rng::with_seed(seed), mix, troubles: 0, renumbered: false };
        Self { source: Some(generator), steps: VecDeque::new() }
    }

    /// The steps of a text: one for each line, as they are printed; lines that begin with `#` are left out, and so is
    /// whatever stands before a `|`, which is the step's number.
    ///
    /// # Errors
    /// When a line is no step; the error names it.
    pub fn of_text(text: &str) -> anyhow::Result<Self> {
        let lines = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let step = |(number, line): (usize, &str)| {
            let step = line.split_once('|').map_or(line, |(_, step)| step);
            step.parse().with_context(|| format!("line {number}"))
        };
        Ok(Self { source: None, steps: lines.map(step).collect::<anyhow::Result<_>>()? })
    }
}

impl Iterator for Plan {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.steps.is_empty()
            && let Some(source) = &mut self.source
        {
            self.steps = source.segment().into();
        }
        self.steps.pop_front()
    }
}

impl Generator {
    /// Some steps, and the calm after them.
    fn segment(&mut self) -> Vec<Step> {
        let mut acts = Vec::new();
        let (most, bearable) = match self.mix {
            Mix::Short => (12, 3),
            Mix::Long => (30, 6),
        };
        if self.troubles > bearable {
            acts.push(Act::Restart);
            self.troubles = 0;
        }
        for _ in 0..self.rng.usize(4..=most) {
            let group = self.group();
            if group.iter().any(|act| matches!(act, Act::Kill(_) | Act::Terminate | Act::Reboot(_) | Act::Blind(_))) {
                // A new host has all its patience.
                self.troubles = 0;
            }
            let troubles = group.iter().filter(|act| makes_it_wait(act)).count();
            self.troubles = self.troubles.saturating_add(u32::try_from(troubles).unwrap_or(u32::MAX));
            if self.troubles <= bearable || troubles == 0 {
                acts.extend(group);
            }
        }
        let mut steps: Vec<Step> = acts.into_iter().map(|act| self.after_a_while(act)).collect();
        steps.push(Step { pause: Duration::ZERO, act: Act::Calm });
        steps
    }

    fn after_a_while(&mut self, act: Act) -> Step {
        let most = match self.rng.u32(0..10) {
            // Long enough for a second host to be there, or not quite.
            _ if matches!(act, Act::SecondLeaves(_) | Act::Handover(_)) => 2_500,
            // Mostly at once, so that things meet.
            0..=3 => 3,
            4..=7 => 60,
            8 => 300,
            _ => 900,
        };
        Step { pause: Duration::from_millis(self.rng.u64(0..=most)), act }
    }

    /// Steps that belong together.
    fn group(&mut self) -> Vec<Act> {
        let kinds = u32::try_from(KINDS.len()).unwrap_or(1);
        let kind = self.rng.u32(0..kinds);
        let killed = self.rng.bool();
        let short = self.rng.u64(0..400);
        // In long plans hosts live longer, so that what grows has time to.
        let many = match self.mix {
            Mix::Short => 100,
            Mix::Long => 400,
        };
        match self.rng.u32(0..many) {
            0..=5 => vec![Act::Restart],
            6..=9 => vec![Act::Flap(self.rng.u32(3..=10), self.rng.u64(0..=30))],
            10..=12 => vec![Act::Crash, Act::Start],
            13..=15 => vec![Act::Stop, Act::Start],
            16..=18 => vec![Act::Resocket],
            19 => vec![Act::Forget],
            20..=23 => {
                let word = [Word::Hang, Word::Refuse, Word::Late, Word::HangUp, Word::NoDial];
                let word = word.get(self.rng.usize(0..word.len())).copied().unwrap_or(Word::Refuse);
                // Something must make the host register meanwhile.
                let cause = if self.rng.bool() { Act::Restart } else { Act::Cut(kind) };
                vec![Act::Answer(word), cause, Act::Answer(Word::Real)]
            }
            24..=25 => vec![Act::Slow(short), Act::Gone(kind, 0), Act::Back, Act::Slow(0)],
            26..=29 => vec![Act::Cut(kind)],
            30..=32 => vec![Act::Unlink(kind)],
            33 => vec![Act::Wipe],
            34..=35 => vec![Act::Rebuild],
            36..=51 => vec![self.pod(kinds)],
            52..=60 => vec![Act::Remove(self.rng.usize(0..8))],
            61..=64 => vec![Act::Again(self.rng.usize(0..8))],
            65..=67 => vec![Act::Gone(kind, self.rng.u32(0..3))],
            68..=69 => vec![Act::Back],
            // In the middle of admissions.
            70..=75 => vec![self.pod(kinds), self.pod(kinds), Act::Kill(short)],
            76..=78 => vec![Act::Kill(short)],
            79..=80 => vec![Act::Terminate],
            81..=82 => vec![Act::Blind(short)],
            83..=84 => vec![Act::Freeze(self.rng.u64(100..2_000))],
            85 => vec![Act::Flood],
            86..=88 => vec![Act::Clock],
            89..=91 => vec![Act::Strangers(self.rng.u32(1..=12))],
            92..=93 => vec![Act::Second, self.pod(kinds), Act::SecondLeaves(killed)],
            94..=95 => vec![Act::Second, self.pod(kinds), Act::Handover(killed)],
            // The same again, but for what ends hosts.
            more @ 100.. => match more % 10 {
                0 => vec![Act::Restart],
                1 => vec![Act::Flap(self.rng.u32(3..=10), self.rng.u64(0..=30))],
                2 => vec![Act::Cut(kind)],
                3 => vec![Act::Gone(kind, self.rng.u32(0..3))],
                4 => vec![Act::Back],
                5 => vec![Act::Strangers(self.rng.u32(1..=12))],
                6 => vec![Act::Remove(self.rng.usize(0..8))],
                7 => vec![Act::Second, self.pod(kinds), Act::SecondLeaves(killed)],
                _ => vec![self.pod(kinds)],
            },
            _ => {
                // Every other time names go back to where they were.
                self.renumbered = !self.renumbered && self.rng.bool();
                vec![Act::Reboot(self.renumbered)]
            }
        }
    }

    fn pod(&mut self, kinds: u32) -> Act {
        let mut wanted = Vec::new();
        for kind in 0..kinds {
            if self.rng.u32(0..3) == 0 {
                wanted.push((kind, self.rng.usize(1..=2)));
            }
        }
        if wanted.is_empty() {
            wanted.push((self.rng.u32(0..kinds), 1));
        }
        Act::Admit(wanted)
    }
}

/// Whether the host waits longer each time before it registers again.
fn makes_it_wait(act: &Act) -> bool {
    match act {
        Act::Cut(_) | Act::Unlink(_) | Act::Wipe | Act::Handover(_) | Act::SecondLeaves(_) => true,
        Act::Answer(word) => *word != Word::Real,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(seed: u64, mix: Mix) -> String {
        let steps = Plan::of_seed(seed, mix).take(400);
        steps.enumerate().map(|(n, step)| format!("{n:>5} | {step}\n")).collect()
    }

    #[test]
    fn a_seed_is_a_plan_and_a_plan_is_a_text() {
        for mix in [Mix::Short, Mix::Long] {
            let written = text(7, mix);
            assert_eq!(written, text(7, mix));
            assert_ne!(written, text(8, mix));
            let read: Vec<Step> = Plan::of_text(&format!("# a comment\n\n{written}")).unwrap().collect();
            assert_eq!(read, Plan::of_seed(7, mix).take(400).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_kind_of_step_comes_up() {
        let steps: Vec<Step> = Plan::of_seed(1, Mix::Long).take(5_000).collect();
        let words: std::collections::BTreeSet<String> =
            steps.iter().filter_map(|step| step.act.to_string().split(' ').next().map(str::to_owned)).collect();
        assert_eq!(words.len(), 30, "{words:?}");
    }

    #[test]
    fn a_line_that_is_no_step_is_named() {
        for (line, wanted) in [
            ("5 explode", "no such step"),
            ("kubelet-restart", "not MILLISECONDS STEP"),
            ("0 admit 1", "not KIND:COUNT"),
            ("0 cut", "ends too early"),
            ("0 reboot twice", "neither renumbered nor same"),
            ("0 kubelet-answer maybe", "no such answer"),
        ] {
            let error = Plan::of_text(&format!("0 calm\n{line}")).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.starts_with("line 2: ") && error.contains(wanted), "{error}");
        }
    }
}
