//! The messages of `proto/pull.proto`, and what they are here.

use crate::credentials::Credentials;
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

use wire::credentials::Kind;

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

impl From<Credentials> for wire::Credentials {
    fn from(credentials: Credentials) -> Self {
        let kind = match credentials {
            Credentials::Anonymous => None,
            Credentials::Password { user, password } => Some(Kind::Password(wire::Password { user, password })),
            Credentials::Identity(token) => Some(Kind::Identity(token)),
            Credentials::Bearer(token) => Some(Kind::Bearer(token)),
        };
        Self { kind }
    }
}

impl From<wire::Credentials> for Credentials {
    fn from(credentials: wire::Credentials) -> Self {
        match credentials.kind {
            None => Self::Anonymous,
            Some(Kind::Password(wire::Password { user, password })) => Self::Password { user, password },
            Some(Kind::Identity(token)) => Self::Identity(token),
            Some(Kind::Bearer(token)) => Self::Bearer(token),
        }
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
    fn credentials_and_signatures_arrive_as_they_were_sent() {
        let all = [
            Credentials::Anonymous,
            Credentials::Password { user: "anna".to_owned(), password: "secret".to_owned() },
            Credentials::Identity("secret".to_owned()),
            Credentials::Bearer("secret".to_owned()),
        ];
        for credentials in all {
            let sent = wire::Credentials::from(credentials.clone());
            assert!(!format!("{sent:?}").contains("secret"));
            let access = wire::Access {
                credentials: Some(sent.clone()),
                proxy: "http://anna:secret@proxy.example.com".to_owned(),
                ..wire::Access::default()
            };
            assert!(!format!("{access:?}").contains("secret"));
            assert_eq!(Credentials::from(sent), credentials);
        }
        let [payload, signature, bundle] = ["p", "s", "{}"].map(str::to_owned);
        for signed in [Signed::Simple { payload, signature }, Signed::Bundle { bundle }] {
            assert_eq!(Signed::from(wire::Signature::from(signed.clone())), signed);
        }
    }
}
