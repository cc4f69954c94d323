//! Each step of docs/install.md, as written, in its order. What needs a reader's own in place of the page's is replaced: names of pods and
//! nodes, the policy. A step that this scenario does not know fails it, so that the page cannot grow past it.

use crate::cluster::Cluster;
use crate::process;
use crate::wait::until;
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// What is done about a step.
enum Step {
    /// It is run, and ends with 0.
    Run,
    /// It is run until it ends with 0: it asks about what comes in its own time.
    Until,
    /// The first step of another way to install: what the way before it installed is taken away.
    Instead,
    /// It is held elsewhere, or cannot be here, and why.
    Elsewhere(&'static str),
}

/// Beginnings of steps.
const STEPS: &[(&str, Step)] = &[
    ("sha256sum --check SHA256SUMS", Step::Elsewhere("needs a release; `cargo xtask release` checks its sums")),
    ("while read name; do skopeo copy", Step::Elsewhere("the scenario `mirror` installs from a registry")),
    ("helm pull oci://", Step::Elsewhere("the scenario `mirror` installs from a registry")),
    ("helm install devgate devgate ", Step::Elsewhere("the scenario `mirror` installs from a registry")),
    (
        "kubectl -n devgate rollout status daemonset/devgate-cleanup",
        Step::Elsewhere("the scenario `uninstall` cleans up"),
    ),
    ("helm install devgate-cleanup", Step::Elsewhere("the scenario `uninstall` cleans up")),
    ("helm uninstall", Step::Elsewhere("the scenario `uninstall` cleans up")),
    ("kubectl patch node", Step::Elsewhere("the scenario `uninstall` cleans up")),
    ("kubectl -n NAMESPACE patch daemonset", Step::Elsewhere("the scenario `move` patches another plugin")),
    ("kubectl -n devgate set image", Step::Elsewhere("the scenario `rollout` goes to another image and back")),
    ("kubectl -n devgate rollout undo", Step::Elsewhere("the scenario `rollout` goes to another image and back")),
    ("kubectl apply -k .", Step::Run),
    ("kubectl -n devgate rollout status", Step::Run),
    ("kubectl create namespace devgate", Step::Instead),
    ("kubectl label namespace devgate", Step::Run),
    ("helm install devgate", Step::Run),
    ("apt install", Step::Elsewhere("the stage `package` installs the package")),
    ("systemctl ", Step::Elsewhere("the stage `package` runs the service")),
    ("cp /usr/share/devgate", Step::Elsewhere("the stage `package` runs the service")),
    ("mkdir -p /var/lib/devgate", Step::Elsewhere("the stage `image` runs the container by hand")),
    ("podman ", Step::Elsewhere("the stage `image` runs the container by hand")),
    ("kubectl -n devgate exec", Step::Until),
    ("kubectl get node", Step::Run),
    ("kubectl label node", Step::Run),
    ("kubectl apply -k canary", Step::Elsewhere("two groups need two nodes")),
    ("devgate ", Step::Elsewhere("the end-to-end test `admins` says what it answers")),
    ("devgatectl ", Step::Elsewhere("the end-to-end test `admins` says what it answers")),
];

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let page = fs::read_to_string(cluster.given.root.join("docs/install.md")).context("read docs/install.md")?;
    let desk = desk(cluster, &page)?;
    cluster.bring_image(&cluster.version()?)?;
    cluster.bring_component()?;
    // The namespace of an earlier scenario would be in the way of the page's.
    cluster.kubectl(&["delete", "namespace", "devgate", "--ignore-not-found", "--timeout=90s"])?;
    let (mut run, mut elsewhere) = (0, 0);
    for line in steps(&page) {
        let Some((_, step)) = STEPS.iter().find(|(start, _)| line.starts_with(start)) else {
            bail!("docs/install.md has a step that the scenario does not know: {line}");
        };
        match step {
            Step::Elsewhere(why) => {
                println!("left out: {line}: {why}");
                elsewhere += 1;
                continue;
            }
            Step::Instead => {
                shell(cluster, &desk, "kubectl delete -k . --timeout=90s")?;
                shell(cluster, &desk, line)?;
            }
            Step::Run => shell(cluster, &desk, line).map(drop)?,
            Step::Until => until(line, 60, || shell(cluster, &desk, line)).map(drop)?,
        }
        println!("done: {line}");
        run += 1;
        if line.starts_with("helm install") {
            cluster.devgate_is_ready(60)?;
            cluster.allocatable(cluster.disks.names().len(), 60)?;
        }
    }
    cluster.note(format!("admins: {run} steps of the page were run, {elsewhere} are held elsewhere"));
    // In a cluster the same commands run in the pod.
    let disk = format!("/dev/{}", cluster.disks.names().first().context("a disk")?);
    cluster.in_devgate(&["check", "--run"])?;
    let says = cluster.in_devgate(&["explain", &disk])?;
    if !says.contains("disks") {
        bail!("explain {disk} does not name the plugin that offers it: {says}");
    }
    Ok(())
}

