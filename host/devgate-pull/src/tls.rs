//! Whom a registry's certificate must come from: the system's authorities, and those that are named.

use crate::error::chain;
use devgate_oci::Error;
use devgate_oci::child::wire;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;

/// A configuration that trusts the system's store and the files that are named. Fails when a named file has no certificate, or when there
/// is none at all and it is `needed`.
pub(crate) fn config(access: &wire::Access, needed: bool) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    for named in &access.named {
        let (added, _) = roots.add_parsable_certificates(certificates(&named.pem));
        if added == 0 {
            return Err(Error::Host(format!("{}: has no certificate in PEM (--registry-ca)", named.file)));
        }
    }
    roots.add_parsable_certificates(certificates(&access.authorities));
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

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_named_and_none_at_all_is_said() {
        let with = |named: Vec<wire::Authorities>| wire::Access { named, ..wire::Access::default() };
        let empty = wire::Authorities { file: "/etc/ca.pem".to_owned(), pem: b"nothing".to_vec() };
        let error = config(&with(vec![empty]), true).unwrap_err().to_string();
        assert_eq!(error, "/etc/ca.pem: has no certificate in PEM (--registry-ca)");
        let error = config(&with(Vec::new()), true).unwrap_err().to_string();
        assert!(error.starts_with("no certificate authority is known here"), "{error}");
        config(&with(Vec::new()), false).unwrap();
    }
}
