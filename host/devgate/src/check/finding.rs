//! What an admin should know about a policy.

use crate::output::count;
use crate::{exit, help};
use serde::Serialize;

/// One thing that an admin should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    /// What kind of thing, for scripts: `import-not-granted`. `codes.txt` explains them, and has their severity.
    pub(super) code: &'static str,
    /// Where in the policy: `policy.yaml:12`.
    pub(super) at: Option<String>,
    /// For people; complete without the rest.
    pub(super) message: String,
}

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// The plugin cannot work as the policy says.
    Error,
    /// It works, but perhaps not as it was meant to.
    Warning,
    /// The policy gives away more than one device, and says so.
    Danger,
}

/// How many there are of each severity.
#[derive(Debug, Serialize)]
pub(super) struct Counts {
    errors: usize,
    warnings: usize,
    dangers: usize,
}

impl Counts {
    pub(super) fn of<'a>(findings: impl Iterator<Item = &'a Finding> + Clone) -> Self {
        let count = |severity| findings.clone().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        Self { errors, warnings, dangers: count(Severity::Danger) }
    }

    /// What the command ends with; `strict` if warnings count.
    pub(super) fn exit_code(&self, strict: bool) -> u8 {
        if self.errors > 0 || (strict && self.warnings > 0) { exit::FOUND } else { exit::OK }
    }

    /// A line for people.
    pub(super) fn line(&self, plugins: usize) -> String {
        let counts = [(self.errors, "error"), (self.warnings, "warning"), (self.dangers, "danger")];
        let counts = counts.map(|(n, what)| count(n, what)).join(", ");
        format!("\n{counts} in {}\n", count(plugins, "plugin"))
    }
}

impl Finding {
    pub(super) fn new(code: &'static str, at: Option<String>, message: impl Into<String>) -> Self {
        let known = help::codes().into_iter().find(|it| it.code == code && it.kind != "condition");
        debug_assert!(known.is_some(), "{code} is not in codes.txt");
        let severity = match known.map(|it| it.kind) {
            Some("warning") => Severity::Warning,
            Some("danger") => Severity::Danger,
            _ => Severity::Error,
        };
        Self { severity, code, at, message: message.into() }
    }
}
