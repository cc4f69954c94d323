//! The messages of `proto/pull.proto`, and what they are here.

use crate::signature::Signed;
use std::fmt;

#[allow(
    missing_docs,
    clippy::all,
    clippy::indexing_slicing,
    reason = "generated from proto/pull.proto, where the documentation is"
)]
pub mod wire {
    include!(concat!(env!("OUT_DIR"), "/devgate.pull.rs"));
}

/// The longest answer, in bytes: a manifest, and what is around it.
pub(crate) const MAX_ANSWER: usize = (1 << 20) + 64;
/// The longest order, in bytes: authorities from several files.
pub const MAX_ORDER: usize = 64 << 20;
/// How much of a layer comes at once.
pub const PIECE: usize = 64 << 10;

impl fmt::Debug for wire::Access {
    /// Nothing of what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}

impl fmt::Debug for wire::Credentials {
    /// Nothing of what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

impl From<wire::credentials::Kind> for wire::Credentials {
    fn from(kind: wire::credentials::Kind) -> Self {
        Self { kind: Some(kind) }
    }
}

impl From<Signed> for wire::Signature {
    fn from(signed: Signed) -> Self {
        match signed {
            Signed::Simple { payload, signature } => Self { payload, signature, bundle: String::new() },
            Signed::Bundle { bundle } => Self { bundle, ..Self::default() },
        }
    }
}

impl From<wire::Signature> for Signed {
    fn from(signature: wire::Signature) -> Self {
        let wire::Signature { payload, signature, bundle } = signature;
        match bundle.is_empty() {
            true => Self::Simple { payload, signature },
            false => Self::Bundle { bundle },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_shown_and_signatures_arrive_as_they_were_sent() {
        use wire::credentials::Kind;
        let password = wire::Password { user: "anna".to_owned(), password: "secret".to_owned() };
        for kind in [Kind::Password(password), Kind::Identity("secret".to_owned()), Kind::Bearer("secret".to_owned())] {
            let sent = wire::Credentials::from(kind);
            assert!(!format!("{sent:?}").contains("secret"));
            let access = wire::Access {
                credentials: Some(sent),
                proxy: "http://anna:secret@proxy.example.com".to_owned(),
                ..wire::Access::default()
            };
            assert!(!format!("{access:?}").contains("secret"));
        }
        let [payload, signature, bundle] = ["p", "s", "{}"].map(str::to_owned);
        for signed in [Signed::Simple { payload, signature }, Signed::Bundle { bundle }] {
            assert_eq!(Signed::from(wire::Signature::from(signed.clone())), signed);
        }
    }
}
