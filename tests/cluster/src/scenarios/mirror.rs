//! A release's layout, mirrored into a registry that is the only network there is: image, chart and components come from it.

use crate::cluster::Cluster;
use crate::configs::MIRROR;
use crate::devgate::REPOSITORY;
use crate::process;
use crate::wait::until;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// What the registry's process is called.
const NAME: &str = "registry";

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let Some(layout) = cluster.given.layout.clone() else {
        cluster.note("mirror: not played, as no layout was given");
        return Ok(());
    };
    let work = std::path::absolute(cluster.given.dir.join("work/mirror"))?;
    let _of_an_earlier_time = fs::remove_dir_all(&work);
    fs::create_dir_all(&work)?;
    serve(cluster, &work)?;
    let played = installed(cluster, &layout, &work).and_then(|policy| lacks(cluster, &layout, &work, &policy));
    cluster.end_service(NAME)?;
    played
}

/// Starts the registry, until it answers.
fn serve(cluster: &Cluster, work: &Path) -> Result<()> {
    let keys = std::path::absolute(cluster.given.dir.join("keys"))?;
    let config = json!({
        "version": "0.1", "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": work.join("data")}},
        "http": {"addr": MIRROR, "tls": {"certificate": keys.join("apiserver.crt"), "key": keys.join("apiserver.key")}},
    });
    let file = work.join("config.json");
    fs::write(&file, config.to_string())?;
    cluster.service(NAME, &["docker-registry", "serve", &file.display().to_string()])?;
    until("the registry", 30, || {
        shell(
            cluster,
            work,
            &format!("curl --silent --fail --cacert {} https://{MIRROR}/v2/", keys.join("ca.crt").display()),
        )
    })
    .map(drop)
}

/// Types what the page says, with values of this cluster's in place of a profile's; the policy that is in force then.
fn installed(cluster: &mut Cluster, layout: &Path, work: &Path) -> Result<String> {
    let version = cluster.version()?;
    std::os::unix::fs::symlink(fs::canonicalize(layout)?, work.join(format!("devgate-{version}-oci")))?;
    let page = fs::read_to_string(cluster.given.root.join("docs/install.md"))?;
    let step = |start: &str| -> Result<String> {
        let line = page.lines().find_map(|line| line.strip_prefix("$ ").filter(|line| line.starts_with(start)));
        Ok(line.with_context(|| format!("docs/install.md has no step {start}"))?.replace("mirror.example.com", MIRROR))
    };
    shell(cluster, work, &step("while read name; do skopeo copy")?)?;
    shell(cluster, work, &step("helm pull oci://")?)?;
    let key = profiles_name_what_is_there(layout, &work.join("devgate/profiles"))?;

    let policy = cluster.policy()?;
    let by_file = policy.split("component: {").nth(1).and_then(|rest| rest.split('}').next()).context("a component")?;
    let policy = policy.replace(by_file, &component(layout, "generic", &version)?);
    let values = json!({
        "oci": {"ports": [5000], "caConfigMap": "devgate-registry-ca"},
        "overlays": {"oci": true},
        "policy": {"files": {"release.pem": key, "disks.yaml": policy}},
    });
    fs::write(work.join("devgate/profiles/gpu.yaml"), values.to_string())?;
    cluster.kubectl(&["delete", "namespace", "devgate", "--ignore-not-found", "--timeout=90s"])?;
    for line in [
        "kubectl create namespace devgate".to_owned(),
        "kubectl label namespace devgate pod-security.kubernetes.io/enforce=privileged".to_owned(),
        "kubectl -n devgate create configmap devgate-registry-ca --from-file=ca.crt=$SSL_CERT_FILE".to_owned(),
        step("helm install devgate devgate ")?,
    ] {
        shell(cluster, work, &line)?;
    }
    cluster.devgate_is_ready(90)?;
    cluster.allocatable(cluster.disks.names().len(), 60)?;
    let image = cluster.devgate()?["status"]["containerStatuses"][0]["image"].clone();
    ensure!(
        image.as_str().is_some_and(|image| image.starts_with(&format!("{MIRROR}/devgate"))),
        "the image is {image}"
    );
    let status: Value = serde_json::from_str(&cluster.in_devgate(&["status", "--output", "json"])?)?;
    let file = status["plugins"][0]["component"]["file"].as_str().unwrap_or_default();
    ensure!(
        file.starts_with(&format!("{MIRROR}/components/generic")),
        "the component is {}",
        status["plugins"][0]["component"]
    );
    cluster.run_pod("mirrored", 1)?;
    cluster.has_exactly("mirrored", 1)?;
    cluster.note(format!("mirror: {} names mirrored; image and component came from {MIRROR}", names(layout)?.len()));
    Ok(policy)
}

