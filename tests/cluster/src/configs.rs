//! What the parts of the cluster are told.

use anyhow::{Context, Result};
use std::path::Path;

/// The node's address, which the API server has, too.
pub(crate) const ADDRESS: &str = "10.99.0.1";

/// The second node's address.
pub(crate) const ADDRESS2: &str = "10.99.0.2";

/// Where a registry is for scenarios that have one.
pub(crate) const MIRROR: &str = "10.99.0.1:5000";

/// Writes each part's configuration into a folder.
///
/// # Errors
/// Where they cannot be written.
pub(crate) fn write(conf: &Path, keys: &Path, cni: &Path, cgroup: &str) -> Result<()> {
    let put = |name: &str, text: String| {
        let file = conf.join(name);
        std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))
    };
    for who in ["admin", "controller-manager", "scheduler", "kubelet", "kubelet2"] {
        put(&format!("{who}.kubeconfig"), kubeconfig(keys, who))?;
    }
    put("audit.yaml", AUDIT.to_owned())?;
    let trusted = conf.join("registries").join(MIRROR);
    std::fs::create_dir_all(&trusted)?;
    let authority = keys.join("ca.crt");
    put(
        &format!("registries/{MIRROR}/hosts.toml"),
        format!("[host.\"https://{MIRROR}\"]\n  ca = \"{}\"\n", authority.display()),
    )?;
    for (number, of) in [("1", ""), ("2", "2")] {
        let networks = conf.join(format!("cni{of}"));
        put(&format!("containerd{of}.toml"), containerd(&networks, cni, &conf.join("registries")))?;
        std::fs::create_dir_all(&networks)?;
        put(&format!("cni{of}/10-cluster.conflist"), NETWORK.replace("NUMBER", number))?;
        put(&format!("kubelet{of}.yaml"), kubelet(keys, of, &format!("{cgroup}{of}")))?;
    }
    Ok(())
}

fn kubeconfig(keys: &Path, who: &str) -> String {
    let keys = keys.display();
    format!(
        r#"apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "https://{ADDRESS}:443", certificate-authority: "{keys}/ca.crt"}}}}]
users: [{{name: u, user: {{client-certificate: "{keys}/{who}.crt", client-key: "{keys}/{who}.key"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
"#
    )
}

fn containerd(networks: &Path, cni: &Path, registries: &Path) -> String {
    let (networks, cni, registries) = (networks.display(), cni.display(), registries.display());
    format!(
        r#"version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.example.com/pause:1"
  restrict_oom_score_adj = true
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{registries}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni}"
    conf_dir = "{networks}"
"#
    )
}

/// What the API server notes: each request of devgate's agent, and nobody else's.
const AUDIT: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
  {"level": "Metadata", "users": ["system:serviceaccount:devgate:devgate-agent"]}, {"level": "None"}]}
"#;

/// Pods have addresses of one network, and a cable each to the node.
const NETWORK: &str = r#"{"cniVersion": "0.4.0", "name": "cluster", "plugins": [{"type": "ptp", "ipMasq": false,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.NUMBER.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
"#;

fn kubelet(keys: &Path, of: &str, cgroup: &str) -> String {
    let keys = keys.display();
    format!(
        r#"apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: true}}, x509: {{clientCAFile: "{keys}/ca.crt"}}}}
authorization: {{mode: Webhook}}
tlsCertFile: "{keys}/kubelet{of}.crt"
tlsPrivateKeyFile: "{keys}/kubelet{of}.key"
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /{cgroup}
enforceNodeAllocatable: [pods]
clusterDNS: [10.96.0.10]
failCgroupV1: false
failSwapOn: false
maxOpenFiles: 20000
evictionHard: {{}}
imageGCHighThresholdPercent: 100
maxPods: 60
syncFrequency: 10s
configMapAndSecretChangeDetectionStrategy: Watch
"#
    )
}
