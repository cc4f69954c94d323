//! The contract's package of WIT as an artifact, as `wkg publish` makes one.

use crate::look::look;
use crate::new_project::repository;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[test]
fn a_package_of_wit_is_an_artifact_that_says_what_is_in_it() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let layout = dir.path().join("layout");
    let push = |package: &Path| {
        let to = [Path::new("registry.example.com/devgate/plugin:0.1.0"), Path::new("--layout"), &layout];
        look([Path::new("push"), package].into_iter().chain(to).map(PathBuf::from))
    };
    let said = push(&repository().join("wit"))?;
    ensure!(said.code == Some(0), "{}", said.err);
    ensure!(said.out.starts_with("registry.example.com/devgate/plugin:0.1.0@sha256:"), "{}", said.out);
    let blob = |descriptor: &Value| -> anyhow::Result<Vec<u8>> {
        let hex =
            descriptor["digest"].as_str().and_then(|digest| digest.strip_prefix("sha256:")).context("a digest")?;
        Ok(std::fs::read(layout.join("blobs/sha256").join(hex))?)
    };
    let index: Value = serde_json::from_slice(&std::fs::read(layout.join("index.json"))?)?;
    ensure!(index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"] == "devgate/plugin:0.1.0");
    let manifest: Value = serde_json::from_slice(&blob(&index["manifests"][0])?)?;
    ensure!(manifest["config"]["mediaType"] == "application/vnd.wasm.config.v0+json", "{manifest}");
    ensure!(manifest["layers"][0]["mediaType"] == "application/wasm", "{manifest}");
    ensure!(manifest["annotations"]["org.opencontainers.image.version"] == "0.1.0", "{manifest}");
    let config: Value = serde_json::from_slice(&blob(&manifest["config"])?)?;
    let exports = config["component"]["exports"].as_array().context("exports")?;
    for name in ["devgate:plugin/plugin@0.1.0", "devgate:plugin/hardware@0.1.0", "devgate:plugin/component@0.1.0"] {
        ensure!(exports.iter().any(|export| export == name), "{name}: {config}");
    }
    let package = wit_component::decode(&blob(&manifest["layers"][0])?).map_err(anyhow::Error::msg)?;
    let (resolve, id) = (package.resolve(), package.package());
    ensure!(resolve.packages[id].name.to_string() == "devgate:plugin@0.1.0", "{}", resolve.packages[id].name);

    for none in ["wit/0.1.1", "docs"] {
        let said = push(&repository().join(none))?;
        ensure!(said.code == Some(5) && said.err.contains("is no package of WIT; nothing was pushed"), "{}", said.err);
    }
    Ok(())
}
