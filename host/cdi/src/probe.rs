//! A device that does no harm, to see whether a runtime injects anything: one that does not says nothing of it.

use crate::spec::{Edits, Spec};

/// The file of `devgate.probe/probe=probe`, which sets one variable, by its name and content.
#[must_use]
pub fn probe() -> (&'static str, Vec<u8>) {
    let edits = Edits { env: vec!["DEVGATE_PROBE=works".to_owned()], ..Edits::default() };
    let spec = Spec::of_one("devgate.probe/probe", "probe", edits);
    ("probe-devgate.json", crate::files::text(&spec))
}
