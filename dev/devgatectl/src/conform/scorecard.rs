//! The checks, as `checks.txt` lists them, and what came of each.

use serde::Serialize;

/// The list is the table that the battery works through: what it says is what is checked.
const LIST: &str = include_str!("checks.txt");
/// Examples of a failure that are shown.
const SHOWN: usize = 3;

/// A check and its result; the names are those of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    /// `group.name`; never changes.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) expected: &'static str,
    /// `None` until it is tried or skipped.
    pub(super) result: Option<Grade>,
    /// What was tried, or why nothing was.
    pub(super) evidence: String,
    /// The first of what was seen instead.
    pub(super) failures: Vec<String>,
    /// How many more there are.
    pub(super) more: usize,
    /// What to do about a failure; `None` if it did not fail.
    pub(super) remedy: Option<&'static str>,
    /// The option that tries it again alone; `None` if it did not fail.
    pub(super) again: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Grade {
    Passed,
    Failed,
    Skipped,
}

/// Checks that belong together.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) checks: Vec<Check>,
}

impl Group {
    pub(super) fn count(&self, grade: Grade) -> usize {
        let checks = self.checks.iter();
        checks.filter(|check| check.result == Some(grade)).count()
    }
}

/// What came of one check: its grade, what was tried, and what was seen instead of what is expected.
pub(super) struct Outcome(Grade, String, Vec<String>);

impl Outcome {
    /// Passed unless there are failures.
    pub(super) fn of(tried: impl Into<String>, failures: impl IntoIterator<Item = String>) -> Self {
        let failures: Vec<_> = failures.into_iter().collect();
        let grade = if failures.is_empty() { Grade::Passed } else { Grade::Failed };
        Self(grade, tried.into(), failures)
    }

    pub(super) fn skipped(why: impl Into<String>) -> Self {
        Self(Grade::Skipped, why.into(), Vec::new())
    }
}

/// The battery, or the part of it that is asked for.
pub(super) struct Scorecard {
    pub(super) groups: Vec<Group>,
}

impl Scorecard {
    /// An empty one. `only` is a check's id or a group's name.
    pub(super) fn new(only: Option<&str>) -> Self {
        let mut groups = groups();
        for group in &mut groups {
            let wanted = |check: &Check| only.is_none_or(|only| only == group.name || only == check.id);
            group.checks.retain(wanted);
        }
        groups.retain(|group| !group.checks.is_empty());
        Self { groups }
    }

    /// Runs a check, if it is wanted.
    pub(super) fn check(&mut self, id: &str, check: impl FnOnce() -> anyhow::Result<Outcome>) -> anyhow::Result<()> {
        if self.groups.iter().flat_map(|group| &group.checks).any(|check| check.id == id) {
            self.record(id, check()?);
        }
        Ok(())
    }

    /// Records what came of a check, if it is wanted.
    pub(super) fn record(&mut self, id: &str, Outcome(grade, evidence, mut failures): Outcome) {
        let mut checks = self.groups.iter_mut().flat_map(|group| &mut group.checks);
        let Some(check) = checks.find(|check| check.id == id) else {
            return;
        };
        check.result = Some(grade);
        check.evidence = evidence;
        check.more = failures.len().saturating_sub(SHOWN);
        failures.truncate(SHOWN);
        check.failures = failures;
        check.remedy = check.remedy.filter(|_| grade == Grade::Failed);
        check.again = (grade == Grade::Failed).then(|| format!("--only {id}"));
    }

    /// Skips what has not been tried of a group.
    pub(super) fn skip_rest(&mut self, group: &str, why: &str) {
        let checks = self.groups.iter().filter(|other| other.name == group).flat_map(|group| &group.checks);
        let rest: Vec<_> = checks.filter(|check| check.result.is_none()).map(|check| check.id).collect();
        for id in rest {
            self.record(id, Outcome::skipped(why));
        }
    }
}

/// The list's groups and checks, in its order: a heading `## group: title`, and a row of the table beneath it for each check.
pub(super) fn groups() -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut remedy = "";
    for line in LIST.lines() {
        let heading = line.strip_prefix("## ").and_then(|line| line.split_once(": "));
        if let Some((name, title)) = heading {
            let checks = Vec::new();
            groups.push(Group { name, title, checks });
        }
        let row = line.strip_prefix("| `").and_then(|row| row.strip_suffix(" |")?.split_once("` "));
        let (Some((id, row)), Some(group)) = (row, groups.last_mut()) else {
            continue;
        };
        let mut cells = row.split(" | ");
        let mut cell = || cells.next().unwrap_or_default();
        let (title, expected, to_do) = (cell(), cell(), cell());
        if to_do != "the same" {
            remedy = to_do;
        }
        group.checks.push(Check {
            id,
            title,
            expected,
            result: None,
            evidence: String::new(),
            failures: Vec::new(),
            more: 0,
            remedy: Some(remedy),
            again: None,
        });
    }
    groups
}
