//! What describes a component, in the sections that other tools read, and registries show as OCI annotations.

use crate::cli::AboutArgs;
use anyhow::Context;
use devgate::exit;
use wasm_metadata::{
    AddMetadata, AddMetadataField, Authors, Description, Homepage, Licenses, Revision, Source, Version,
};
use wasmparser::BinaryReader;

/// The component with what is given; what is not stays as it is.
pub(super) fn describe(about: &AboutArgs, component: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut add = AddMetadata::default();
    add.name = set(about.name.clone());
    add.version = set(about.version.clone().map(Version::new));
    let spdx = "--licence must be an SPDX expression such as \"Apache-2.0 OR MIT\"";
    add.licenses = set(parsed(about.licence.as_deref(), spdx, Licenses::new)?);
    add.source = set(parsed(about.source.as_deref(), "--source must be a URL", Source::new)?);
    add.homepage = set(parsed(about.homepage.as_deref(), "--homepage must be a URL", Homepage::new)?);
    add.revision = set(about.revision.clone().map(Revision::new));
    add.description = set(about.description.clone().map(Description::new));
    add.authors = set(about.authors.clone().map(Authors::new));
    add.processed_by = vec![("devgate".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
    let given = [
        ("version", about.version.is_some()),
        ("licenses", about.licence.is_some()),
        ("source", about.source.is_some()),
        ("homepage", about.homepage.is_some()),
        ("revision", about.revision.is_some()),
        ("description", about.description.is_some()),
        ("authors", about.authors.is_some()),
    ];
    let replaced: Vec<_> = given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    let component = without(component, &replaced).context("is damaged")?;
    let described = add.to_wasm(&component);
    described.map_err(|error| anyhow::anyhow!("{}", devgate_types::escape(&format!("{error:#}"), 400)))
}

fn set<T: std::fmt::Debug + Clone>(value: Option<T>) -> AddMetadataField<T> {
    value.map_or(AddMetadataField::Keep, AddMetadataField::Set)
}

/// One that has a form.
fn parsed<T>(text: Option<&str>, form: &str, parse: fn(&str) -> anyhow::Result<T>) -> anyhow::Result<Option<T>> {
    let parse = |text| parse(text).map_err(|_| exit::with_code(exit::USAGE, format!("{form}, not {text:?}")));
    text.map(parse).transpose()
}

/// A component without the custom sections of these names at its outermost level: a new one would stand beside the old one.
pub(super) fn without(component: &[u8], names: &[&str]) -> anyhow::Result<Vec<u8>> {
    const HEADER: usize = 8;
    let mut reader = BinaryReader::new(component, 0);
    let mut kept = reader.read_bytes(HEADER)?.to_vec();
    while !reader.eof() {
        let start = reader.current_position();
        let id = reader.read_u8()?;
        let size = usize::try_from(reader.read_var_u32()?)?;
        let inside = reader.read_bytes(size)?;
        let named = id == 0 && names.contains(&BinaryReader::new(inside, 0).read_string()?);
        if !named {
            kept.extend(component.get(start..reader.current_position()).unwrap_or_default());
        }
    }
    Ok(kept)
}
