//! What it does wrong.

use devgate_sdk::{Device, Error, ErrorKind, Node, config, files, hardware, state};

/// Whether the configuration names this fault.
pub(crate) fn has(fault: &str) -> bool {
    config::json().contains(&format!("\"{fault}\""))
}

/// Whether it is to break on this kind of answer.
fn breaks_on(kind: &str) -> bool {
    has(&format!("breaks-on-{kind}"))
}

/// Breaks on the answer that the fault names.
pub(crate) fn fails_on(text: Result<String, Error>) -> Result<String, Error> {
    let kind = match &text {
        Err(error) => match error.kind {
            ErrorKind::NotFound => "missing",
            ErrorKind::Io => "unreadable",
            ErrorKind::Denied => "denied",
            ErrorKind::Gone => "gone",
            _ => "binary",
        },
        Ok(text) if text.is_empty() => "empty",
        Ok(text) if text.len() > 3_000 => "long",
        Ok(text) if text.contains("340282366") => "huge",
        Ok(text) if text.starts_with('-') => "negative",
        Ok(text) if text.contains('\u{1b}') => "control",
        Ok(text) if text.contains('é') => "multibyte",
        Ok(text) if text == "?" => "cut",
        Ok(text) if text == ":" => "separators",
        Ok(_) => return text,
    };
    if breaks_on(kind) {
        panic!("did not expect this");
    }
    text
}

pub(crate) fn link(link: Result<String, Error>) -> Option<String> {
    if breaks_on("links") && link.is_err() {
        panic!("no link");
    }
    link.ok()
}

pub(crate) fn entries(entries: Result<Vec<String>, Error>) -> Vec<String> {
    if breaks_on("entries") && entries.is_err() {
        panic!("no directory");
    }
    entries.unwrap_or_default()
}

pub(crate) fn nodes(nodes: Result<Vec<Node>, Error>) -> Result<Vec<Node>, Error> {
    if breaks_on("parts") && nodes.is_err() {
        panic!("no nodes");
    }
    nodes
}

pub(crate) fn devices(devices: Result<Vec<Device>, Error>) -> Result<Vec<Device>, Error> {
    if breaks_on("places") && devices.is_err() {
        panic!("no devices");
    }
    devices
}

/// An error as the fault words it.
pub(crate) fn worded(error: Error) -> Error {
    if has("says-nothing") {
        return Error::other("", "");
    }
    if has("says-busy") {
        return Error::busy("try again");
    }
    error
}

/// Something to tell ids apart by that are another each time the number of racks changes.
pub(crate) fn generation(racks: usize) -> Result<String, Error> {
    let known = state::load().unwrap_or_default();
    if !has("ids-by-generation") {
        if has("needs-enumerate-first") {
            state::store(b"enumerated")?;
        }
        return Ok(String::new());
    }
    let now = u8::try_from(racks).unwrap_or(u8::MAX);
    let changes = match known.as_slice() {
        [before, changes] if *before == now => *changes,
        [_, changes] => changes.wrapping_add(1),
        _ => 0,
    };
    state::store(&[now, changes])?;
    Ok(if changes == 0 { String::new() } else { format!("-{changes}") })
}

/// How often it was called.
pub(crate) fn counted() -> Result<Option<String>, Error> {
    if !has("counts") {
        return Ok(None);
    }
    let count = state::load()?.first().copied().unwrap_or(0).wrapping_add(1);
    state::store(&[count])?;
    Ok(Some(count.to_string()))
}

/// Counts a look at its health.
pub(crate) fn looked() -> Result<(), Error> {
    if has("examines-anew") {
        state::store(&[looks()?.wrapping_add(1)])?;
    }
    Ok(())
}

/// How many looks there were.
pub(crate) fn looks() -> Result<u8, Error> {
    Ok(state::load()?.first().copied().unwrap_or(0))
}

pub(crate) fn remember(what: &str) {
    if has("never-forgets") {
        let _stored = state::store(what.as_bytes());
    }
}

pub(crate) fn remembered() -> Option<String> {
    let known = if has("never-forgets") { state::load().ok()? } else { Vec::new() };
    (!known.is_empty()).then(|| "it was ill before".to_owned())
}

/// Uses up what the fault names: more than half of what the policy gives.
pub(crate) fn waste() -> Result<(), Error> {
    if has("asks-for-shadow") {
        let _refused = files::text("/etc/shadow");
    }
    if has("wastes-memory") {
        let hoard = vec![1_u8; 9 << 20];
        core::hint::black_box(&hoard);
    }
    let Some(rack) = hardware::devices("rack").unwrap_or_default().into_iter().next() else {
        return Ok(());
    };
    if has("wastes-host-calls") {
        for _ in 0..7_000 {
            let _name = rack.name();
        }
    }
    if has("wastes-handles") {
        let hoard: Vec<_> = (0..800).map(|_| rack.duplicate()).collect();
        core::hint::black_box(&hoard);
    }
    if has("wastes-transfer") {
        let path = "x".repeat(4_000);
        for _ in 0..200 {
            let _missing = rack.attribute(&path);
        }
    }
    if has("wastes-reading") {
        for _ in 0..45 {
            let _blob = files::read("/proc/misfit/blob/information", 0, 1 << 16);
        }
    }
    Ok(())
}
