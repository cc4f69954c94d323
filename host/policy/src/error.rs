//! What is wrong with a policy: where, what, and what was probably meant.

use crate::Origin;
use crate::yaml::At;
use devgate_types::escape;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// One thing that is wrong in a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// The file, as the caller named it; empty where the error belongs to no file.
    pub file: Arc<str>,
    /// The line, from 1; 0 where the error belongs to no line.
    pub line: u32,
    /// The column in characters, from 1; 0 where the error belongs to no line.
    pub column: u32,
    /// What is wrong, and what to do where that can be guessed; text from the file is escaped and cut.
    pub message: String,
}

impl fmt::Display for PolicyError {
    /// `policy.yaml:12:5: unknown key "hardwear" in plugin "acme"; did you mean "hardware"?`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:", escape(&self.file, 256))?;
            if self.line != 0 {
                write!(f, "{}:{}:", self.line, self.column)?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for PolicyError {}

/// Everything that is wrong in a policy, by file in the order given, then by place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors {
    /// Never empty.
    pub errors: Vec<PolicyError>,
}

impl PolicyErrors {
    /// The most errors that are shown at once: who has more has one mistake many times.
    pub const SHOWN: usize = 100;
}

impl fmt::Display for PolicyErrors {
    /// One per line, at most [`Self::SHOWN`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.errors.iter().take(Self::SHOWN).enumerate() {
            if n != 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        match self.errors.len().saturating_sub(Self::SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

impl std::error::Error for PolicyErrors {}

/// What is wrong with a value, to be read behind its key; text from the file is escaped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Problem(pub(crate) String);

impl Problem {
    /// Of a text that must be said with it: `which is empty`.
    pub(crate) fn has(text: &str, which: impl fmt::Display) -> Self {
        Self(format!("has \"{}\", {which}", escape(text, 80)))
    }

    /// The same of what is known to be wrong: `is empty`.
    pub(crate) fn which(text: &str, problem: impl fmt::Display) -> Self {
        Self::has(text, format_args!("which {problem}"))
    }
}

/// The errors of one file, as they are found.
pub(crate) struct Report {
    file: Arc<str>,
    errors: RefCell<Vec<PolicyError>>,
}

impl Report {
    pub(crate) fn new(file: &str) -> Self {
        Self { file: file.into(), errors: RefCell::default() }
    }

    pub(crate) fn error(&self, at: At, message: impl fmt::Display) {
        self.errors.borrow_mut().push(PolicyError {
            file: Arc::clone(&self.file),
            line: at.line,
            column: at.column,
            message: message.to_string(),
        });
    }

    /// A place in the file, for messages.
    pub(crate) fn origin(&self, at: At) -> Origin {
        Origin { file: Arc::clone(&self.file), line: at.line }
    }

    /// The errors by their place in the file.
    pub(crate) fn into_errors(self) -> Vec<PolicyError> {
        let mut errors = self.errors.into_inner();
        errors.sort_by_key(|error| (error.line, error.column));
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(n: u32) -> PolicyError {
        PolicyError { file: "a\nb.yaml".into(), line: n, column: 2, message: "no".to_owned() }
    }

    #[test]
    fn errors_are_shown_one_per_line_and_not_without_end() {
        assert_eq!(error(7).to_string(), "a\\nb.yaml:7:2: no");
        let errors = PolicyErrors { errors: (1..=102).map(error).collect() };
        let text = errors.to_string();
        assert_eq!(text.lines().count(), 101);
        assert!(text.ends_with("\n… and 2 more"));
        let errors = PolicyErrors { errors: (1..=100).map(error).collect() };
        assert_eq!(errors.to_string().lines().count(), 100);
    }
}
