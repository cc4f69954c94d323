//! What an admin should know about a policy.

use devgate_policy::Origin;
use serde::Serialize;

/// One thing that an admin should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    /// What kind of thing, for scripts: `import-not-granted`. `codes.txt` explains them.
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

impl Finding {
    pub(super) fn error(code: &'static str, at: Option<&Origin>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, at, message)
    }

    pub(super) fn warning(code: &'static str, at: Option<&Origin>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, at, message)
    }

    pub(super) fn danger(code: &'static str, at: Option<&Origin>, message: impl Into<String>) -> Self {
        Self::new(Severity::Danger, code, at, message)
    }

    fn new(severity: Severity, code: &'static str, at: Option<&Origin>, message: impl Into<String>) -> Self {
        debug_assert!(crate::help::codes().iter().any(|it| it.code == code), "{code} is not in codes.txt");
        Self { severity, code, at: at.map(ToString::to_string), message: message.into() }
    }
}
