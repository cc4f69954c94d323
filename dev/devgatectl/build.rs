//! Packs the SDK for Rust with all that it and its rig are built of, so that `devgatectl new` needs nothing but the program.
//!
//! What is packed is this repository's own source in its own folders, without tests: what they are made of would have to be
//! fetched, too. The same commit gives the same bytes.
//!
//! Makes a module of the text that `devgatectl pack` puts in the place of WASI preview 1.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::{env, fs, io};

const ROOT: &str = "../..";

/// The workspaces: the folder, the packages, and what lies below and is none of it.
const WORKSPACES: [(&str, &[&str], &str); 2] = [
    ("", &["host/types", "host/node", "host/core", "host/policy", "dev/fake-node"], "exclude = [\"guests\"]\n"),
    ("guests/", &["sdk", "testing"], ""),
];

/// Paths and what is there.
type Files = BTreeMap<String, String>;

fn main() -> io::Result<()> {
    let mut files = Files::new();
    for (folder, packages, exclude) in WORKSPACES {
        let mut used = BTreeSet::new();
        for package in packages {
            let manifest = package_manifest(&read(&format!("{folder}{package}/Cargo.toml"))?);
            used.extend(manifest.lines().filter_map(from_workspace).map(str::to_owned));
            files.insert(format!("{folder}{package}/Cargo.toml"), manifest);
            take_source(&format!("{folder}{package}/src"), &mut files)?;
        }
        let manifest = read(&format!("{folder}Cargo.toml"))?;
        files.insert(
            format!("{folder}Cargo.toml"),
            format!("[workspace]\nresolver = \"3\"\nmembers = {packages:?}\n{exclude}\n{}", shared(&manifest, &used)),
        );
    }
    for folder in ["wit", "wit/0.1.1"] {
        for name in names(folder)?.iter().filter(|name| name.ends_with(".wit")) {
            let path = format!("{folder}/{name}");
            files.insert(path.clone(), read(&path)?);
        }
    }
    // The second so that a vendor's `cargo fmt --all` changes nothing of it.
    for path in ["LICENSE", "rustfmt.toml"] {
        files.insert(path.to_owned(), read(path)?);
    }

    let place = env::var("OUT_DIR").map_err(io::Error::other)?;
    let mut packed = ZlibEncoder::new(fs::File::create(Path::new(&place).join("sdk"))?, Compression::best());
    for (path, text) in &files {
        write!(packed, "{path}\0{text}\0")?;
    }
    packed.finish()?;

    let module = wat::parse_str(read("dev/devgatectl/src/pack/preview1.wat")?).map_err(io::Error::other)?;
    fs::write(Path::new(&place).join("preview1.wasm"), module)
}

/// A file of the repository; when it changes, this runs again.
fn read(path: &str) -> io::Result<String> {
    let path = format!("{ROOT}/{path}");
    println!("cargo::rerun-if-changed={path}");
    fs::read_to_string(&path).map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
}

/// What is in a folder of the repository, in order; when something comes or goes, this runs again.
fn names(folder: &str) -> io::Result<BTreeSet<String>> {
    let path = format!("{ROOT}/{folder}");
    println!("cargo::rerun-if-changed={path}");
    fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Takes the source in a folder and below.
fn take_source(folder: &str, files: &mut Files) -> io::Result<()> {
    let names = names(folder)?;
    let mut tests = BTreeSet::new();
    for name in &names {
        let Some(module) = name.strip_suffix(".rs") else {
            continue;
        };
        let (text, left_out) = without_tests(&read(&format!("{folder}/{name}"))?);
        // Where the modules of a file lie.
        let below = if module == "lib" { folder.to_owned() } else { format!("{folder}/{module}") };
        tests.extend(left_out.iter().map(|test| format!("{below}/{test}")));
        files.insert(format!("{folder}/{name}"), text);
    }
    for name in names.iter().filter(|name| !name.contains('.')) {
        take_source(&format!("{folder}/{name}"), files)?;
    }
    let of_tests = |path: &str| {
        let mut above = Path::new(path).ancestors();
        above.any(|path| tests.contains(&*path.with_extension("").to_string_lossy()))
    };
    files.retain(|path, _| !of_tests(path));
    Ok(())
}

/// Source without its modules of tests, and the names of those that are files of their own. A module in the file is its end.
fn without_tests(text: &str) -> (String, Vec<String>) {
    let (mut kept, mut names) = (String::new(), Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let module = lines.peek().and_then(|next| next.trim_start_matches("pub(crate) ").strip_prefix("mod "));
        match (line, module) {
            ("#[cfg(test)]", Some(module)) if module.ends_with('{') => break,
            ("#[cfg(test)]", Some(module)) => {
                names.push(module.trim_end_matches(';').to_owned());
                lines.next();
            }
            _ => kept.extend([line, "\n"]),
        }
    }
    (format!("{}\n", kept.trim_end()), names)
}

/// A package's manifest without what only its tests need, and without an address that a vendor has no use for.
fn package_manifest(text: &str) -> String {
    select(text, |section, line| !section.contains("dev-dependencies") && !line.starts_with("repository"))
}

/// What a workspace has for its packages, with those dependencies that they use.
fn shared(text: &str, used: &BTreeSet<String>) -> String {
    select(text, |section, line| match section {
        "[workspace.package]" => !line.starts_with("repository"),
        "[workspace.dependencies]" => line == section || used.contains(key(line)),
        _ => section.starts_with("[workspace.lints."),
    })
}

/// The lines of a manifest that `keep` wants, of which it is told the heading above. Comments are about what is not here.
fn select(text: &str, keep: impl Fn(&str, &str) -> bool) -> String {
    let (mut section, mut kept) = ("", String::new());
    for line in text.lines() {
        if line.starts_with('[') {
            section = line;
        }
        if line.is_empty() || line.starts_with('#') || !keep(section, line) {
            continue;
        }
        let space = if line == section && !kept.is_empty() { "\n" } else { "" };
        kept.extend([space, line, "\n"]);
    }
    kept
}

/// The key of a line that takes a value from the workspace.
fn from_workspace(line: &str) -> Option<&str> {
    line.contains("workspace = true").then(|| key(line))
}

fn key(line: &str) -> &str {
    line.split(['.', ' ', '=']).next().unwrap_or_default()
}
