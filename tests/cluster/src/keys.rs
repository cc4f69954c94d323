//! The cluster's certificates.

use crate::process;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Who has one: file, subject.
const OF: &[(&str, &str)] = &[
    ("apiserver", "/CN=kube-apiserver"),
    ("admin", "/O=system:masters/CN=admin"),
    ("controller-manager", "/CN=system:kube-controller-manager"),
    ("scheduler", "/CN=system:kube-scheduler"),
    ("kubelet", "/O=system:nodes/CN=system:node:node1"),
    ("kubelet2", "/O=system:nodes/CN=system:node:node2"),
];

const NAMES: &str = "subjectAltName=DNS:localhost,DNS:node1,DNS:node2,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.96.0.1,IP:10.99.0.1,IP:10.99.0.2";

/// Makes an authority, a certificate for each part, and the key for service accounts, good for some days.
///
/// # Errors
/// When openssl fails.
pub(crate) fn make(dir: &Path) -> Result<()> {
    let openssl = |words: &[&str]| process::read(Command::new("openssl").current_dir(dir).args(words));
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"];
    let authority = ["req", "-x509", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.crt"];
    openssl(&[&authority[..], &key].concat())?;
    for (name, subject) in OF {
        let (file, certificate) = (format!("{name}.key"), format!("{name}.crt"));
        let issue = ["req", "-x509", "-CA", "ca.crt", "-CAkey", "ca.key", "-subj", subject];
        let out = ["-keyout", &file, "-out", &certificate];
        let is = ["-addext", NAMES, "-addext", "basicConstraints=critical,CA:FALSE"];
        let purpose = ["-addext", "extendedKeyUsage=serverAuth,clientAuth"];
        openssl(&[&issue[..], &out, &is, &purpose, &key].concat())?;
    }
    openssl(&["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "accounts.key"])?;
    openssl(&["ec", "-in", "accounts.key", "-pubout", "-out", "accounts.pub"])?;
    Ok(())
}
