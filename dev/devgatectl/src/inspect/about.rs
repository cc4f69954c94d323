//! What a component says of the tools that made it, and of itself. None of it is checked, and no host reads it.

mod described;
mod producers;

pub(super) use described::Described;
use producers::Producers;
pub(super) use producers::{Producer, Role};

use wasmparser::{Parser, Payload};

/// Reads what a file says that was found to be a component, as far as it can be read.
pub(super) fn about(bytes: &[u8]) -> (Vec<Producer>, Described) {
    let (mut producers, mut described, mut depth) = (Producers::default(), Described::default(), 0_usize);
    for payload in Parser::new(0).parse_all(bytes).map_while(Result::ok) {
        producers.add(&payload);
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 0 => described.add(&section),
            _ => {}
        }
    }
    (producers.into_vec(), described)
}

#[cfg(test)]
mod tests;