/// What a mirror lacks is an error that says so, and takes nothing away.
fn lacks(cluster: &Cluster, layout: &Path, work: &Path, policy: &str) -> Result<()> {
    let version = cluster.version()?;
    let (good, other) = (component(layout, "generic", &version)?, component(layout, "nvme", &version)?);
    let manifest = names(layout)?.into_iter().find(|(name, _)| *name == format!("components/nvme:{version}"));
    let manifest: Value = serde_json::from_slice(&fs::read(blob(layout, &manifest.context("nvme")?.1))?)?;
    let digest = manifest["layers"][0]["digest"].as_str().context("a layer")?.to_owned();
    let hex = digest.trim_start_matches("sha256:");
    let blobs = work.join("data/docker/registry/v2/blobs/sha256");
    fs::remove_file(blobs.join(hex.get(..2).context("a digest")?).join(hex).join("data"))?;
    // As the chart puts it there.
    let policy = policy.replace(&good, &other).replace(registry(), MIRROR);
    let file = json!({"data": {"disks.yaml": policy}}).to_string();
    cluster.kubectl(&["-n", "devgate", "patch", "configmap", "devgate-policy", "--patch", &file])?;
    until("devgate to say what the mirror lacks", 120, || match cluster.in_devgate(&["status"]) {
        Err(said) if format!("{said:#}").contains(&format!("its registry has no {digest}")) => Ok(()),
        said => bail!("status says {said:?}"),
    })?;
    cluster.ready()?;
    cluster.allocatable(cluster.disks.names().len(), 5)?;
    cluster.has_exactly("mirrored", 1)?;
    cluster.uninstall()
}

/// The chart's profiles name components by digests that the layout has; the key that they are to be signed with.
fn profiles_name_what_is_there(layout: &Path, profiles: &Path) -> Result<String> {
    let (names, mut key, mut named) = (names(layout)?, None::<String>, 0);
    for entry in fs::read_dir(profiles)? {
        let text = fs::read_to_string(entry?.path())?;
        for found in text.split("{oci: \"").skip(1) {
            let oci = found.split('"').next().unwrap_or_default();
            let name = oci.strip_prefix(registry()).and_then(|oci| oci.strip_prefix('/')?.split_once('@'));
            let is_there = name.is_some_and(|(name, digest)| names.iter().any(|one| one.0 == name && one.1 == digest));
            ensure!(is_there, "a profile names {oci}, which the layout does not have");
            named += 1;
        }
        let lines = text
            .split("\n    release.pem: |\n")
            .nth(1)
            .map(|rest| rest.lines().map_while(|line| line.strip_prefix("      ")));
        key = lines.map(|lines| lines.map(|line| format!("{line}\n")).collect()).or(key);
    }
    ensure!(named >= 5, "only {named} components are named");
    key.context("no profile has the key")
}

/// What the policy says of a component.
fn component(layout: &Path, name: &str, version: &str) -> Result<String> {
    let name = format!("components/{name}:{version}");
    let digest = names(layout)?.into_iter().find(|one| one.0 == name).context(name.clone())?.1;
    Ok(format!("oci: \"{}/{name}@{digest}\", signature: {{cosign-key: release.pem}}", registry()))
}

/// What a mirror takes the place of.
fn registry() -> &'static str {
    REPOSITORY.trim_end_matches("/devgate")
}

/// What the layout has: names and digests.
fn names(layout: &Path) -> Result<Vec<(String, String)>> {
    let index: Value = serde_json::from_slice(&fs::read(layout.join("index.json"))?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |one: &Value| (text(&one["annotations"]["org.opencontainers.image.ref.name"]), text(&one["digest"]));
    Ok(index["manifests"].as_array().into_iter().flatten().map(one).collect())
}

fn blob(layout: &Path, digest: &str) -> PathBuf {
    layout.join("blobs").join(digest.replace(':', "/"))
}

/// A line that is typed where the registry can be reached, and nothing else.
fn shell(cluster: &Cluster, work: &Path, line: &str) -> Result<String> {
    let mut shell = cluster.admin(Path::new("sh"));
    let dirs = [&cluster.given.helm, &cluster.given.kubectl]
        .map(|program| program.parent().unwrap_or(Path::new("")).display().to_string());
    let path = format!("{}:{}", dirs.join(":"), std::env::var("PATH").unwrap_or_default());
    let authority = std::path::absolute(cluster.given.dir.join("keys/ca.crt"))?;
    process::read(shell.current_dir(work).env("PATH", path).env("SSL_CERT_FILE", authority).args(["-euc", line]))
}
