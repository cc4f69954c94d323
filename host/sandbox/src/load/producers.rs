//! What a component says about the tools that made it: the custom sections `producers` of all its parts.

use devgate_model::GuestText;
use std::collections::BTreeSet;
use wasmparser::{CustomSectionReader, KnownCustom, ProducersField};

/// The most tools that are remembered. A real component names a dozen.
const MOST: usize = 64;

/// One tool or language, as the component says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Producer {
    /// What it did: `language`, `processed-by` or `sdk`.
    pub role: Role,
    /// Its name, such as `Rust`.
    pub name: String,
    /// Its version; may be empty.
    pub version: String,
}

/// What a tool did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A language that it was written in.
    Language,
    /// A tool that it went through.
    Tool,
    /// A kit that it was written with.
    Sdk,
}

/// All tools that were named, each once.
#[derive(Debug, Default)]
pub(super) struct Producers(BTreeSet<Producer>);

impl Producers {
    /// Takes in a custom section. One that is not about tools, or is damaged, says nothing: whoever made the component could as
    /// well have left it out.
    pub(super) fn add(&mut self, section: &CustomSectionReader<'_>) {
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
            if self.0.len() == MOST {
                return;
            }
            let text = |text| GuestText::new(text).as_str().to_owned();
            self.0.insert(Producer {
                role,
                name: text(value.name),
                version: text(value.version),
            });
        }
    }

    /// All of them, languages first, then by name.
    pub(super) fn into_vec(self) -> Vec<Producer> {
        self.0.into_iter().collect()
    }
}
