//! Pods that have disks by claims.

use crate::cluster::Cluster;
use crate::images::BUSYBOX;
use crate::wait::{timed, until};
use anyhow::{Result, bail};
use serde_json::{Value, json};

/// A pod whose containers each have some requests of its claim: all where none is named.
pub(super) fn pod(name: &str, claim: &Value, containers: &[(&str, Option<&str>)]) -> Value {
    let mut pod = Cluster::manifest(name, 0);
    pod["spec"]["resourceClaims"] = json!([claim]);
    let container = |(name, request): &(&str, Option<&str>)| {
        let claim = match request {
            Some(request) => json!({"name": "disks", "request": request}),
            None => json!({"name": "disks"}),
        };
        json!({
            "name": name, "image": BUSYBOX, "imagePullPolicy": "Never",
            "command": ["/bin/busybox", "sleep", "2147483647"],
            "resources": {"claims": [claim]},
        })
    };
    pod["spec"]["containers"] = containers.iter().map(container).collect();
    pod
}

/// A claim of the pod's own.
pub(super) fn own(template: &str) -> Value {
    json!({"name": "disks", "resourceClaimTemplateName": template})
}

pub(super) fn run(cluster: &Cluster, name: &str, template: &str) -> Result<()> {
    cluster.apply(&pod(name, &own(template), &[("main", None)]).to_string())?;
    cluster.runs(name, 60)
}

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let (_, seconds) = timed(|| run(cluster, "one", "one"))?;
    cluster.note(format!("claims: a pod with a claim of its own runs after {seconds:.1} s"));
    let one = cluster.opens("one", "main", 1)?;
    let two = pod("two", &own("two"), &[("a", Some("first")), ("b", Some("second"))]);
    cluster.apply(&two.to_string())?;
    cluster.runs("two", 60)?;
    let (a, b) = (cluster.opens("two", "a", 1)?, cluster.opens("two", "b", 2)?);
    if !a.is_disjoint(&b) || !one.is_disjoint(&a) || !one.is_disjoint(&b) {
        bail!("disks were given twice: {one:?}, {a:?}, {b:?}");
    }
    let shared = json!({"name": "disks", "resourceClaimName": "shared"});
    for name in ["shares", "shares-too"] {
        cluster.apply(&pod(name, &shared, &[("main", None)]).to_string())?;
        cluster.runs(name, 60)?;
    }
    let (first, second) = (cluster.opens("shares", "main", 1)?, cluster.opens("shares-too", "main", 1)?);
    if first != second {
        bail!("of one claim pods have {first:?} and {second:?}");
    }
    // One is left, and the class is what the extended resource is.
    cluster.run_pod("counts", 1)?;
    let counted = cluster.opens("counts", "main", 1)?;
    if one.union(&a).chain(&b).chain(&first).any(|disk| counted.contains(disk)) {
        bail!("{counted:?} is another pod's");
    }
    cluster.make_pod("waits", 1)?;
    std::thread::sleep(std::time::Duration::from_secs(5));
    if cluster.pod("waits")?["status"]["phase"] != "Pending" {
        bail!("there is a seventh disk: {}", cluster.pod("waits")?["status"]);
    }
    cluster.delete_pod("shares")?;
    cluster.opens("shares-too", "main", 1)?;
    cluster.delete_pod("counts")?;
    let (_, seconds) = timed(|| cluster.runs("waits", 60))?;
    cluster.note(format!("claims: what a pod leaves another has after {seconds:.1} s"));
    if cluster.opens("waits", "main", 1)? != counted {
        bail!("it had another than the one that was left");
    }
    for name in ["waits", "shares-too", "two"] {
        cluster.delete_pod(name)?;
    }
    until("the files of claims to go", 30, || match cluster.claim_files()?.as_slice() {
        [_of_pod_one] => Ok(()),
        left => bail!("{left:?} are there"),
    })
}

impl Cluster {
    /// The files of claims that the runtime reads. Another scenario may have left others there.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub(super) fn claim_files(&self) -> Result<Vec<String>> {
        let folder = self.file("/run/cdi");
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let all = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
        let names = all.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
        Ok(names.filter(|name| name.contains("_claim=")).collect())
    }
}
