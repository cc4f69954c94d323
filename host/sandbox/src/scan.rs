//! What a component is made of, read without compiling it, against what it may be.

use crate::brief::message;
use devgate_types::load::{Counts, OPTIONAL_SECTION, Refusal, Scan, optional};
use devgate_types::{ByteSize, GuestText, Limits};
use wasmparser::component_types::ComponentEntityType;
use wasmparser::{BinaryReaderError, Instance, Parser, Payload, Validator, WasmFeatures};

/// Names that a component imports or exports. A real one has some dozens; each is looked up, kept and shown.
const NAMES: usize = 1_000;
/// Components within components.
const DEPTH: usize = 8;

/// Reads all of a component, nested modules and components included, and validates it, as long as it is within these limits.
pub fn scan(bytes: &[u8], limits: &Limits) -> Result<Scan, Refusal> {
    let mut scan = Scan::default();
    let mut without = None;
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(invalid)?;
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                depth += 1;
                Refusal::above("components within components", depth, DEPTH, None)?;
            }
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                let names = scan.imports.len().saturating_add(count(section.count()));
                Refusal::above("imports", names, NAMES, None)?;
                for import in section {
                    scan.imports.push(import.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                let names = scan.exports.len().saturating_add(count(section.count()));
                Refusal::above("exports", names, NAMES, None)?;
                for export in section {
                    scan.exports.push(export.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) if depth == 0 && section.name() == OPTIONAL_SECTION => {
                if without.replace(section.data()).is_some() {
                    return Err(Refusal::Invalid(GuestText::new(&format!(
                        "section {OPTIONAL_SECTION} is there twice"
                    ))));
                }
            }
            payload => count_in(&mut scan.counts, payload, limits)?,
        }
    }
    // After the counts: this takes time in proportion to what has been counted.
    let types = Validator::new_with_features(features()).validate_all(bytes).map_err(invalid)?;
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
    if let Some(text) = without {
        scan.optional = optional(text, &scan.imports)?;
    }
    Ok(scan)
}

/// What is there so far: never more of it is looked at than the limits.
fn count_in(counts: &mut Counts, payload: Payload<'_>, limits: &Limits) -> Result<(), Refusal> {
    match payload {
        Payload::FunctionSection(section) => {
            counts.functions = counts.functions.saturating_add(section.count());
        }
        Payload::CodeSectionEntry(body) => {
            let size = ByteSize(u64::try_from(body.range().len()).unwrap_or(u64::MAX));
            counts.function_size = counts.function_size.max(size);
        }
        Payload::MemorySection(section) => {
            for memory in section {
                let pages = memory.map_err(invalid)?.initial;
                counts.memories = counts.memories.saturating_add(1);
                counts.memory = ByteSize(counts.memory.0.saturating_add(pages.saturating_mul(65_536)));
                counts.check(limits)?;
            }
        }
        Payload::TableSection(section) => {
            for table in section {
                let elements = table.map_err(invalid)?.ty.initial;
                counts.tables = counts.tables.saturating_add(1);
                counts.table_elements = counts.table_elements.max(elements);
                counts.check(limits)?;
            }
        }
        Payload::InstanceSection(section) => {
            for instance in section {
                if let Instance::Instantiate { .. } = instance.map_err(invalid)? {
                    counts.instances = counts.instances.saturating_add(1);
                    counts.check(limits)?;
                }
            }
        }
        _ => return Ok(()),
    }
    counts.check(limits)
}

fn count(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
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
