//! Whom a registry's certificate must come from: the system's authorities, and those that are named.

use crate::error::{Error, FileError, chain, read_file};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest file of certificates.
const MOST: u64 = 4 * 1024 * 1024;

/// A configuration that trusts the system's store and these files.
///
/// # Errors
/// When a named file has no certificate, or when there is none at all and it is `needed`.
pub(crate) fn config(files: &[PathBuf], needed: bool) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    for file in files {
        let found =
            certificates(file).map_err(|why| Error::Host(format!("{}: {why} (--registry-ca)", file.display())))?;
        let (added, _) = roots.add_parsable_certificates(found);
        if added == 0 {
            return Err(Error::Host(format!(
                "{}: has no certificate in PEM (--registry-ca)",
                file.display()
            )));
        }
    }
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if needed && roots.is_empty() {
        return Err(Error::Host(
            "no certificate authority is known here: name a file with --registry-ca, or mount the system's into the container (such as \
             /etc/ssl/certs/ca-certificates.crt)"
                .to_owned(),
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Error::Host(format!("TLS: {}", chain(&error))))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let bytes = read_file(file, MOST)?;
    Ok(CertificateDer::pem_slice_iter(&bytes).flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ca.pem");
        std::fs::write(&file, "nothing").unwrap();
        let error = config(std::slice::from_ref(&file), true).unwrap_err().to_string();
        assert!(
            error.ends_with("ca.pem: has no certificate in PEM (--registry-ca)"),
            "{error}"
        );
        let error = config(&[dir.path().join("none.pem")], true).unwrap_err().to_string();
        assert!(error.contains("none.pem: No such file"), "{error}");
        assert!(config(&[dir.path().to_owned()], true).is_err());
    }
}
