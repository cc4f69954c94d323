//! All of a release that a registry can have, in one OCI image layout: the images, the chart, the contract's WIT, and the components with their signatures. A
//! mirror is a copy of each name in its list.

use crate::components::{self, digest};
use crate::workspace::{built, root, target};
use crate::{chart, dist, manifests, process};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where everything is said to be, and nothing is: a mirror takes its place.
const REGISTRY: &str = "registry.example.com";

/// The contract's packages, as wkg looks for `devgate:plugin`.
const CONTRACT: &str = "devgate/plugin";

/// Where an index has the name that skopeo and others go by.
const NAME: &str = "org.opencontainers.image.ref.name";

/// The list of names, a line for each.
const LIST: &str = "references.txt";

/// What policies are to say of the components.
pub(crate) struct Stamp {
    /// The reference of each, with its digest, by name.
    references: BTreeMap<String, String>,
    /// The key by which they are signed, if they are.
    public: Option<String>,
}

/// Writes it into a folder that is made: these images' archives, the components, and the chart whose profiles name them by digest. The
/// chart's file goes beside the folder. Fails when a part is missing, or cannot be read, signed or written.
pub(crate) fn write(folder: &Path, images: &[PathBuf], key: Option<&Path>) -> Result<(PathBuf, Stamp)> {
    let stamp = components(folder, key)?;
    contract(folder)?;
    let file = packed(folder, &stamp)?;
    let text = fs::read_to_string(folder.join("index.json"))?;
    let mut index = manifests_of(&text)?;
    for archive in images {
        index.extend(taken(archive, folder).with_context(|| archive.display().to_string())?);
    }
    index.push(helm(folder, &file)?);
    let kind = "application/vnd.oci.image.index.v1+json";
    let text = json!({"schemaVersion": 2, "mediaType": kind, "manifests": index});
    fs::write(folder.join("index.json"), text.to_string())?;
    fs::write(folder.join(LIST), index.iter().filter_map(name).map(|name| format!("{name}\n")).collect::<String>())?;
    println!("{}: {} names for a registry", folder.display(), index.len());
    Ok((file, stamp))
}

/// Takes the blobs of an image's archive, and what it has by name.
fn taken(archive: &Path, folder: &Path) -> Result<Vec<Value>> {
    let tar = |words: &[&str]| {
        let mut tar = Command::new("tar");
        tar.arg("--extract").arg("--file").arg(archive).arg("--directory").arg(folder).args(words);
        process::read(&mut tar)
    };
    tar(&["blobs"])?;
    let index = manifests_of(&tar(&["--to-stdout", "index.json"])?)?;
    let without_registry = |one: Value| {
        let name = name(&one).context("an image without a name")?.to_owned();
        named(one, name.strip_prefix(&format!("{REGISTRY}/")).unwrap_or(&name))
    };
    index.into_iter().map(without_registry).collect()
}

fn manifests_of(index: &str) -> Result<Vec<Value>> {
    let index: Value = serde_json::from_str(index)?;
    Ok(index.pointer("/manifests").and_then(Value::as_array).context("an index without manifests")?.clone())
}

fn name(one: &Value) -> Option<&str> {
    one.pointer("/annotations")?.get(NAME)?.as_str()
}

fn named(mut one: Value, name: &str) -> Result<Value> {
    let fields = one.as_object_mut().context("a manifest that is none")?;
    fields.insert("annotations".to_owned(), json!({NAME: name}));
    Ok(one)
}

/// Puts the components there, and says what policies have to.
fn components(folder: &Path, key: Option<&Path>) -> Result<Stamp> {
    // It runs the compiler that is beside it, and refuses one of an earlier build.
    let program = built(&["devgatectl", "devgate-compile"])?.join("devgatectl");
    let mut references = BTreeMap::new();
    for name in components::shipped()? {
        let mut push = Command::new(&program);
        push.args(["push", "--output", "json"]);
        push.arg(components::folder()?.join(format!("{name}.wasm")));
        push.arg(format!("{REGISTRY}/components/{name}:{}", dist::version()?)).arg("--layout").arg(folder);
        push.args(key.into_iter().flat_map(|key| [Path::new("--key"), key]));
        let said: Value = serde_json::from_str(&process::read(&mut push)?)?;
        let oci = said.pointer("/oci").and_then(Value::as_str);
        references.insert(name, oci.context("devgatectl push names no reference")?.to_owned());
    }
    let public = |key| process::read(Command::new("openssl").args(["pkey", "-pubout", "-in"]).arg(key));
    Ok(Stamp { references, public: key.map(public).transpose()? })
}

