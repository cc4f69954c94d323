//! What a component is made of, read without compiling it, against what it may be.

use super::error::Refusal;
use super::parts::Parts;
use crate::brief::message;
use devgate_types::{ByteSize, GuestText, Limits};
use std::collections::BTreeSet;
use wasmparser::component_types::ComponentEntityType;
use wasmparser::{BinaryReaderError, Parser, Payload, Validator, WasmFeatures};

/// Names that a component imports or exports. A real one has some dozens; each is looked up, kept and shown.
const NAMES: usize = 1_000;
/// Components within components.
const DEPTH: usize = 8;

/// What was found at the component's outermost level.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) imports: Vec<String>,
    /// Those that name types for others and have nothing to call.
    pub(super) types_alone: BTreeSet<String>,
    pub(super) exports: Vec<String>,
    pub(super) counts: Counts,
}

/// How much of what a component has, all that is nested in it counted: what `limits:` of the policy bounds before anything
/// is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Functions (`limits.functions`).
    pub functions: u32,
    /// The largest function's code (`limits.function-size`).
    pub function_size: ByteSize,
    /// Linear memories (`limits.memories`).
    pub memories: u32,
    /// What all of them together start with (`limits.memory`); a call usually needs more.
    pub memory: ByteSize,
    /// Tables (`limits.tables`).
    pub tables: u32,
    /// What the largest of them starts with (`limits.table-elements`).
    pub table_elements: u64,
    /// Core instances, each as often as it is made (`limits.instances`).
    pub instances: u32,
}

impl Scan {
    /// Reads all of `bytes`, nested modules and components included, and validates them.
    pub(super) fn of(bytes: &[u8], limits: &Limits) -> Result<Self, Refusal> {
        let mut scan = Self::default();
        let mut parts = Parts::new();
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.map_err(invalid)?;
            parts.add(&payload, limits.instances)?;
            match payload {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                    depth += 1;
                    at_most("components within components", depth, DEPTH, None)?;
                }
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    let names = scan.imports.len().saturating_add(count(section.count()));
                    at_most("imports", names, NAMES, None)?;
                    for import in section {
                        scan.imports.push(import.map_err(invalid)?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    let names = scan.exports.len().saturating_add(count(section.count()));
                    at_most("exports", names, NAMES, None)?;
                    for export in section {
                        scan.exports.push(export.map_err(invalid)?.name.name.to_owned());
                    }
                }
                payload => scan.counts.add(payload, limits)?,
            }
        }
        // After the counts: this takes time in proportion to what has been counted.
        let types = Validator::new_with_features(features())
            .validate_all(bytes)
            .map_err(invalid)?;
        scan.counts.instances = parts.together(limits.instances)?.core_instances;
        let is_type = |entity: &ComponentEntityType| matches!(entity, ComponentEntityType::Type { .. });
        for name in &scan.imports {
            if let Some(item) = types.component_item_for_import(name)
                && let ComponentEntityType::Instance(id) = item.ty
                && types
                    .as_ref()
                    .get(id)
                    .is_some_and(|instance| instance.exports.values().all(|export| is_type(&export.ty)))
            {
                scan.types_alone.insert(name.clone());
            }
        }
        Ok(scan)
    }
}

impl Counts {
    fn add(&mut self, payload: Payload<'_>, limits: &Limits) -> Result<(), Refusal> {
        match payload {
            Payload::FunctionSection(section) => {
                self.functions = self.functions.saturating_add(section.count());
                at_most("functions", self.functions, limits.functions, Some("limits.functions"))
            }
            Payload::CodeSectionEntry(body) => {
                let size = ByteSize(u64::try_from(body.range().len()).unwrap_or(u64::MAX));
                if size > limits.function_size {
                    return Err(Refusal::Limit {
                        what: format!("component has a function of {} bytes", size.0),
                        most: limits.function_size.to_string(),
                        key: Some("limits.function-size"),
                    });
                }
                self.function_size = self.function_size.max(size);
                Ok(())
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    self.memories = self.memories.saturating_add(1);
                    at_most("memories", self.memories, limits.memories, Some("limits.memories"))?;
                    let pages = memory.map_err(invalid)?.initial;
                    self.memory = ByteSize(self.memory.0.saturating_add(pages.saturating_mul(65_536)));
                    self.check_memory(limits)?;
                }
                Ok(())
            }
            Payload::TableSection(section) => {
                for table in section {
                    self.tables = self.tables.saturating_add(1);
                    at_most("tables", self.tables, limits.tables, Some("limits.tables"))?;
                    let elements = table.map_err(invalid)?.ty.initial;
                    at_most(
                        "table elements",
                        elements,
                        limits.table_elements.into(),
                        Some("limits.table-elements"),
                    )?;
                    self.table_elements = self.table_elements.max(elements);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// All memories together. Imported ones are another module's, which has them counted.
    fn check_memory(&self, limits: &Limits) -> Result<(), Refusal> {
        if self.memory <= limits.memory {
            return Ok(());
        }
        Err(Refusal::Limit {
            what: format!("component starts with {} of memory", self.memory),
            most: limits.memory.to_string(),
            key: Some("limits.memory"),
        })
    }
}

fn count(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

pub(super) fn at_most<N: PartialOrd + std::fmt::Display>(
    what: &str,
    found: N,
    most: N,
    key: Option<&'static str>,
) -> Result<(), Refusal> {
    if found <= most {
        return Ok(());
    }
    Err(Refusal::Limit {
        what: format!("component has {found} {what}"),
        most: most.to_string(),
        key,
    })
}

/// What compilers for components emit today, and nothing that wasmtime is configured without. It is configured with more than one
/// memory in a module, for its own modules; a vendor's may have one.
fn features() -> WasmFeatures {
    WasmFeatures::WASM2.difference(WasmFeatures::GC_TYPES)
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::COMPONENT_MODEL
}

pub(super) fn invalid(error: BinaryReaderError) -> Refusal {
    Refusal::Invalid(GuestText::new(&message(error)))
}
