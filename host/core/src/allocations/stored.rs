//! What a consumer was told, kept with its allocation: a claim is prepared anew after the host or the node was started again, and gets no
//! more than it had.

use crate::offer::Reply;
use serde::{Deserialize, Serialize};

/// The largest that is kept, in bytes: an answer that is larger is refused before anybody has it.
pub(crate) const MAX_BYTES: usize = 64 << 10;

/// A reply as the journal has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StoredReply(Reply);

impl StoredReply {
    /// A reply to be kept, unless it is too large for that.
    pub(crate) fn of(reply: &Reply) -> Option<Self> {
        let bytes = serde_json::to_vec(reply).ok()?;
        (bytes.len() <= MAX_BYTES).then(|| Self(reply.clone()))
    }

    /// Whether it is not known yet what is told, or nothing is.
    pub(super) fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// The reply.
    pub(crate) fn to_reply(&self) -> Reply {
        self.0.clone()
    }
}