/// Puts the contract's packages of WIT there, under the names by which wkg looks for them.
fn contract(folder: &Path) -> Result<()> {
    let (wit, work) = (root().join("wit"), tempfile::tempdir()?);
    let first = work.path().join("first");
    copy_wit(&wit, &first)?;
    push_wit(&first, folder)?;
    for entry in fs::read_dir(&wit).with_context(|| format!("read {}", wit.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let later = work.path().join(entry.file_name());
            copy_wit(&entry.path(), &later)?;
            copy_wit(&wit, &later.join("deps/devgate"))?;
            push_wit(&later, folder)?;
        }
    }
    Ok(())
}

/// Copies a package's files, without the folders in it.
fn copy_wit(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let file = entry?;
        if file.file_type()?.is_file() {
            fs::copy(file.path(), to.join(file.file_name()))?;
        }
    }
    Ok(())
}

fn push_wit(package: &Path, folder: &Path) -> Result<()> {
    let version = version_of(package)?;
    let mut push = Command::new(target()?.join("debug/devgatectl"));
    push.arg("push").arg(package).arg(format!("{REGISTRY}/{CONTRACT}:{version}"));
    process::read(push.arg("--layout").arg(folder))?;
    Ok(())
}

/// The version that a package's files say.
fn version_of(package: &Path) -> Result<String> {
    let line = format!("package {}@", CONTRACT.replace('/', ":"));
    for entry in fs::read_dir(package).with_context(|| format!("read {}", package.display()))? {
        let file = entry?.path();
        let text = if file.is_file() { fs::read_to_string(&file)? } else { String::new() };
        if let Some(version) = text.lines().find_map(|text| text.strip_prefix(&line)?.strip_suffix(';')) {
            return Ok(version.to_owned());
        }
    }
    bail!("{}: no file begins with {line}", package.display());
}

/// The chart's file, with profiles of these components.
fn packed(folder: &Path, stamp: &Stamp) -> Result<PathBuf> {
    let work = tempfile::tempdir()?;
    let inside = work.path().join("devgate");
    chart::take(&manifests::chart(), &inside)?;
    stamp.put(&inside.join("profiles"))?;
    chart::pack(&inside, folder.parent().context("a folder of its own")?, dist::epoch()?)
}

/// Puts the chart there, as Helm pushes one.
fn helm(folder: &Path, file: &Path) -> Result<Value> {
    let chart = fs::read_to_string(manifests::chart().join("Chart.yaml"))?;
    let config: Value = serde_saphyr::from_str(&chart).context("Chart.yaml")?;
    let config = blob(folder, "application/vnd.cncf.helm.config.v1+json", config.to_string().as_bytes())?;
    let layer = blob(folder, "application/vnd.cncf.helm.chart.content.v1.tar+gzip", &fs::read(file)?)?;
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({"schemaVersion": 2, "mediaType": kind, "config": config, "layers": [layer]});
    named(blob(folder, kind, manifest.to_string().as_bytes())?, &format!("charts/devgate:{}", dist::version()?))
}

fn blob(folder: &Path, kind: &str, bytes: &[u8]) -> Result<Value> {
    let digest = digest(bytes);
    fs::write(folder.join("blobs/sha256").join(&digest), bytes)?;
    Ok(json!({"mediaType": kind, "digest": format!("sha256:{digest}"), "size": bytes.len()}))
}

impl Stamp {
    /// Has profiles take their components from a registry: by digest, and with the key where there is one. Fails when a
    /// file cannot be read or written, or names a component that there is not.
    pub(crate) fn put(&self, profiles: &Path) -> Result<()> {
        for entry in fs::read_dir(profiles).with_context(|| format!("read {}", profiles.display()))? {
            let file = entry?.path();
            let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
            fs::write(&file, self.text(&text).with_context(|| file.display().to_string())?)?;
        }
        Ok(())
    }

