//! Where projects in Rust are written and built in little time.

use super::follow_text;
use devgate_tests::components;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

fn has_std_for_wasm() -> anyhow::Result<bool> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output()?;
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout)?.trim());
    Ok(sysroot.join("lib/rustlib/wasm32-unknown-unknown/lib").is_dir())
}

/// Where projects in Rust are written, one at a time and always as `npu`, so that what a project has of devgate is compiled once
/// for all tests, and again only when it changes.
pub(crate) struct RustPlace {
    pub(crate) folder: PathBuf,
    /// What the project before had in its folder `devgate`, and from when it is.
    before: Vec<(PathBuf, Vec<u8>, SystemTime)>,
    _alone: File,
}

impl RustPlace {
    /// An empty one, when no other test has it. Nothing where Rust here does not build for WebAssembly.
    pub(crate) fn try_new() -> anyhow::Result<Option<Self>> {
        if !has_std_for_wasm()? {
            println!("skipped: the toolchain at hand has no standard library for WebAssembly");
            return Ok(None);
        }
        // In the midst of another workspace, which a project must stand.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-in-rust");
        std::fs::create_dir_all(&folder)?;
        let alone = File::create(folder.join("lock"))?;
        alone.lock()?;
        let mut before = Vec::new();
        let project = folder.join("npu");
        for path in files_below(&project.join("devgate"))? {
            let (bytes, written) = (std::fs::read(&path)?, path.metadata()?.modified()?);
            before.push((path, bytes, written));
        }
        if project.exists() {
            std::fs::remove_dir_all(&project)?;
        }
        Ok(Some(Self { folder, before, _alone: alone }))
    }

    /// Follows a text in the project that was written, with nothing fetched and little compiled: the crates of others are those
    /// that the components' own tests were built of.
    pub(crate) fn follow(&self, text: &str) -> anyhow::Result<String> {
        self.follow_with(text, &[])
    }

    /// The same, with more in the environment.
    pub(super) fn follow_with(&self, text: &str, more: &[(&str, &str)]) -> anyhow::Result<String> {
        let project = self.folder.join("npu");
        for (path, bytes, written) in &self.before {
            if std::fs::read(path).is_ok_and(|now| now == *bytes) {
                File::options().write(true).open(path)?.set_modified(*written)?;
            }
        }
        let built = project.join("target");
        if !built.exists() {
            std::os::unix::fs::symlink(components()?.with_file_name("guests"), built)?;
        }
        let host = Command::new("rustc").args(["--print", "host-tuple"]).output()?;
        let host = String::from_utf8(host.stdout)?;
        let environment = [("CARGO_NET_OFFLINE", "true"), ("CARGO_BUILD_TARGET", host.trim())];
        follow_text(&project, text, &[&environment, more].concat())
    }
}

/// None where there is no such folder.
fn files_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if !folder.exists() {
        return Ok(files);
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}
