//! What a look at a component's file found.

use super::{Nonsense, wire};
use devgate_types::ByteSize;
use devgate_types::load::{Counts, Scan};
use prost::Message;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use std::collections::BTreeSet;

/// Names that a component imports or exports, as the sandbox counts them.
const NAMES: usize = 1_000;
/// What a scan has at most: names of both kinds, two bytes for each in a list of some of them, and numbers.
const VALUES: usize = 6 * NAMES + 16;

impl wire::Made {
    /// What a compiler says, who is not believed: a message that has more values than any scan is not decoded, because a name of two
    /// bytes takes many times as many here.
    pub(crate) fn read(message: &[u8]) -> Result<Self, Nonsense> {
        if values(message).ok_or(Nonsense("not a message"))? > VALUES {
            return Err(Nonsense("too many names"));
        }
        Self::decode(message).map_err(|_| Nonsense("not a message"))
    }
}

/// How many values the messages in a message have, each byte of a packed list for one.
fn values(mut message: &[u8]) -> Option<usize> {
    let mut values = 0_usize;
    while !message.is_empty() {
        let (_, mut inner) = field(&mut message)?;
        while !inner.is_empty() {
            let (number, bytes) = field(&mut inner)?;
            let is_packed = [TYPES_ALONE, OPTIONAL].contains(&number);
            values = values.checked_add(if is_packed { bytes.len().max(1) } else { 1 })?;
        }
    }
    Some(values)
}

/// The numbers of `types_alone` and `optional` in a scan.
const TYPES_ALONE: u32 = 2;
const OPTIONAL: u32 = 11;

/// The next field: its number, and what it has in it, if that is a text, a list or a message.
fn field<'a>(message: &mut &'a [u8]) -> Option<(u32, &'a [u8])> {
    let (number, kind) = decode_key(message).ok()?;
    if kind != WireType::LengthDelimited {
        skip_field(kind, number, message, DecodeContext::default()).ok()?;
        return Some((number, &[]));
    }
    let length = usize::try_from(decode_varint(message).ok()?).ok()?;
    let (inner, rest) = message.split_at_checked(length)?;
    *message = rest;
    Some((number, inner))
}

impl From<Scan> for wire::Scan {
    fn from(scan: Scan) -> Self {
        let indices = |of: &BTreeSet<String>| {
            let numbered = (0..).zip(&scan.imports).filter(|(_, name)| of.contains(*name));
            numbered.map(|(index, _)| index).collect()
        };
        let counts = scan.counts;
        Self {
            types_alone: indices(&scan.types_alone),
            optional: indices(&scan.optional),
            imports: scan.imports,
            exports: scan.exports,
            functions: counts.functions,
            function_size: counts.function_size.0,
            memories: counts.memories,
            memory: counts.memory.0,
            tables: counts.tables,
            table_elements: counts.table_elements,
            instances: counts.instances,
        }
    }
}

impl wire::Scan {
    /// What it says, of a compiler that is not believed: no more names than a component may have.
    pub(crate) fn read(self) -> Result<Scan, Nonsense> {
        let scan = self;
        if scan.imports.len() > NAMES || scan.exports.len() > NAMES {
            return Err(Nonsense("too many names"));
        }
        let names = |indices: Vec<u32>| -> BTreeSet<String> {
            let indices: BTreeSet<u32> = indices.into_iter().collect();
            let name = |index: &u32| scan.imports.get(usize::try_from(*index).ok()?).cloned();
            indices.iter().filter_map(name).collect()
        };
        Ok(Scan {
            types_alone: names(scan.types_alone),
            optional: names(scan.optional),
            counts: Counts {
                functions: scan.functions,
                function_size: ByteSize(scan.function_size),
                memories: scan.memories,
                memory: ByteSize(scan.memory),
                tables: scan.tables,
                table_elements: scan.table_elements,
                instances: scan.instances,
            },
            imports: scan.imports,
            exports: scan.exports,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_arrives_as_it_was_sent() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let scan = Scan {
            imports: names(&["a:b/c", "d:e/f", "g:h/i"]),
            types_alone: names(&["d:e/f"]).into_iter().collect(),
            optional: names(&["a:b/c", "g:h/i"]).into_iter().collect(),
            exports: names(&["j"]),
            counts: Counts {
                functions: 1,
                function_size: ByteSize(2),
                memories: 3,
                memory: ByteSize(4),
                tables: 5,
                table_elements: 6,
                instances: 7,
            },
        };
        assert_eq!(wire::Scan::from(scan.clone()).read(), Ok(scan));
        let odd = wire::Scan {
            imports: vec!["x".repeat(512 << 10)],
            types_alone: vec![0; 500_000],
            optional: vec![7, 0, 0],
            ..wire::Scan::default()
        };
        assert_eq!(odd.read().map(|scan| (scan.types_alone.len(), scan.optional.len())), Ok((1, 1)));
        let many = wire::Scan { exports: vec![String::new(); 500_000], ..wire::Scan::default() };
        assert!(many.read().is_err());
    }
}
