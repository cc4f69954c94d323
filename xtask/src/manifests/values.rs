//! Values that the chart takes, and those that it refuses.

use super::{Programs, render};
use crate::process;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Each with a word of what has to be said about it.
const REFUSED: &[(&str, &str)] = &[
    ("overlay.nics=true", "overlay"),
    ("overlays.nic=true", "nic"),
    ("overlays.nics=maybe", "nics"),
    ("image.repository=", "repository"),
    ("image.tag=a b", "tag"),
    ("image.digest=sha256:12", "digest"),
    ("image.pullPolicy=Sometimes", "pullPolicy"),
    ("policy.files.serial=x", "serial"),
    ("policy.files.a\\.yaml=3", "a.yaml"),
    ("policy.existingConfigMap=Capital", "existingConfigMap"),
    ("components.source=ftp", "source"),
    ("components.hostPath=relative", "hostPath"),
    ("components.hostPath=/", "hostPath"),
    ("components.image.reference=", "reference"),
    ("oci.credentialsSecret=devgate-registry", "overlays.oci"),
    ("oci.caConfigMap=devgate-registry-ca", "overlays.oci"),
    ("oci.to=any", "to"),
    (
        "overlays.oci=true,oci.credentialsSecret=a,env[0].name=DOCKER_CONFIG",
        "oci.credentialsSecret",
    ),
    (
        "overlays.oci=true,oci.caConfigMap=a,env[0].name=SSL_CERT_FILE",
        "oci.caConfigMap",
    ),
    ("env[0].value=x", "name"),
    ("env[0].name=a b", "name"),
    ("env[0].name=A,env[0].value=1", "value"),
    ("env[0].name=A,env[0].from=x", "from"),
    ("env.HTTPS_PROXY=x", "env"),
    ("oci.ports={registry}", "ports"),
    ("overlays.oci=true,oci.ports=null", "oci.ports"),
    ("policy.files.serial\\.yaml=null", "policy.files"),
    ("policy.files=null", "policy.files"),
    ("podLabels.app\\.kubernetes\\.io/instance=x", "propertyName"),
    ("listenAddress=localhost:1", "listenAddress"),
    ("extraArgs={-x}", "extraArgs"),
    ("resources.limit.memory=1Gi", "limit"),
    ("tolerations[0].operator=Some", "operator"),
    ("nodeSelector.a=3", "nodeSelector"),
    ("updateStrategy.maxUnavailable=0", "maxUnavailable"),
    ("updateStrategy.maxUnavailable=101%", "maxUnavailable"),
    ("updateStrategy.maxSurge=1", "maxSurge"),
    ("terminationGracePeriodSeconds=0", "terminationGracePeriodSeconds"),
    ("kubelet.podResourcesDir=x", "podResourcesDir"),
    ("kubelet.podResourcesDir=/", "podResourcesDir"),
    ("kubelet.podResourcesDir=/var/lib/kubelet", "podResourcesDir"),
    ("monitoring.labels.release=3", "release"),
    ("monitoring.label.release=x", "label"),
    ("overlays.alerts=once", "alerts"),
    ("networkPolicy.enabled=no-thanks", "networkPolicy"),
    ("securityContext.privileged=true", "securityContext"),
    ("hostNetwork=true", "hostNetwork"),
    ("cleanup=once", "cleanup"),
];