    fn text(&self, profile: &str) -> Result<String> {
        let signed = self.public.as_ref().map_or("", |_| ", signature: {cosign-key: release.pem}");
        let mut text = profile.to_owned();
        while let Some((before, rest)) = text.split_once("component: {file: ") {
            let (name, after) =
                rest.split_once(".wasm}").context("a component of another form than {file: NAME.wasm}")?;
            let reference = self.references.get(name).with_context(|| format!("there is no component {name}"))?;
            text = format!("{before}component: {{oci: \"{reference}\"{signed}}}{after}");
        }
        if text == profile {
            return Ok(text);
        }
        text = match text.contains("\noverlays:\n") {
            true => text.replacen("\noverlays:\n", "\noverlays:\n  oci: true\n", 1),
            false => text.replacen("\npolicy:\n", "\noverlays:\n  oci: true\npolicy:\n", 1),
        };
        let key = self.public.iter().flat_map(|key| key.lines()).map(|line| format!("      {line}\n"));
        let key =
            key.reduce(|all, line| all + &line).map(|key| format!("    release.pem: |\n{key}")).unwrap_or_default();
        Ok(text.replacen("\n  files:\n", &format!("\n  files:\n{key}"), 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_names_its_components_by_digest_and_nothing_else_changes() {
        let references = [("a".to_owned(), "registry.example.com/components/a:1@sha256:0".to_owned())].into();
        let mut stamp = Stamp { references, public: None };
        let profile = "# x\npolicy:\n  files:\n    a.yaml: |\n      component: {file: a.wasm}\n";
        let by_digest = "# x\noverlays:\n  oci: true\npolicy:\n  files:\n    a.yaml: |\n      component: {oci: \"registry.example.com/components/a:1@sha256:0\"}\n";
        assert_eq!(stamp.text(profile).unwrap(), by_digest);
        stamp.public = Some("-----BEGIN\nx".to_owned());
        let signed = stamp.text(&profile.replace("# x\n", "# x\noverlays:\n  nics: true\n")).unwrap();
        assert!(signed.contains("overlays:\n  oci: true\n  nics: true\npolicy:\n  files:\n    release.pem: |\n      -----BEGIN\n      x\n    a.yaml"));
        assert!(signed.contains("@sha256:0\", signature: {cosign-key: release.pem}}\n"), "{signed}");
        assert_eq!(stamp.text("cleanup: true\n").unwrap(), "cleanup: true\n");
        let error = stamp.text(&profile.replace("a.wasm", "b.wasm")).unwrap_err().to_string();
        assert_eq!(error, "there is no component b");
    }

    #[test]
    fn each_version_of_the_contract_says_which_it_is() {
        let wit = root().join("wit");
        assert_eq!(version_of(&wit).unwrap(), "0.1.0");
        let mut later = Vec::new();
        for entry in fs::read_dir(&wit).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                assert_eq!(version_of(&path).unwrap(), path.file_name().unwrap().to_str().unwrap());
                later.push(path);
            }
        }
        assert!(!later.is_empty());
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.wit"), "package a:b;\n").unwrap();
        assert!(version_of(dir.path()).is_err());
    }

    #[test]
    fn every_profile_of_the_chart_can_be_stamped() {
        let references =
            components::shipped().unwrap().into_iter().map(|name| (name.clone(), format!("r/{name}@sha256:0")));
        let stamp = Stamp { references: references.collect(), public: Some("key".to_owned()) };
        let dir = tempfile::tempdir().unwrap();
        let profiles = dir.path().join("devgate/profiles");
        chart::take(&manifests::chart(), &dir.path().join("devgate")).unwrap();
        stamp.put(&profiles).unwrap();
        for name in ["gpu", "nic", "storage"] {
            let text = fs::read_to_string(profiles.join(format!("{name}.yaml"))).unwrap();
            let values: Value = serde_saphyr::from_str(&text).unwrap();
            assert_eq!(values["overlays"]["oci"], true, "{name}");
            assert_eq!(values["policy"]["files"]["release.pem"], "key\n", "{name}");
            assert!(text.contains("@sha256:0\", signature: ") && !text.contains("{file: "), "{text}");
        }
    }
}
