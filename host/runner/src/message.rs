//! The messages of `proto/runner.proto`, and what they are here.

mod condition;
mod fault;
mod limits;
pub(crate) mod question;
mod refusal;
mod scan;
mod unit;

use devgate_types::component::{CallKind, LogLevel};
use prost::Message;

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::indexing_slicing,
    reason = "generated from proto/runner.proto, where the documentation is"
)]
pub(crate) mod wire {
    include!(concat!(env!("OUT_DIR"), "/devgate.runner.rs"));
}

devgate_types::same!(LogLevel, wire::log::Level: Debug Info Warn Error);

/// Something that the other side said and that says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message that is none: {0}")]
pub(crate) struct Nonsense(pub(crate) &'static str);

/// A size of memory, as a number of bytes that fits.
pub(crate) fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// The number of a function in a message.
pub(crate) fn function(kind: CallKind) -> u32 {
    let place = CallKind::ALL.iter().position(|known| *known == kind);
    place.and_then(|place| u32::try_from(place).ok()).unwrap_or_default()
}

/// The function of this number, from a host, which is believed.
pub(crate) fn kind(function: u32) -> CallKind {
    let place = usize::try_from(function).ok();
    place.and_then(|place| CallKind::ALL.get(place)).copied().unwrap_or_default()
}

/// What stands before a message.
const HEAD: usize = 4;

/// A message and what comes with it, as one text.
pub(crate) fn join(message: &impl Message, rest: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.encoded_len()).unwrap_or(u32::MAX);
    let mut all = length.to_le_bytes().to_vec();
    all.extend(message.encode_to_vec());
    all.extend_from_slice(rest);
    all
}

/// Takes a message of at most so many bytes off the beginning of what came.
pub(crate) fn split<M: Message + Default>(all: &[u8], most: usize) -> Result<(M, &[u8]), Nonsense> {
    let (message, rest) = cut(all, most)?;
    let message = M::decode(message).map_err(|_| Nonsense("not a message"))?;
    Ok((message, rest))
}

/// The same, of a message that is not decoded yet.
pub(crate) fn cut(all: &[u8], most: usize) -> Result<(&[u8], &[u8]), Nonsense> {
    let (head, rest) = all.split_first_chunk::<HEAD>().ok_or(Nonsense("cut off"))?;
    let length = usize::try_from(u32::from_le_bytes(*head)).unwrap_or(usize::MAX);
    let (message, rest) = rest.split_at_checked(length.min(most)).ok_or(Nonsense("cut off"))?;
    if length > most {
        return Err(Nonsense("too long"));
    }
    Ok((message, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_is_split_again_and_nothing_else_is() {
        let ready = wire::Log { line: "a".to_owned(), ..wire::Log::default() };
        let all = join(&ready, b"code");
        assert_eq!(split::<wire::Log>(&all, 64), Ok((ready, &b"code"[..])));
        for bad in [&all[..3], &all[..5], &[255; 64], &[]] {
            assert!(split::<wire::Log>(bad, 64).is_err());
        }
        assert_eq!(
            split::<wire::Log>(&join(&wire::Log { line: "x".repeat(99), level: 0 }, b""), 64),
            Err(Nonsense("too long"))
        );
    }
}
