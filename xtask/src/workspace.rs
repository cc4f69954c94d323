//! Where things are.

use crate::process;
use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand};
use std::path::{Path, PathBuf};
use std::process::Command;
use walkdir::WalkDir;

/// The target that components are built for.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// Selects all crates, whatever of them is then built. Cargo turns on the features that the selected crates ask for, so that
/// another selection would be another build of wasmtime, which takes minutes.
pub(crate) const WHOLE: &str = "--workspace";

/// Builds programs as tests have them, and gives the folder that they are in. Of all crates: see [`WHOLE`].
pub(crate) fn built(programs: &[&str]) -> Result<PathBuf> {
    let named = programs.iter().flat_map(|name| ["--bin", name]);
    process::run(cargo().args(["build", "--locked", WHOLE]).args(named))?;
    Ok(target()?.join("debug"))
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let manifest = manifest.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).to_owned());
    manifest.parent().map_or(manifest.clone(), Path::to_owned)
}

/// The workspace of the components.
pub(crate) fn guests() -> PathBuf {
    root().join("guests")
}

/// Where cargo builds, as the environment and its configuration say.
pub(crate) fn target() -> Result<PathBuf> {
    Ok(metadata(&root())?.target_directory.into_std_path_buf())
}

/// What cargo knows of the workspace in a folder, without its dependencies.
pub(crate) fn metadata(folder: &Path) -> Result<Metadata> {
    ask(MetadataCommand::new().no_deps(), folder)
}

/// The same with all dependencies as locked, for one platform.
pub(crate) fn metadata_for(folder: &Path, platform: &str) -> Result<Metadata> {
    let options = ["--locked", "--filter-platform", platform].map(str::to_owned);
    ask(MetadataCommand::new().other_options(options), folder)
}

fn ask(command: &mut MetadataCommand, folder: &Path) -> Result<Metadata> {
    command.current_dir(folder).exec().with_context(|| format!("ask cargo about {}", folder.display()))
}

/// The cargo that runs this, in the repository's root.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // What cargo says of this program. Build scripts that look at such variables (ring's does) would be run again, and all that
    // depends on them compiled again, by every `cargo build` after a `cargo xtask` and the other way round.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|of| name.starts_with(of)) {
            command.env_remove(&*name);
        }
    }
    command
}

/// The files in a folder and in those in it, sorted, each by its path from there.
pub(crate) fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.with_context(|| format!("list {}", folder.display()))?;
        if !entry.file_type().is_dir() {
            files.push(entry.path().strip_prefix(folder)?.to_owned());
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a file, or a folder that it is in, is hidden: an editor's or a tool's own.
pub(crate) fn is_hidden(file: &Path) -> bool {
    file.iter().any(|part| part.as_encoded_bytes().starts_with(b"."))
}

/// Copies a file, and makes the folder that it goes to.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    let made = to.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::copy(from, to).map(drop))
        .with_context(|| format!("copy {} to {}", from.display(), to.display()))
}

/// The host's target, such as `x86_64-unknown-linux-gnu`.
pub(crate) fn host() -> Result<String> {
    process::read(Command::new("rustc").args(["--print", "host-tuple"]))
}
