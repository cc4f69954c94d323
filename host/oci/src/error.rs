//! What can be wrong with getting a component, in the families of the host's errors.

/// Why there is no component. Complete text, the artifact named first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is not what the policy names: other bytes, no component, or not signed by a key that counts.
    #[error("{0}")]
    Refused(String),
    /// It could not be had: the registry, the network or the disk.
    #[error("{0}")]
    Host(String),
}

/// What ends one attempt.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Trying again may help, after so long at the least.
    Passing(String, std::time::Duration),
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
