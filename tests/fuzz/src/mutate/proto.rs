//! Changes of messages of protobuf that leave them messages: their lengths are right again.

use super::NUMBERS;
use fastrand::Rng;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field};

/// The deepest message in a message.
const DEPTH: u32 = 8;

/// A field: its number, how it is written, and what.
#[derive(Clone)]
struct Field {
    number: u32,
    kind: WireType,
    /// The number itself, or the bytes without their length.
    value: Vec<u8>,
}

/// A message like this one.
pub(super) fn message(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    changed(bytes, DEPTH, rng).unwrap_or_else(|| bytes.to_vec())
}

/// Frames like these two: some of both, in another order, one of them changed.
pub(super) fn frames(one: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let (mut all, others) = (cut(one), cut(other));
    match rng.u8(..4) {
        0 if !all.is_empty() => {
            let again = all[rng.usize(..all.len())].clone();
            let times = [1, 3, 2_000][rng.usize(..3)];
            let at = rng.usize(..=all.len());
            all.splice(at..at, vec![again; times]);
        }
        1 if !all.is_empty() => drop(all.remove(rng.usize(..all.len()))),
        2 if !others.is_empty() => all.insert(rng.usize(..=all.len()), others[rng.usize(..others.len())].clone()),
        _ => {}
    }
    if !all.is_empty() {
        let at = rng.usize(..all.len());
        all[at] = message(&all[at], rng);
    }
    let frame = |frame: Vec<u8>| [&u32::try_from(frame.len()).unwrap().to_le_bytes()[..], &frame].concat();
    all.into_iter().flat_map(frame).collect()
}

fn cut(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_le_bytes(*head)).unwrap().min(rest.len());
        frames.push(rest[..length].to_vec());
        bytes = &rest[length..];
    }
    frames
}

fn changed(bytes: &[u8], depth: u32, rng: &mut Rng) -> Option<Vec<u8>> {
    let mut fields = read(bytes)?;
    if fields.is_empty() {
        fields.push(any(rng));
        return Some(write(&fields));
    }
    let at = rng.usize(..fields.len());
    match rng.u8(..10) {
        0 => drop(fields.remove(at)),
        1 => fields.insert(rng.usize(..=fields.len()), any(rng)),
        2 => {
            let times = [1, 2, 1_000][rng.usize(..3)];
            fields.splice(at..at, vec![fields[at].clone(); times]);
        }
        3 => fields[at].number = rng.u32(1..20),
        _ => value(&mut fields[at], depth, rng),
    }
    Some(write(&fields))
}

fn value(field: &mut Field, depth: u32, rng: &mut Rng) {
    match field.kind {
        WireType::LengthDelimited => {
            let inner = (depth > 0).then(|| changed(&field.value, depth - 1, rng)).flatten();
            field.value = match rng.u8(..6) {
                0 => vec![rng.u8(..); 1 << rng.u8(..17)],
                1 => b"\\\n\x1b".repeat(1 << rng.u8(..13)),
                2 => Vec::new(),
                _ => inner.unwrap_or_else(|| vec![b'a'; rng.usize(..64)]),
            };
        }
        WireType::Varint => field.value = varint(number(rng)),
        _ => field.value.fill(rng.u8(..)),
    }
}

fn any(rng: &mut Rng) -> Field {
    let kind = [WireType::Varint, WireType::LengthDelimited][rng.usize(..2)];
    Field {
        number: rng.u32(1..20),
        kind,
        value: match kind {
            WireType::Varint => varint(number(rng)),
            _ => vec![rng.u8(..); rng.usize(..40)],
        },
    }
}

fn number(rng: &mut Rng) -> u64 {
    match rng.bool() {
        true => rng.u64(..32),
        false => NUMBERS[rng.usize(..NUMBERS.len())],
    }
}

fn varint(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_varint(number, &mut bytes);
    bytes
}

fn read(mut bytes: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let (number, kind) = decode_key(&mut bytes).ok()?;
        let value = match kind {
            WireType::LengthDelimited => {
                let length = usize::try_from(decode_varint(&mut bytes).ok()?).ok()?;
                let (value, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                value
            }
            _ => {
                let whole = bytes;
                skip_field(kind, number, &mut bytes, DecodeContext::default()).ok()?;
                &whole[..whole.len() - bytes.len()]
            }
        };
        let value = value.to_vec();
        fields.push(Field { number, kind, value });
    }
    Some(fields)
}

fn write(fields: &[Field]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in fields {
        encode_key(field.number, field.kind, &mut bytes);
        if field.kind == WireType::LengthDelimited {
            encode_varint(u64::try_from(field.value.len()).unwrap(), &mut bytes);
        }
        bytes.extend(&field.value);
    }
    bytes
}
