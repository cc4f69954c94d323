//! devgate's own journal: a disk that went wrong, or a host of another version.

use super::dir;
use crate::hold;
use devgate_core::fuzz::{self, Line};
use devgate_core::{Allocations, Recorded, accept, forget};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What is written where lines are one file and the next.
const NEXT: &[u8] = b"--";

/// What can be read of a journal is what it says, before and after it was written anew; and nobody is given what it does not know.
///
/// The first file is the snapshot, the others are segments. A file is bytes as they lie on the disk, or lines: an entry's kind, its
/// place, what was durable, and what it holds.
pub fn journal(input: &[u8]) {
    let dir = dir();
    let files: Vec<Vec<u8>> = if input.starts_with(b"dgj1") {
        vec![input.to_vec(), fuzz::journal(&[header(1)])]
    } else {
        input.split(|b| *b == b'\n').collect::<Vec<_>>().split(|line| *line == NEXT).map(file).collect()
    };
    write(dir.path(), &files);
    let before = Recorded::read(dir.path()).unwrap();
    let listed: Vec<_> = before.allocations().collect();
    if let Some(why) = &before.incomplete {
        hold::message(why);
    }
    let json = before.to_json().unwrap();
    let memory = Allocations::open(dir.path()).unwrap();
    drop(memory);
    match accept(dir.path()) {
        Err(why) => hold::message(&why.to_string()),
        Ok(_) => {
            let after = Recorded::read(dir.path()).unwrap();
            // What was whole is as it was; what was not is all that there is from now on.
            assert_eq!(after.incomplete, None);
            assert!(after.allocations().eq(listed.iter().cloned()), "allocations are lost");
            assert!(before.incomplete.is_some() || after.to_json().unwrap() == json, "units are lost");
            if let Some(one) = listed.first() {
                assert_eq!(forget(dir.path(), one.id).unwrap(), *one);
                let left = Recorded::read(dir.path()).unwrap();
                assert!(left.allocations().eq(listed.iter().skip(1).cloned()), "others are lost");
            }
        }
    }
}

fn header(seq: u64) -> Line<'static> {
    Line { kind: 1, seq, durable_through: 0, text: br#"{"format":1,"next":7}"# }
}

fn file(lines: &[&[u8]]) -> Vec<u8> {
    let lines: Vec<_> = lines.iter().filter_map(|line| entry(line)).collect();
    fuzz::journal(&lines)
}

fn entry(line: &[u8]) -> Option<Line<'_>> {
    let mut parts = line.splitn(4, |b| *b == b' ');
    let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse::<u64>().ok();
    Some(Line { kind: u16::try_from(number()?).ok()?, seq: number()?, durable_through: number()?, text: parts.next()? })
}

fn write(state: &Path, files: &[Vec<u8>]) {
    let dir = state.join("allocations");
    fs::create_dir(&dir).unwrap();
    for path in [state, &dir] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let names = ["snapshot.1".to_owned()].into_iter().chain((1..).map(|n| format!("journal.{n}")));
    for (bytes, name) in files.iter().zip(names) {
        fs::write(dir.join(name), bytes).unwrap();
    }
}
