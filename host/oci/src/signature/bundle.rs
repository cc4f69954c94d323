//! Signatures as Sigstore bundles, in which cosign puts them since its version 3.
//!
//! After `protos/sigstore_bundle.proto` of Sigstore's protobuf-specs, and cosign's `specs/BUNDLE_SPEC.md`. Only the signature counts, and
//! only with a key of the policy: certificates, logs and times in a bundle are passed over.

use super::{PublicKey, envelope, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// How the media type of a bundle begins, whatever its version.
pub const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";
/// What cosign states where it signs an artifact. With the same key, others may be stated of it that are no consent, such as what
/// a scan found in it.
pub const SIGNS: &str = "https://sigstore.dev/cosign/sign/v1";
/// A text that is a bundle, as far as can be seen; other signatures are in base64.
pub(super) fn is_one(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

fn read(bundle: &str) -> Option<Value> {
    let bundle: Value = serde_json::from_str(bundle).ok()?;
    text(&bundle, "/mediaType")?.starts_with(BUNDLE).then_some(bundle)
}

/// Whether one of the keys has signed these bytes, as `cosign sign-blob --bundle` has it. The error says why the text is none that tells.
pub(super) fn is_of_file(bundle: &str, bytes: &[u8], keys: &[PublicKey]) -> Result<bool, &'static str> {
    let bundle = read(bundle).ok_or("is no Sigstore bundle, as `cosign sign-blob --bundle` writes it")?;
    let signature = text(&bundle, "/messageSignature/signature")
        .ok_or("is a Sigstore bundle without a signature of a file; `cosign sign-blob --bundle` makes one")?;
    let signature = STANDARD.decode(signature);
    let signature = signature.map_err(|_| "is a Sigstore bundle whose signature is not in base64")?;
    Ok(keys.iter().any(|key| key.has_signed(bytes, &signature)))
}

/// The artifact that one of the keys has signed; nothing where none has, or something else is stated.
pub(super) fn artifact(bundle: &str, keys: &[PublicKey]) -> Option<Vec<String>> {
    let bundle = read(bundle)?;
    let statement = envelope::signed(bundle.get("dsseEnvelope")?, keys)?;
    let digests = envelope::subjects(&statement).map(|hex| format!("sha256:{hex}"));
    (text(&statement, "/predicateType")? == SIGNS).then(|| digests.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::{Signed, check, check_file};
    use devgate_types::Digest;

    // Made by Sigstore's own library, `@sigstore/sign` 4.1.1: the file has the bytes "message".
    const KEY: &str = include_str!("sigstore.pem");
    const ARTIFACT: &str = include_str!("artifact.sigstore.json");
    const FILE: &str = include_str!("file.sigstore.json");
    const SIGNED: &str = "sha256:f3cfc9d0dbf931d3db4685ec659b7ac68e2a578219da4aae65427886e649b06b";

    fn keys() -> [PublicKey; 1] {
        [PublicKey::from_pem(KEY).unwrap()]
    }

    #[test]
    fn what_sigstores_own_library_makes_is_read() {
        let bundle = Signed::Bundle { bundle: ARTIFACT.to_owned() };
        let of = |digest: Digest| check(std::slice::from_ref(&bundle), &keys(), &digest);
        of(SIGNED.parse().unwrap()).unwrap();
        assert!(of(Digest([7; 32])).unwrap_err().to_string().contains(SIGNED));
        // As it is kept, and as it was before there were bundles.
        let kept = serde_json::to_string(std::slice::from_ref(&bundle)).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Signed>>(&kept).unwrap(), [bundle]);
        let simple: Signed = serde_json::from_str(r#"{"payload": "{}", "signature": "MEUC"}"#).unwrap();
        assert!(matches!(simple, Signed::Simple { .. }));
    }

    #[test]
    fn a_files_bundle_is_of_its_bytes() {
        check_file(b"message", FILE, &keys(), "a.wasm").unwrap();
        let refused = |bytes: &[u8], text: &str| check_file(bytes, text, &keys(), "a.wasm").unwrap_err().to_string();
        insta::assert_snapshot!(refused(b"massage", FILE), @"a.wasm is not signed by a key of the policy (signature.cosign-key): use its signer's key, or do not trust it");
        insta::assert_snapshot!(refused(b"message", ARTIFACT), @"a.wasm.sig is a Sigstore bundle without a signature of a file; `cosign sign-blob --bundle` makes one");
        let large = format!("{FILE}{}", " ".repeat(64 << 10));
        insta::assert_snapshot!(refused(b"message", &large), @"a.wasm.sig has more than 64 KiB, as no signature has; make it with `cosign sign-blob` (docs/components.md)");
        insta::assert_snapshot!(refused(b"message", "{}"), @"a.wasm.sig is no Sigstore bundle, as `cosign sign-blob --bundle` writes it");
        insta::assert_snapshot!(refused(b"message", &FILE.replace("MEQC", "!EQC")), @"a.wasm.sig is a Sigstore bundle whose signature is not in base64");
    }
}