/// The lines of the page that are typed.
fn steps(page: &str) -> impl Iterator<Item = &str> {
    page.split("\n```console\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .flat_map(|block| block.lines().filter_map(|line| line.strip_prefix("$ ").or_else(|| line.strip_prefix("# "))))
}

/// The folder in which the reader sits: what the page says is there.
fn desk(cluster: &Cluster, page: &str) -> Result<PathBuf> {
    let work = cluster.given.dir.join("work/admin");
    let _of_an_earlier_time = fs::remove_dir_all(&work);
    let desk = work.join("mine");
    fs::create_dir_all(desk.join("policy.d"))?;
    fs::create_dir_all(work.join("bin"))?;
    let link = |from: &Path, name: PathBuf| {
        symlink(fs::canonicalize(from)?, &name).with_context(|| format!("link {}", name.display()))
    };
    // Not a link: kubectl goes by where a folder is.
    fs::create_dir_all(work.join("deploy"))?;
    process::read(
        std::process::Command::new("cp").arg("-r").arg(&cluster.given.rendered).arg(work.join("deploy/rendered")),
    )?;
    link(&cluster.given.helm, work.join("bin/helm"))?;
    if cluster.given.kubectl.is_absolute() {
        link(&cluster.given.kubectl, work.join("bin/kubectl"))?;
    }
    link(&cluster.given.chart, desk.join(format!("devgate-{}.tgz", cluster.version()?)))?;
    link(&cluster.given.components.join("generic.wasm"), desk.join("generic.wasm"))?;
    fs::write(desk.join("policy.d/gpus.yaml"), cluster.policy()?)?;
    let values = serde_json::json!({"policy": {"files": {"disks.yaml": cluster.policy()?}}});
    fs::write(desk.join("values.yaml"), values.to_string())?;
    fs::write(desk.join("kustomization.yaml"), kustomization(page)?)?;
    Ok(desk)
}

/// The page's, without the image of a registry that is not there.
fn kustomization(page: &str) -> Result<String> {
    let block = page.split("\n```yaml\n# kustomization.yaml").nth(1).and_then(|rest| rest.split("\n```").next());
    let block = block.context("docs/install.md has no kustomization.yaml")?;
    let (before, rest) = block.split_once("\nimages:\n").context("its kustomization.yaml names no image")?;
    let after = rest.lines().skip_while(|line| line.starts_with(' '));
    Ok(format!("# kustomization.yaml{before}\n{}\n", after.collect::<Vec<_>>().join("\n")))
}

fn shell(cluster: &Cluster, desk: &Path, line: &str) -> Result<String> {
    let mut line = line.replace("NODE", "node1");
    if line.contains("POD") {
        line = line.replace("POD", &cluster.devgate_name()?);
    }
    let mut shell = cluster.admin(Path::new("sh"));
    let path = std::env::var("PATH").unwrap_or_default();
    let bin = desk.with_file_name("bin");
    shell.current_dir(desk).env("PATH", format!("{}:{path}", bin.display()));
    process::read(shell.args(["-c", &line]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_the_page_is_known() {
        let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/install.md")).unwrap();
        let all: Vec<_> = steps(&page).collect();
        assert!(all.len() > 20, "{all:?}");
        for line in all {
            assert!(STEPS.iter().any(|(start, _)| line.starts_with(start)), "{line}");
        }
        let made = kustomization(&page).unwrap();
        assert!(
            made.contains("configMapGenerator:") && made.contains("deploy/rendered/") && !made.contains("sha256"),
            "{made}"
        );
    }
}
