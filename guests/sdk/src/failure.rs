//! Making and enriching the contract's errors.

use crate::{Error, ErrorKind};

/// The code of what the policy does not grant at all.
const NOT_GRANTED: &str = "not-granted";

impl Error {
    /// An error of this kind without a code. `message` is for people, at most 1,024 bytes: name the object first, then
    /// what is wrong with it.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, code: String::new(), message: message.into() }
    }

    /// The same with a machine-readable code of at most 64 bytes, such as `vendor.firmware-too-old`.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = code.into();
        self
    }

    /// Not now; the same call may succeed later. The kubelet is told to try again.
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Busy, message)
    }

    /// What was asked for, or what the admin wrote under `config:`, makes no sense.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// This component does not do that.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Anything else, told apart by its code.
    pub fn other(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Other, message).with_code(code)
    }

    /// What the host answers for a function of an interface that the policy does not grant and the component can do without
    /// (`devgatectl pack --optional`). For tests.
    #[must_use]
    pub fn not_granted(interface: &str) -> Self {
        Self::new(ErrorKind::Denied, format!("{interface} is not granted by the policy")).with_code(NOT_GRANTED)
    }

    /// Whether the policy does not grant the interface at all, which the component can do without.
    #[must_use]
    pub fn is_not_granted(&self) -> bool {
        self.kind == ErrorKind::Denied && self.code == NOT_GRANTED
    }

    /// Whether the thing asked about does not exist (any more), as opposed to could not be read.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self.kind, ErrorKind::NotFound | ErrorKind::Gone)
    }
}

/// Says what was being done when something failed.
pub trait Context<T> {
    /// Puts `what()` and a colon before the error's message; kind and code stay.
    ///
    /// # Errors
    /// The error that was there before.
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> Context<T> for Result<T, Error> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|error| Error { message: format!("{}: {}", what(), error.message), ..error })
    }
}

/// Tells "is not there" from "could not be read".
pub trait Presence<T> {
    /// The value, or none if the thing does not exist.
    ///
    /// # Errors
    /// Every error but the kinds `not-found` and `gone`.
    fn if_present(self) -> Result<Option<T>, Error>;
}

impl<T> Presence<T> for Result<T, Error> {
    fn if_present(self) -> Result<Option<T>, Error> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_absence() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(kind: ErrorKind) -> Result<u8, Error> {
        Err(Error::new(kind, "attribute serial: Input/output error").with_code("EIO"))
    }

    #[test]
    fn context_keeps_kind_and_code() {
        let error = failed(ErrorKind::Io).context(|| "0000:3b:00.0".to_owned()).unwrap_err();
        assert_eq!(error.message, "0000:3b:00.0: attribute serial: Input/output error");
        assert!(error.kind == ErrorKind::Io && error.code == "EIO");
        assert_eq!(Ok::<_, Error>(3).context(|| unreachable!("nothing failed")).unwrap(), 3);
    }

    #[test]
    fn what_is_not_granted_at_all_is_told_from_what_is_denied() {
        let whole = Error::not_granted("files");
        assert_eq!(whole.message, "files is not granted by the policy");
        assert!(whole.is_not_granted() && !whole.is_absence());
        assert!(!Error::new(ErrorKind::Denied, "file /etc/shadow: is not listed").is_not_granted());
        assert!(!Error::other("not-granted", "a vendor's own").is_not_granted());
    }

    #[test]
    fn only_absence_is_none() {
        assert_eq!(failed(ErrorKind::NotFound).if_present().unwrap(), None);
        assert_eq!(failed(ErrorKind::Gone).if_present().unwrap(), None);
        for kind in [ErrorKind::Io, ErrorKind::Denied, ErrorKind::Busy, ErrorKind::Limit, ErrorKind::Other] {
            assert!(failed(kind).if_present().is_err(), "{kind:?}");
        }
        assert_eq!(Ok::<_, Error>(3).if_present().unwrap(), Some(3));
    }
}
