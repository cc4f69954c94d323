//! One entry of a journal, as bytes.
//!
//! ```text
//!   0  "dgj1"            8  checksum of all but itself   16  seq
//!   4  length of what    12 kind, and two zero bytes     24  durable_through
//!      it holds                                          32  what it holds, and zeroes up to a multiple of 8
//! ```
//!
//! All numbers are little-endian. The checksum is a CRC-32, over the bytes as they lie on the disk.

/// What every entry begins with.
const MAGIC: [u8; 4] = *b"dgj1";
/// Bytes before what it holds.
const HEAD: usize = 32;
/// Entries begin at multiples of this.
pub(super) const ALIGN: usize = 8;
/// What one holds at most, in bytes.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// What an entry says. A number that is none of these is a newer host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind(pub(crate) u16);

impl Kind {
    /// The first one of a file: its format.
    pub(crate) const HEADER: Self = Self(1);
    /// An allocation begins.
    pub(crate) const ACQUIRE: Self = Self(2);
    /// An allocation goes on to its next state.
    pub(crate) const COMMIT: Self = Self(3);
    /// Units that are held are known better.
    pub(crate) const AMEND: Self = Self(4);
    /// An allocation, or a part of it, is over.
    pub(crate) const RELEASE: Self = Self(5);
    /// A unit has to be released before it is given.
    pub(crate) const DIRTY: Self = Self(6);
    /// It was.
    pub(crate) const CLEAN: Self = Self(7);
    /// The last one of a snapshot, which is whole then.
    pub(crate) const END: Self = Self(8);
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// Counts entries over all files; in a snapshot it is the last one that the snapshot has in it.
    pub(super) seq: u64,
    /// All up to this one were on the disk when this one was made.
    pub(super) durable_through: u64,
    pub(super) kind: Kind,
    pub(super) bytes: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Appends it, as it lies on the disk.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend(MAGIC);
        out.extend(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend([0; 4]);
        out.extend(self.kind.0.to_le_bytes());
        out.extend([0; 2]);
        out.extend(self.seq.to_le_bytes());
        out.extend(self.durable_through.to_le_bytes());
        out.extend(self.bytes);
        let checksum = out.get(start..).map(checksum).unwrap_or_default();
        if let Some(place) = out.get_mut(start + 8..start + 12) {
            place.copy_from_slice(&checksum.to_le_bytes());
        }
        out.resize(out.len().next_multiple_of(ALIGN), 0);
    }

    /// The entry at the beginning of these bytes, and how many it takes; nothing where there is none, or not a whole one.
    pub(super) fn read(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let head = bytes.get(..HEAD)?;
        if !head.starts_with(&MAGIC) {
            return None;
        }
        let length =
            usize::try_from(u32::from_le_bytes(number(head, 4)?)).ok().filter(|length| *length <= MAX_BYTES)?;
        let whole = bytes.get(..HEAD + length)?;
        if u32::from_le_bytes(number(head, 8)?) != checksum(whole) {
            return None;
        }
        let entry = Self {
            seq: u64::from_le_bytes(number(head, 16)?),
            durable_through: u64::from_le_bytes(number(head, 24)?),
            kind: Kind(u16::from_le_bytes(number(head, 12)?)),
            bytes: whole.get(HEAD..)?,
        };
        Some((entry, whole.len().next_multiple_of(ALIGN)))
    }
}

/// The checksum of an entry: of everything but the four bytes that have it.
fn checksum(entry: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(entry.get(..8).unwrap_or_default());
    hasher.update(entry.get(12..).unwrap_or_default());
    hasher.finalize()
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_entry_is_read_as_it_was_written_and_no_part_of_it_is_one(
            seq: u64, durable_through: u64, kind: u16, bytes in prop::collection::vec(any::<u8>(), 0..64), place: prop::sample::Index, bit in 0..8u8,
        ) {
            let entry = Entry { seq, durable_through, kind: Kind(kind), bytes: &bytes };
            let mut written = Vec::new();
            entry.write_to(&mut written);
            prop_assert_eq!(written.len() % ALIGN, 0);
            prop_assert_eq!(Entry::read(&written), Some((entry, written.len())));
            let held = HEAD + bytes.len();
            for short in 0..held {
                prop_assert_eq!(Entry::read(&written[..short]), None);
            }
            let place = place.index(held);
            // The two zero bytes are in the checksum as well.
            written[place] ^= 1 << bit;
            prop_assert_eq!(Entry::read(&written), None);
        }
    }

    #[test]
    fn what_claims_to_be_endless_is_none() {
        let mut written = Vec::new();
        Entry { seq: 1, durable_through: 0, kind: Kind::END, bytes: b"x" }.write_to(&mut written);
        written[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Entry::read(&written), None);
    }
}
