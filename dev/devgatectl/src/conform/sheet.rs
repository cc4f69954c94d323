//! What is checked and what came of it.

use serde::Serialize;

/// Examples of a failure that are shown.
const SHOWN: usize = 3;

/// One thing that every component must do. docs/conform.md lists them all.
#[derive(Debug)]
pub(super) struct Rule {
    /// `group.name`; never changes.
    pub(super) id: &'static str,
    /// What it is about, in a few words.
    pub(super) title: &'static str,
    /// What must be.
    pub(super) expected: &'static str,
    /// What to do about a failure.
    pub(super) remedy: &'static str,
}

/// What came of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// What was tried.
    Passed(String),
    Failed {
        tried: String,
        /// What was seen instead of what is expected: at least one.
        failures: Vec<String>,
    },
    /// Why it could not be tried.
    Skipped(String),
}

impl Outcome {
    /// Passed unless there are failures.
    pub(super) fn of(tried: impl Into<String>, failures: Vec<String>) -> Self {
        let tried = tried.into();
        if failures.is_empty() {
            Self::Passed(tried)
        } else {
            Self::Failed { tried, failures }
        }
    }

    pub(super) fn skipped(why: impl Into<String>) -> Self {
        Self::Skipped(why.into())
    }
}

/// A check and what came of it; its names are those of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) expected: &'static str,
    pub(super) result: Grade,
    /// What was tried, or why nothing was.
    pub(super) evidence: String,
    /// The first of what was seen instead.
    pub(super) failures: Vec<String>,
    /// How many more there are.
    pub(super) more: usize,
    /// What to do about a failure; nothing where there is none.
    pub(super) remedy: Option<&'static str>,
    /// The command that tries it again alone; nothing where it did not fail.
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

/// Where a group's checks are written down.
pub(super) struct Sheet<'a> {
    group: Group,
    rules: &'static [&'static Rule],
    only: Option<&'a str>,
    again: &'a str,
}

impl<'a> Sheet<'a> {
    /// A group's empty sheet. `only` is a check's id or a group's name; `again` is the command that runs the battery.
    pub(super) fn new(
        name: &'static str,
        title: &'static str,
        rules: &'static [&'static Rule],
        only: Option<&'a str>,
        again: &'a str,
    ) -> Self {
        Self {
            group: Group {
                name,
                title,
                checks: Vec::new(),
            },
            rules,
            only,
            again,
        }
    }

    /// Whether any check of the group is wanted.
    pub(super) fn is_wanted(&self) -> bool {
        self.rules.iter().any(|rule| self.wants(rule))
    }

    /// Whether a check is wanted.
    pub(super) fn wants(&self, rule: &Rule) -> bool {
        self.only.is_none_or(|only| only == rule.id || only == self.group.name)
    }

    /// Does a check, if it is wanted.
    pub(super) fn check(&mut self, rule: &'static Rule, check: impl FnOnce() -> Outcome) {
        if self.wants(rule) {
            let outcome = check();
            self.put(rule, outcome);
        }
    }

    fn put(&mut self, rule: &'static Rule, outcome: Outcome) {
        let (result, evidence, mut failures) = match outcome {
            Outcome::Passed(tried) => (Grade::Passed, tried, Vec::new()),
            Outcome::Failed { tried, failures } => (Grade::Failed, tried, failures),
            Outcome::Skipped(why) => (Grade::Skipped, why, Vec::new()),
        };
        let more = failures.len().saturating_sub(SHOWN);
        failures.truncate(SHOWN);
        let failed = result == Grade::Failed;
        self.group.checks.push(Check {
            id: rule.id,
            title: rule.title,
            expected: rule.expected,
            result,
            evidence,
            failures,
            more,
            remedy: failed.then_some(rule.remedy),
            again: failed.then(|| format!("{} --only {}", self.again, rule.id)),
        });
    }

    /// The whole group: what has not been checked so far is skipped for this reason.
    pub(super) fn finish(mut self, why: &str) -> Group {
        for rule in self.rules {
            if !self.group.checks.iter().any(|check| check.id == rule.id) && self.wants(rule) {
                self.put(rule, Outcome::skipped(why));
            }
        }
        // In the order of the rules, however they were come to.
        let rules = self.rules;
        let place = |check: &Check| rules.iter().position(|rule| rule.id == check.id);
        self.group.checks.sort_by_key(place);
        self.group
    }
}

impl Group {
    pub(super) fn count(&self, grade: Grade) -> usize {
        self.checks.iter().filter(|check| check.result == grade).count()
    }
}
