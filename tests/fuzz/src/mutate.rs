//! Changes of inputs, the same for the same seed.

mod proto;

use fastrand::Rng;

/// What an input is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Anything.
    Bytes,
    /// Words and lines.
    Text,
    /// So many bytes, and a message of protobuf.
    Message(usize),
    /// So many bytes, and messages of protobuf, each behind its length in four bytes, the least first.
    Frames(usize),
}

/// The longest input that is made.
const LONGEST: usize = 256 << 10;

/// Values that programs count wrong with.
const NUMBERS: [u64; 12] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Pieces that readers of text treat in ways of their own.
const WORDS: [&str; 40] = [
    "\0",
    "\n",
    "\r\n",
    "\t",
    "\u{1b}[2J",
    "\u{202e}",
    "\u{feff}",
    "é",
    "漢",
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ":",
    ": ",
    ",",
    "- ",
    "#",
    "*",
    "&a",
    "<<: ",
    "~",
    "null",
    "true",
    "-1",
    "0",
    "1e999",
    "18446744073709551616",
    "0x",
    "{id}",
    "{ids}",
    "../",
    "/",
    "/dev/",
    "(a|b)*",
    "[^",
    "\\u0000",
];

/// Another input like these two.
#[must_use]
pub fn change(form: Form, one: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let parts = |input: &'_ [u8], before: usize| {
        let (head, rest) = input.split_at(before.min(input.len()));
        (head.to_vec(), rest.to_vec())
    };
    let mut input = match form {
        Form::Message(before) if rng.u8(..) > 40 => {
            let (head, rest) = parts(one, before);
            [head, proto::message(&rest, rng)].concat()
        }
        Form::Frames(before) if rng.u8(..) > 40 => {
            let ((head, rest), (_, other)) = (parts(one, before), parts(other, before));
            [head, proto::frames(&rest, &other, rng)].concat()
        }
        _ => one.to_vec(),
    };
    let structured = input != one;
    for _ in 0..rng.u32(u32::from(!structured)..4) {
        step(form, &mut input, other, rng);
    }
    input.truncate(LONGEST);
    input
}

fn step(form: Form, input: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let is_text = form == Form::Text;
    match rng.u8(..8) {
        0 if !input.is_empty() => {
            let at = rng.usize(..input.len());
            input[at] ^= 1 << rng.u8(..8);
        }
        1 => {
            let at = rng.usize(..=input.len());
            input.truncate(at);
        }
        2 if is_text => replace(input, rng.choice(WORDS).unwrap_or_default().as_bytes(), 0, rng),
        2 => {
            let number = NUMBERS[rng.usize(..NUMBERS.len())].to_le_bytes();
            let size = [1, 2, 4, 8][rng.usize(..4)];
            replace(input, &number[..size], size, rng);
        }
        3 => {
            let piece = piece(other, rng).to_vec();
            let over = rng.usize(..=piece.len());
            replace(input, &piece, over, rng);
        }
        4 => {
            let piece = piece(input, rng).to_vec();
            let times = [1, 2, 100][rng.usize(..3)];
            replace(input, &piece.repeat(times), 0, rng);
        }
        5 => {
            let gone = piece(input, rng).len();
            replace(input, &[], gone, rng);
        }
        // A number that is written out.
        6 if is_text => {
            let number = NUMBERS[rng.usize(..NUMBERS.len())].to_string();
            let digits = input.iter().position(u8::is_ascii_digit);
            if let Some(at) = digits {
                let end = input[at..].iter().position(|b| !b.is_ascii_digit());
                let end = end.map_or(input.len(), |length| at + length);
                input.splice(at..end, number.into_bytes());
            }
        }
        _ => replace(input, &[rng.u8(..)], 1, rng),
    }
}

/// Some bytes in a row, seldom many.
fn piece<'a>(of: &'a [u8], rng: &mut Rng) -> &'a [u8] {
    let from = rng.usize(..=of.len());
    let most = (of.len() - from).min(1 << rng.u8(..10));
    &of[from..from + rng.usize(..=most)]
}

/// Puts bytes in the place of `over` others.
fn replace(input: &mut Vec<u8>, with: &[u8], over: usize, rng: &mut Rng) {
    let at = rng.usize(..=input.len());
    let end = (at + over).min(input.len());
    input.splice(at..end, with.iter().copied());
}
