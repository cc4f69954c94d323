//! A package of WIT as an artifact, which wkg and languages' tools fetch by its name.

use crate::registry::About;
use anyhow::Context;
use devgate::exit;
use devgate_types::escape;
use std::path::Path;
use wit_parser::Resolve;

/// How much of a foreign text is shown.
const SHOWN: usize = 500;

/// The package in a directory, with those of its `deps`, encoded; and what is said of it.
///
/// # Errors
/// Where the directory holds none.
pub(super) fn package(directory: &Path) -> anyhow::Result<(Vec<u8>, About)> {
    let mut resolve = Resolve::default();
    let none = |why: &str| {
        let message =
            format!("{}: is no package of WIT; nothing was pushed: {}", directory.display(), escape(why, SHOWN));
        exit::with_code(exit::FOUND, message)
    };
    let (id, _) = resolve.push_path(directory).map_err(|why| none(&format!("{why:#}")))?;
    let bytes = wit_component::encode(&resolve, id).map_err(|why| none(&format!("{why:#}")))?;
    let package = resolve.packages.get(id).context("a package that was read")?;
    let names = package.interfaces.keys().chain(package.worlds.keys());
    let title =
        ("org.opencontainers.image.title".to_owned(), format!("{}:{}", package.name.namespace, package.name.name));
    let version = package.name.version.as_ref();
    let version = version.map(|version| ("org.opencontainers.image.version".to_owned(), version.to_string()));
    let about = About {
        imports: Vec::new(),
        exports: names.map(|name| package.name.interface_id(name)).collect(),
        author: None,
        annotations: std::iter::once(title).chain(version).collect(),
    };
    Ok((bytes, about))
}
