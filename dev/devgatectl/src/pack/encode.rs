//! A core module as a component: what `wasm-tools component new` does, for the contract of this host.

use super::preview1;
use anyhow::{Context, bail, ensure};
use devgate_types::escape;
use std::collections::BTreeSet;
use std::path::Path;
use wasmparser::{Encoding, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// How the sections start in which bindings' generators put a module's world.
const WORLD_SECTION: &str = "component-type";

/// How the names of functions start that a module exports of the contract's interfaces: `devgate:plugin/lifecycle@0.1.0#prepare`.
const CONTRACT: &str = "devgate:plugin/";

/// A component.
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    /// What it was made of: `module` or `component`.
    pub(super) kind: &'static str,
    pub(super) adapter: bool,
    pub(super) notes: Vec<String>,
}

/// Makes a component of a core module; a component is one already.
pub(super) fn component(bytes: &[u8], wit: Option<&Path>, world: Option<&str>) -> anyhow::Result<Encoded> {
    let module = match Module::read(bytes)? {
        Some(module) => module,
        None => {
            ensure!(wit.is_none(), "is a component already, which has its world in itself: leave out --wit");
            return Ok(Encoded { bytes: bytes.to_vec(), kind: "component", adapter: false, notes: Vec::new() });
        }
    };
    let mut embedded = bytes.to_vec();
    match wit {
        Some(wit) => embed(&mut embedded, &module, wit, world)?,
        None if !module.has_world && module.wasi => bail!(
            "is a core module for WASI preview 1 that says no world: build it with the contract's bindings, as a project of \
             `devgatectl new` is"
        ),
        None => ensure!(
            module.has_world,
            "is a core module that does not say which world it is of: give --wit DIR and --world NAME, or link what the \
             bindings' generator made for it (for C, the object file `*_component_type.o`)"
        ),
    }
    let mut encoder = ComponentEncoder::default().validate(true).module(&embedded).map_err(told)?;
    if module.wasi {
        encoder = encoder.adapter(preview1::NAME, &preview1::adapter()?).map_err(told)?;
    }
    Ok(Encoded {
        bytes: encoder.encode().map_err(lacking)?,
        kind: "module",
        adapter: module.wasi,
        notes: module.notes(),
    })
}

/// What there is to know of a core module before it is encoded.
#[derive(Default)]
struct Module {
    has_world: bool,
    wasi: bool,
    is_program: bool,
    /// The interfaces of the contract that it has functions of.
    interfaces: BTreeSet<String>,
}

impl Module {
    /// Nothing for a component.
    fn read(bytes: &[u8]) -> anyhow::Result<Option<Self>> {
        if !bytes.starts_with(b"\0asm") {
            let text = bytes.trim_ascii_start();
            let text = text.starts_with(b"(module") || text.starts_with(b"(component") || text.starts_with(b";;");
            ensure!(!text, "is WebAssembly as text; run `wasm-tools parse` on it first");
            bail!("is not WebAssembly");
        }
        let mut module = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(|error| anyhow::anyhow!("is damaged: {}", escape(&error.to_string(), 200)))? {
                Payload::Version { encoding: Encoding::Component, .. } => return Ok(None),
                Payload::CustomSection(section) => {
                    module.has_world |= section.name().starts_with(WORLD_SECTION);
                }
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        module.wasi |= import.context("is damaged")?.module == preview1::NAME;
                    }
                }
                Payload::ExportSection(exports) => {
                    for export in exports {
                        let name = export.context("is damaged")?.name;
                        module.is_program |= name == "_start";
                        if let Some((interface, _)) = name.split_once('#').filter(|_| name.starts_with(CONTRACT)) {
                            module.interfaces.insert(interface.to_owned());
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(Some(module))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.wasi {
            notes.push(
                "the module imports wasi_snapshot_preview1, which is answered within the component: a clock that only counts, \
                 the same random numbers in every call, standard output and error in the log, no file"
                    .to_owned(),
            );
        }
        if self.is_program {
            notes.push(
                "the module exports _start and was linked as a program: its main is never called, nor what its language does \
                 before; link it as a reactor (clang and TinyGo: -mexec-model=reactor, -buildmode=c-shared)"
                    .to_owned(),
            );
        }
        notes
    }
}

/// Puts the world into the module, and besides it what the module exports of the contract: left out because the world does not say
/// it, a `lifecycle` would be missed by nobody until a unit is given away unprepared.
fn embed(bytes: &mut Vec<u8>, module: &Module, wit: &Path, world: Option<&str>) -> anyhow::Result<()> {
    let shown = escape(&wit.to_string_lossy(), 256);
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit).map_err(told).with_context(|| format!("--wit {shown}"))?;
    let there = resolve.packages.get(package).into_iter().flat_map(|package| package.worlds.keys());
    let there = there.map(|name| escape(name, 80)).collect::<Vec<_>>().join(", ");
    let world = match (resolve.select_world(&[package], world), world) {
        (Ok(world), _) => world,
        (Err(_), Some(name)) => bail!("--wit {shown} has no world {}, but {there}", escape(name, 80)),
        (Err(_), None) => bail!("--wit {shown} has several worlds, give --world with one of them: {there}"),
    };
    embed_component_metadata(bytes, &resolve, world, StringEncoding::UTF8).map_err(told)?;
    let exports: String = module.interfaces.iter().map(|interface| format!("export {interface};")).collect();
    let exports = format!("package devgatectl:pack; world exports {{ {exports} }}");
    let package = resolve.push_str("exports.wit", &exports).map_err(told);
    let package = package.with_context(|| format!("--wit {shown} has not all that the module exports"))?;
    let world = resolve.select_world(&[package], None).map_err(told)?;
    embed_component_metadata(bytes, &resolve, world, StringEncoding::UTF8).map_err(told)
}

/// An error as [`told`] has it; where the world lacks an interface of the contract that the module calls, with what to write there.
fn lacking(error: impl Into<anyhow::Error>) -> anyhow::Error {
    let error = told(error);
    let text = error.to_string();
    let rest = text.split("requires an import interface named ").nth(1);
    match rest.and_then(|rest| rest.split(['`', '\'']).nth(1)).filter(|name| name.starts_with(CONTRACT)) {
        Some(name) => {
            let hint = format!("its world lacks {name}, which it calls: add `import {name};` to it");
            error.context(hint)
        }
        None => error,
    }
}

/// An error with its causes, from text that a file may have made.
fn told(error: impl Into<anyhow::Error>) -> anyhow::Error {
    let text = format!("{:#}", error.into());
    let lines = text.lines().map(|line| escape(line, 400));
    anyhow::anyhow!("{}", lines.take(12).collect::<Vec<_>>().join("\n  "))
}