/// Each with what has to be in what is made.
const TAKEN: &[(&[&str], &str)] = &[
    (
        &["image.repository=example.com/x", "image.tag=v1"],
        "image: \"example.com/x:v1\"",
    ),
    (
        &["image.digest=sha256:0000000000000000000000000000000000000000000000000000000000000000"],
        "devgate@sha256:0000",
    ),
    (
        &["policy.files.serial\\.yaml=null", "policy.files.a\\.yaml=text"],
        "a.yaml: text",
    ),
    (&["policy.existingConfigMap=mine"], "configMap: {name: \"mine\"}"),
    (&["updateStrategy.maxUnavailable=1"], "maxUnavailable: 1\n"),
    (&["updateStrategy.maxUnavailable=100%"], "maxUnavailable: 100%"),
    (
        &["env[0].name=HTTPS_PROXY", "env[0].value=http://proxy.example.com:3128"],
        "- name: HTTPS_PROXY\n              value: http://proxy.example.com:3128\n",
    ),
    (
        &["env[0].name=NODE", "env[0].valueFrom.fieldRef.fieldPath=spec.nodeName"],
        "fieldPath: spec.nodeName",
    ),
    (
        &[
            "overlays.oci=true",
            "oci.caConfigMap=a",
            "env[0].name=NO_PROXY",
            "env[0].value=.local",
        ],
        "- {name: SSL_CERT_FILE, value: /etc/devgate/registry-ca/ca.crt}\n            - name: NO_PROXY",
    ),
    (&["listenAddress=[::]"], "\"--listen=[::]:9464\""),
    (&["extraArgs={--log=debug}"], "\"--log=debug\""),
    (
        &["overlays.oci=true", "oci.to[0].ipBlock.cidr=192.0.2.0/24"],
        "192.0.2.0/24",
    ),
    (
        &["overlays.oci=true", "oci.ports={443,5000}"],
        "{port: 5000, protocol: TCP}",
    ),
    (&["podLabels.team=x"], "team: x"),
    (
        &["overlays.monitoring=true", "monitoring.labels.release=mine"],
        "release: mine",
    ),
    (
        &["overlays.alerts=true", "monitoring.labels.release=mine"],
        "release: mine",
    ),
    (&["priorityClassName="], "serviceAccountName: devgate"),
    (&["global.x=1"], "kind: DaemonSet"),
    (&["cleanup=true"], "args: [cleanup, --state]"),
    (
        &["cleanup=true", "image.tag=v1"],
        "image: \"registry.example.com/devgate:v1\"",
    ),
    (
        &["cleanup=true", "affinity.nodeAffinity.x=y"],
        "affinity:\n        nodeAffinity:\n          x: \"y\"\n",
    ),
    (&["cleanup=true", "policy.files=null"], "plugins: {}"),
    (
        &["extraVolumes[0].name=x", "extraVolumes[0].emptyDir.sizeLimit=1Mi"],
        "sizeLimit: 1Mi",
    ),
];

/// Runs `helm lint` and renders with each of the values.
pub(super) fn problems(programs: &Programs, chart: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let lint = Command::new(&programs.helm)
        .args(["lint", "--strict", "--quiet"])
        .arg(chart)
        .output();
    let lint = lint.with_context(|| format!("start {}", programs.helm.display()))?;
    if !lint.status.success() {
        problems.push(format!("helm lint: {}", String::from_utf8_lossy(&lint.stdout).trim()));
    }
    // A label is text, whatever a release is called.
    let mut command = Command::new(&programs.helm);
    command.args(["template", "123"]).arg(chart);
    if !process::read(&mut command)?.contains("app.kubernetes.io/instance: \"123\"") {
        problems.push("chart: a release with a number for a name has labels that are no text".to_owned());
    }
    for (value, word) in REFUSED {
        let mut command = render::template(&programs.helm, chart, render::NAME);
        command.args(["--set", value]);
        let output = command.output().with_context(|| process::shown(&command))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            problems.push(format!("chart: takes {value}"));
        } else if !said.contains(word) {
            problems.push(format!(
                "chart: refuses {value} for another reason than {word}: {}",
                said.trim()
            ));
        }
    }
    for (values, wanted) in TAKEN {
        let mut command = render::template(&programs.helm, chart, render::NAME);
        for value in *values {
            command.args(["--set", value]);
        }
        let output = command.output().with_context(|| process::shown(&command))?;
        if !String::from_utf8_lossy(&output.stdout).contains(wanted) {
            let said = String::from_utf8_lossy(&output.stderr);
            problems.push(format!("chart: no {wanted} with {}: {}", values.join(" "), said.trim()));
        }
    }
    println!(
        "{} values that are refused, {} that are taken",
        REFUSED.len(),
        TAKEN.len()
    );
    Ok(problems)
}
