//! The way to the API server: from the pod that this runs in, or a file of the admin's.

use anyhow::{Context, Result, anyhow};
use kube::Config;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use std::path::Path;

/// Where the kubelet puts a pod's credentials.
const MOUNTED: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// How the API server is reached: by a kubeconfig, or as a pod. The token's file, and in a pod the authority's, are read again each minute.
pub(crate) async fn config(kubeconfig: Option<&Path>) -> Result<Config> {
    let mut config = match kubeconfig {
        None => pod(Path::new(MOUNTED), |name| std::env::var(name).ok())?,
        Some(file) => {
            let shown = file.display();
            let read =
                Kubeconfig::read_from(file).map_err(|why| anyhow!("kubeconfig {shown}: {why} (--kubeconfig)"))?;
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(read, &options).await;
            config.map_err(|why| anyhow!("kubeconfig {shown}: {why} (--kubeconfig)"))?
        }
    };
    // The publisher has its own, which asks less.
    config.default_retry = false;
    Ok(config)
}

fn pod(mounted: &Path, env: impl Fn(&str) -> Option<String>) -> Result<Config> {
    let env = |name: &str| {
        env(name)
            .ok_or_else(|| anyhow!("API server: {name} is not set; outside of a pod name a file with --kubeconfig"))
    };
    let (host, port) = (env("KUBERNETES_SERVICE_HOST")?, env("KUBERNETES_SERVICE_PORT")?);
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let url = format!("https://{host}:{port}");
    let mut config = Config::new(url.parse().with_context(|| format!("API server: {url} is no address"))?);
    // kube's own reading of this directory also wants a file with the namespace, which nothing here needs. What is trusted is the file,
    // not this list.
    config.root_cert = Some(Vec::new());
    config.root_cert_file = Some(mounted.join("ca.crt"));
    let token = mounted.join("token").display().to_string();
    config.auth_info = AuthInfo { token_file: Some(token), ..AuthInfo::default() };
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_its_address_from_its_environment() {
        let env =
            |host: &'static str| move |name: &str| Some(if name.ends_with("HOST") { host } else { "443" }.to_owned());
        let url = |host| pod(Path::new("/mounted"), env(host)).unwrap().cluster_url.to_string();
        assert_eq!(url("10.96.0.1"), "https://10.96.0.1:443/");
        assert_eq!(url("fd00::1"), "https://[fd00::1]:443/");
        let why = pod(Path::new("/mounted"), |_| None).unwrap_err().to_string();
        assert!(why.starts_with("API server: KUBERNETES_SERVICE_HOST is not set"), "{why}");
    }

    #[tokio::test]
    async fn a_file_that_is_none_is_named() {
        let why = config(Some(Path::new("/nowhere"))).await.unwrap_err().to_string();
        assert!(why.starts_with("kubeconfig /nowhere: ") && why.ends_with("(--kubeconfig)"), "{why}");
    }
}
