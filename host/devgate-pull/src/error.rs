//! What ends a request, and what is said of it.

use devgate_oci::Error;
use std::time::Duration;

/// What ends one attempt.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Trying again may help, after so long at the least.
    Passing(String, Duration),
    /// It may not.
    Lasting(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Lasting(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Passing(text, _) => Self::Host(text),
            Failure::Lasting(error) => error,
        }
    }
}

/// An error and what caused it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let (mut text, mut next) = (error.to_string(), error.source());
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    devgate_types::escape(&text, 512)
}
