//! What a component says of itself: the custom sections of its outermost level that registries show as OCI annotations, in the
//! form of the WebAssembly tool conventions, and its name.

use devgate_types::GuestText;
use wasmparser::{ComponentName, CustomSectionReader, KnownCustom};

/// What a component says of itself; none of it is checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Described {
    /// Its name.
    pub(crate) name: Option<GuestText>,
    /// Its version.
    pub(crate) version: Option<GuestText>,
    /// Its licences, an SPDX expression where it is right.
    pub(crate) licences: Option<GuestText>,
    /// Where its source code is.
    pub(crate) source: Option<GuestText>,
    /// Which state of that it was made from.
    pub(crate) revision: Option<GuestText>,
    /// Where to read about it.
    pub(crate) homepage: Option<GuestText>,
    /// What it does.
    pub(crate) description: Option<GuestText>,
    /// Who is responsible for it.
    pub(crate) authors: Option<GuestText>,
}

impl Described {
    /// Takes in a custom section of the outermost level. One that says something else, or is no text, says nothing.
    pub(super) fn add(&mut self, section: &CustomSectionReader<'_>) {
        if let KnownCustom::ComponentName(names) = section.as_known() {
            for name in names.into_iter().map_while(Result::ok) {
                if let ComponentName::Component { name, .. } = name {
                    self.name = Some(GuestText::new(name));
                }
            }
            return;
        }
        let field = match section.name() {
            "version" => &mut self.version,
            "licenses" => &mut self.licences,
            "source" => &mut self.source,
            "revision" => &mut self.revision,
            "homepage" => &mut self.homepage,
            "description" => &mut self.description,
            "authors" => &mut self.authors,
            _ => return,
        };
        *field = std::str::from_utf8(section.data()).ok().map(GuestText::new);
    }
}
