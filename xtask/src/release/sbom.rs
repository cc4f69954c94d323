//! What is in what is released: a CycloneDX bill of materials for each program of a node and for each component.
//!
//! By cargo-cyclonedx, which writes beside each `Cargo.toml`: so it is given a copy of the tree. What it says of this
//! machine, the folder that the tree lies in, is taken out, and the digest of the file that it speaks of is put in.

use crate::components;
use crate::components::digest;
use crate::static_binary::{Machine, Product, Profile};
use crate::workspace::{WASM, root};
use crate::{dist, process, tools};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Writes the bills of the programs for these machines, and of the components in `folder`.
pub(super) fn write(machines: &[Machine], folder: &Path) -> Result<()> {
    let cyclonedx = tools::from_crate("cargo-cyclonedx", "0.5.9")?;
    let work = tempfile::tempdir()?;
    // Resolved: what cargo says of it is.
    let copy = work.path().canonicalize()?.join("devgate");
    copy_tree(&copy)?;
    let describe = |manifest: &Path, triple: &str| {
        let mut command = Command::new(&cyclonedx);
        command.current_dir(&copy).env("SOURCE_DATE_EPOCH", dist::epoch()?.to_string());
        command.args(["cyclonedx", "--quiet", "--format=json", "--spec-version=1.5", "--describe=binaries"]);
        command.args(["--target", triple, "--manifest-path"]).arg(manifest);
        process::run(&mut command)
    };
    for program in Product::Devgate.programs() {
        let place = format!("host/{}", program.name());
        alone(&copy, &place)?;
        for machine in machines {
            describe(&copy.join(&place).join("Cargo.toml"), machine.musl())?;
            let bill = copy.join(&place).join(format!("{}_bin.cdx.json", program.name()));
            let described = program.file(folder, *machine, Profile::Release)?;
            let own = format!("{}-{}-linux-{}.cdx.json", program.name(), dist::version()?, machine.oci());
            finish(&bill, &copy, &described, &folder.join(own))?;
        }
    }
    // cargo-cyclonedx knows no member outside of the workspace's folder, and the example is not released.
    let guests = copy.join("guests/Cargo.toml");
    let text = std::fs::read_to_string(&guests).with_context(|| format!("read {}", guests.display()))?;
    std::fs::write(&guests, text.replacen("    \"../examples/component\",\n", "", 1))?;
    describe(&guests, WASM)?;
    let place = folder.join("components");
    for name in components::shipped()? {
        let bill = format!("guests/{name}/{}_cdylib.cdx.json", name.replace('-', "_"));
        let (described, own) = (place.join(format!("{name}.wasm")), place.join(format!("{name}.cdx.json")));
        finish(&copy.join(bill), &copy, &described, &own)?;
    }
    Ok(())
}

/// Makes the workspace one of a single program and what it is made of: cargo unites what all crates of a workspace ask of a dependency,
/// so that the bill of a program without a compiler would have one.
fn alone(tree: &Path, place: &str) -> Result<()> {
    let file = tree.join("Cargo.toml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let text = of_one(&text, place).context("Cargo.toml has no line of members")?;
    std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))
}

fn of_one(workspace: &str, place: &str) -> Option<String> {
    let members = workspace.lines().find(|line| line.starts_with("members = ["))?;
    Some(workspace.replacen(members, &format!("members = [\"{place}\"]"), 1))
}

/// Copies the tree as git knows it, with what was changed and not committed yet.
fn copy_tree(to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("create {}", to.display()))?;
    let git = |arguments: &[&str]| process::read(Command::new("git").current_dir(root()).args(arguments));
    // A commit of what is changed, which is on no branch; nothing, where nothing is.
    let changed = git(&["stash", "create"])?;
    let tree = if changed.is_empty() { "HEAD" } else { &changed };
    let archive = to.with_extension("tar");
    git(&["archive", "--format=tar", "--output", &archive.to_string_lossy(), tree])?;
    process::run(Command::new("tar").arg("--extract").arg("--file").arg(&archive).arg("--directory").arg(to))
}

/// Takes the tree's place out of a bill, puts the file's digest in, and writes it.
fn finish(bill: &Path, tree: &Path, described: &Path, place: &Path) -> Result<()> {
    let text = std::fs::read_to_string(bill).with_context(|| format!("read {}", bill.display()))?;
    let bytes = std::fs::read(described).with_context(|| format!("read {}", described.display()))?;
    let text = finished(&text, tree, &digest(&bytes)).with_context(|| bill.display().to_string())?;
    std::fs::write(place, text).with_context(|| format!("write {}", place.display()))
}

fn finished(text: &str, tree: &Path, digest: &str) -> Result<String> {
    let text = text.replace(&format!("file://{}", tree.display()), "file:///devgate");
    let mut bill: Value = serde_json::from_str(&text).context("not JSON")?;
    let described = bill.pointer_mut("/metadata/component").context("describes nothing")?;
    let described = described.as_object_mut().context("describes nothing")?;
    described.insert("hashes".to_owned(), json!([{"alg": "SHA-256", "content": digest}]));
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_described_without_the_others() {
        let text = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let alone = of_one(&text, "host/devgate-runner").unwrap();
        assert!(alone.contains("[workspace]\nresolver = \"3\"\nmembers = [\"host/devgate-runner\"]\n"), "{alone}");
        assert_eq!(alone.lines().count(), text.lines().count());
        assert_eq!(of_one("[workspace]\n", "host/devgate"), None);
    }

    #[test]
    fn a_bill_names_the_file_and_no_folder_of_this_machine() {
        let text = r#"{"metadata": {"component": {"bom-ref": "path+file:///home/me/devgate/host/devgate#0.1.0"}}}"#;
        let done: Value = serde_json::from_str(&finished(text, Path::new("/home/me/devgate"), "ab").unwrap()).unwrap();
        let expected = json!({"metadata": {"component": {
            "bom-ref": "path+file:///devgate/host/devgate#0.1.0",
            "hashes": [{"alg": "SHA-256", "content": "ab"}],
        }}});
        assert_eq!(done, expected);
        assert!(finished("{}", Path::new("/"), "ab").is_err());
    }
}
