//! What a component says about the tools that made it: the custom sections `producers` of all its parts, but for the adapters that
//! tools put into it. What those were written in says nothing of the component.

use devgate_types::GuestText;
use std::collections::BTreeSet;
use wasmparser::{CustomSectionReader, KnownCustom, Payload, ProducersField};

/// The most tools that are remembered. A real component names a dozen.
const MAX_TOOLS: usize = 64;

/// How an adapter is told from other modules: `wit-component`, which puts it between a module that wants WASI 0.1 and the host,
/// lets it call that module under the first name, and calls the second one (its `src/gc.rs` and `src/lib.rs`). No other module has
/// either.
const MAIN_MODULE: &str = "__main_module__";
const ADAPTERS_REALLOC: &str = "cabi_import_realloc";

/// One tool or language, as the component says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Producer {
    /// What it did: `language`, `processed-by` or `sdk`.
    pub(crate) role: Role,
    /// Its name, such as `Rust`.
    pub(crate) name: String,
    /// Its version; may be empty.
    pub(crate) version: String,
}

/// What a tool did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// A language that it was written in.
    Language,
    /// A tool that it went through.
    Tool,
    /// A kit that it was written with.
    Sdk,
}

/// All tools that were named, each once.
#[derive(Debug, Default)]
pub(super) struct Producers {
    all: Named,
    /// Those of the parts that are being read, one within the other.
    open: Vec<Part>,
}

#[derive(Debug, Default)]
struct Part {
    named: Named,
    is_adapter: bool,
}

#[derive(Debug, Default)]
struct Named(BTreeSet<Producer>);

impl Producers {
    /// Takes in what is read next.
    pub(super) fn add(&mut self, payload: &Payload<'_>) {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => self.open.push(Part::default()),
            Payload::End(_) => {
                if let Some(part) = self.open.pop().filter(|part| !part.is_adapter) {
                    part.named.0.into_iter().for_each(|producer| self.all.insert(producer));
                }
            }
            Payload::CustomSection(section) => match self.open.last_mut() {
                Some(part) => part.named.add(section),
                None => self.all.add(section),
            },
            Payload::ImportSection(section) => {
                let mut imports = section.clone().into_imports().map_while(Result::ok);
                let calls_main = imports.any(|import| import.module == MAIN_MODULE);
                self.is_adapter_if(calls_main);
            }
            Payload::ExportSection(section) => {
                let mut exports = section.clone().into_iter().map_while(Result::ok);
                let is_called = exports.any(|export| export.name == ADAPTERS_REALLOC);
                self.is_adapter_if(is_called);
            }
            _ => {}
        }
    }

    fn is_adapter_if(&mut self, so: bool) {
        if let Some(part) = self.open.last_mut() {
            part.is_adapter |= so;
        }
    }

    /// All of them, languages first, then by name.
    pub(super) fn into_vec(self) -> Vec<Producer> {
        self.all.0.into_iter().collect()
    }
}

impl Named {
    /// Takes in a custom section. One that is not about tools, or is damaged, says nothing: the component's author could as
    /// well have left it out.
    fn add(&mut self, section: &CustomSectionReader<'_>) {
        let KnownCustom::Producers(fields) = section.as_known() else {
            return;
        };
        for field in fields.into_iter().map_while(Result::ok) {
            self.add_field(field);
        }
    }

    fn add_field(&mut self, field: ProducersField<'_>) {
        let role = match field.name {
            "language" => Role::Language,
            "sdk" => Role::Sdk,
            _ => Role::Tool,
        };
        for value in field.values.into_iter().map_while(Result::ok) {
            let text = |text| GuestText::new(text).as_str().to_owned();
            self.insert(Producer { role, name: text(value.name), version: text(value.version) });
        }
    }

    fn insert(&mut self, producer: Producer) {
        if self.0.len() < MAX_TOOLS {
            self.0.insert(producer);
        }
    }
}
