//! WASI preview 1 as a part of the component, so that nothing of WASI is imported: `preview1.wat`.

use anyhow::Context;
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The module that functions of preview 1 are imported from.
pub(super) const NAME: &str = "wasi_snapshot_preview1";

/// What it imports, as the contract has it.
const WIT: &str = "package devgate:plugin@0.1.0;
interface log {
    enum level { debug, info, warn, error }
    write: func(level: level, message: string);
}
world preview1 { import log; }";

/// The module with its world.
pub(super) fn adapter() -> anyhow::Result<Vec<u8>> {
    let mut module = include_bytes!(concat!(env!("OUT_DIR"), "/preview1.wasm")).to_vec();
    let mut resolve = Resolve::default();
    let package = resolve.push_str("preview1.wit", WIT).context("the stub of WASI preview 1")?;
    let world = resolve.select_world(&[package], None)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    Ok(module)
}
