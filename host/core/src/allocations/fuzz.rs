//! A journal's bytes, with the right checksums: what is changed in a file is found out before anything of it is read.

use super::journal;

/// One entry of a journal.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// The kind of entry.
    pub kind: u16,
    /// Its place.
    pub seq: u64,
    /// What was on the disk by then.
    pub durable_through: u64,
    /// What it holds: JSON.
    pub text: &'a [u8],
}

/// A file of a journal with these entries.
#[must_use]
pub fn journal(lines: &[Line<'_>]) -> Vec<u8> {
    lines.iter().fold(Vec::new(), |mut file, line| {
        journal::write_entry(line.kind, line.seq, line.durable_through, line.text, &mut file);
        file
    })
}
