//! What is wrong with a policy: where, what, and what was probably meant.

use crate::yaml::At;
use devgate_types::escape;
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
    /// What is wrong; text from the file is escaped and cut.
    pub message: String,
    /// What to do, where that can be guessed.
    pub hint: Option<String>,
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
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
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

/// The errors of one file, as they are found.
pub(crate) struct Report {
    pub(crate) file: Arc<str>,
    errors: Vec<PolicyError>,
}

impl Report {
    pub(crate) fn new(file: &str) -> Self {
        Self {
            file: file.into(),
            errors: Vec::new(),
        }
    }

    pub(crate) fn error(&mut self, at: At, message: impl Into<String>) {
        self.push(at, message.into(), None);
    }

    pub(crate) fn error_with_hint(&mut self, at: At, message: impl Into<String>, hint: impl Into<String>) {
        self.push(at, message.into(), Some(hint.into()));
    }

    fn push(&mut self, at: At, message: String, hint: Option<String>) {
        self.errors.push(PolicyError {
            file: Arc::clone(&self.file),
            line: at.line,
            column: at.column,
            message,
            hint,
        });
    }

    /// The errors by their place in the file.
    pub(crate) fn into_errors(mut self) -> Vec<PolicyError> {
        self.errors.sort_by_key(|error| (error.line, error.column));
        self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(n: u32) -> PolicyError {
        PolicyError {
            file: "a\nb.yaml".into(),
            line: n,
            column: 2,
            message: "no".to_owned(),
            hint: None,
        }
    }

    #[test]
    fn errors_are_shown_one_per_line_and_not_without_end() {
        assert_eq!(error(7).to_string(), "a\\nb.yaml:7:2: no");
        let errors = PolicyErrors {
            errors: (1..=102).map(error).collect(),
        };
        let text = errors.to_string();
        assert_eq!(text.lines().count(), 101);
        assert!(text.ends_with("\n… and 2 more"));
        let errors = PolicyErrors {
            errors: (1..=100).map(error).collect(),
        };
        assert_eq!(errors.to_string().lines().count(), 100);
    }
}
