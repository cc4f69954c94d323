//! Signatures as cosign makes them with a key: checked with the key alone, without a certificate or a log of anybody's.

mod bundle;
pub mod envelope;

pub use bundle::{BUNDLE, SIGNS};

use crate::error::Error;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use devgate_types::{Digest, escape};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spki::der::asn1::{SequenceRef, UintRef};
use spki::der::{Decode, DecodePem, SliceReader};
use spki::{ObjectIdentifier, SubjectPublicKeyInfoOwned};

/// The media type of a payload (cosign, "Signature Specification").
pub const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// Where the signature of a payload is.
pub const ANNOTATION: &str = "dev.cosignproject.cosign/signature";
/// The most bytes of a payload, of a signature and of a bundle that are read.
pub const MAX_SIGNATURE: u64 = 64 * 1024;
/// The most of each.
pub const MAX_SIGNATURES: usize = 32;

const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EDWARDS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// A public key that counts.
#[derive(Clone)]
pub struct PublicKey {
    kind: &'static dyn VerificationAlgorithm,
    bytes: Vec<u8>,
    pem: String,
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}

/// What is wrong with a key, without the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidKey(String);

/// Why no key has signed an artifact, and what to do; without the artifact's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotSigned(String);

/// Those that are there are others'.
const NO_KEY: &str =
    "is not signed by a key of the policy (signature.cosign-key): use its signer's key, or do not trust it";

impl PublicKey {
    /// Reads a key from PEM, as `cosign generate-key-pair` and `openssl pkey -pubout` write it: ECDSA with P-256, Ed25519, or RSA with
    /// 2,048 to 8,192 bits. The error says what is wrong, without the file's name.
    pub fn from_pem(text: &str) -> Result<Self, InvalidKey> {
        let wrong = |why: &str| InvalidKey(why.to_owned());
        if text.contains("PRIVATE KEY") {
            return Err(wrong("is a private key; it belongs to the signer, and here goes the public one"));
        }
        let read = SubjectPublicKeyInfoOwned::from_pem(text.trim_start());
        let info = read.map_err(|_| wrong("is no public key in PEM (-----BEGIN PUBLIC KEY-----)"))?;
        let curve = info.algorithm.parameters.as_ref().and_then(|any| any.decode_as::<ObjectIdentifier>().ok());
        let kind: &'static dyn VerificationAlgorithm = match info.algorithm.oid {
            EC if curve == Some(P256) => &ECDSA_P256_SHA256_ASN1,
            RSA => &RSA_PKCS1_2048_8192_SHA256,
            EDWARDS => &ED25519,
            _ => {
                return Err(wrong("is a key of a kind that is not known here; ECDSA with P-256, Ed25519 and RSA are"));
            }
        };
        let bytes = info.subject_public_key.raw_bytes();
        // Such a key would be taken for one that has signed nothing.
        if info.algorithm.oid == RSA {
            let bits = modulus_bits(bytes).ok_or_else(|| wrong("is an RSA key that cannot be read"))?;
            if !(2_048..=8_192).contains(&bits) {
                return Err(InvalidKey(format!("is an RSA key of {bits} bits; those of 2048 to 8192 count")));
            }
        }
        if info.algorithm.oid == EC && !matches!(bytes, [4, point @ ..] if point.len() == 64) {
            return Err(wrong(
                "has its point in another form than the uncompressed one, which `openssl pkey -pubin -ec_conv_form \
                 uncompressed` writes",
            ));
        }
        if info.algorithm.oid == EDWARDS && bytes.len() != 32 {
            return Err(wrong("is an Ed25519 key that does not have 32 bytes"));
        }
        Ok(Self { kind, bytes: bytes.to_vec(), pem: text.to_owned() })
    }

    /// As it was read.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(self.kind, &self.bytes).verify(message, signature).is_ok()
    }
}

/// How large an RSA key is (RFC 8017, A.1.1: a sequence of the modulus and the exponent).
fn modulus_bits(key: &[u8]) -> Option<u32> {
    let sequence = <&SequenceRef>::from_der(key).ok()?;
    let mut inner = SliceReader::new(sequence.as_bytes()).ok()?;
    let modulus = UintRef::decode(&mut inner).ok()?;
    let bytes = modulus.as_bytes();
    let length = u32::try_from(bytes.len()).ok()?.checked_mul(8)?;
    length.checked_sub(bytes.first()?.leading_zeros())
}

/// What cosign puts beside an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Signed {
    /// What was signed, and the signature in base64: cosign's own form.
    Simple {
        /// What was signed.
        payload: String,
        /// In base64.
        signature: String,
    },
    /// Both in one: Sigstore's form.
    Bundle {
        /// In JSON.
        bundle: String,
    },
}

impl Signed {
    /// Its bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Simple { payload, signature } => payload.len() + signature.len(),
            Self::Bundle { bundle } => bundle.len(),
        }
    }

    /// What one of the keys has signed: digests. Nothing where none has.
    fn means(&self, keys: &[PublicKey]) -> Option<Vec<String>> {
        match self {
            Self::Simple { payload, signature } => {
                let signature = STANDARD.decode(signature.trim()).ok()?;
                // Only what the key has signed is worth reading.
                let mut keys = keys.iter();
                keys.find(|key| key.has_signed(payload.as_bytes(), &signature))?;
                let payload: Value = serde_json::from_str(payload).ok()?;
                let digest = text(&payload, "/critical/image/docker-manifest-digest")?;
                let is_consent = text(&payload, "/critical/type")? == "cosign container image signature";
                is_consent.then(|| vec![digest.to_owned()])
            }
            Self::Bundle { bundle } => bundle::artifact(bundle, keys),
        }
    }
}

/// The string at a place of a document (RFC 6901).
fn text<'a>(document: &'a Value, at: &str) -> Option<&'a str> {
    document.pointer(at)?.as_str()
}

/// Whether one of the keys has signed this very artifact. The error says why none has, and what to do; without the artifact's name.
pub fn check(signed: &[Signed], keys: &[PublicKey], artifact: &Digest) -> Result<(), NotSigned> {
    if signed.is_empty() {
        let why = "has no signature in its registry; sign it with `cosign sign --key` (docs/components.md)";
        return Err(NotSigned(why.to_owned()));
    }
    let (artifact, mut other) = (artifact.to_string(), None);
    for digests in signed.iter().filter_map(|one| one.means(keys)) {
        if digests.contains(&artifact) {
            return Ok(());
        }
        other = digests.first().map(|digest| escape(digest, 80)).or(other);
    }
    Err(NotSigned(match other {
        Some(other) => format!(
            "has a signature that is good for {other} and not for it: it was moved here from another artifact, or \
             the wrong one was pushed"
        ),
        None => NO_KEY.to_owned(),
    }))
}

/// Whether one of the keys has signed a file; its signature as `cosign sign-blob` writes it, in base64 or as a bundle. The error says why
/// none has, and what to do.
pub fn check_file(bytes: &[u8], signature: &str, keys: &[PublicKey], name: &str) -> Result<(), Error> {
    if signature.len() as u64 > MAX_SIGNATURE {
        return Err(Error::Refused(format!(
            "{name}.sig has more than {} KiB, as no signature has; make it with `cosign sign-blob` (docs/components.md)",
            MAX_SIGNATURE >> 10
        )));
    }
    let is_signed = if bundle::is_one(signature) {
        bundle::is_of_file(signature, bytes, keys)
    } else {
        let signature = STANDARD.decode(signature.trim());
        let signature = signature.map_err(|_| "is no signature in base64, as `cosign sign-blob` writes it");
        signature.map(|signature| keys.iter().any(|key| key.has_signed(bytes, &signature)))
    };
    if is_signed.map_err(|why| Error::Refused(format!("{name}.sig {why}")))? {
        return Ok(());
    }
    Err(Error::Refused(format!("{name} {NO_KEY}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Made by cosign; from the tests of the crate `sigstore` 0.15.0 (src/cosign/signature_layers.rs, Apache-2.0).
    const KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAENptdY/l3nB0yqkXLBWkZWQwo6+cu
OSWS1X9vPavpiQOoTTGC0xX57OojUadxF1cdQmrsiReWg2Wn4FneJfa8xw==
-----END PUBLIC KEY-----
";
    const SIGNATURE: &str =
        "MEUCIQD6q/COgzOyW0YH1Dk+CCYSt4uAhm3FDHUwvPI55zwnlwIgE0ZK58ZOWpZw8YVmBapJhBqCfdPekIknimuO0xH8Jh8=";
    const PAYLOAD: &str = r#"{"critical":{"identity":{"docker-reference":"registry-testing.svc.lan/busybox"},"image":{"docker-manifest-digest":"sha256:f3cfc9d0dbf931d3db4685ec659b7ac68e2a578219da4aae65427886e649b06b"},"type":"cosign container image signature"},"optional":null}"#;
    const SIGNED: &str = "sha256:f3cfc9d0dbf931d3db4685ec659b7ac68e2a578219da4aae65427886e649b06b";
    const OTHER: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEgYKR7SoWbXjHya1Bc2Ih3kX8wv8w
Y7StaVsRXzbcIL0jECiKzKarPxQQ69uVmZ6c0JEVQhBeN9w3pr75D4o2/A==
-----END PUBLIC KEY-----
";

    fn key(pem: &str) -> PublicKey {
        PublicKey::from_pem(pem).unwrap()
    }

    fn signed(payload: &str, signature: &str) -> Signed {
        Signed::Simple { payload: payload.to_owned(), signature: signature.to_owned() }
    }

    #[test]
    fn a_signature_of_cosign_is_good_for_its_artifact_alone() {
        let artifact: Digest = SIGNED.parse().unwrap();
        let good = signed(PAYLOAD, SIGNATURE);
        check(std::slice::from_ref(&good), &[key(KEY)], &artifact).unwrap();
        // Others beside it, and an older key beside the newer, do no harm.
        let several = [signed("{}", "!"), signed("{}", SIGNATURE), good.clone()];
        check(&several, &[key(OTHER), key(KEY)], &artifact).unwrap();
        let refused =
            |signed: &[Signed], pem: &str, artifact: Digest| check(signed, &[key(pem)], &artifact).unwrap_err();
        insta::assert_snapshot!(refused(&[], KEY, artifact), @"has no signature in its registry; sign it with `cosign sign --key` (docs/components.md)");
        insta::assert_snapshot!(refused(std::slice::from_ref(&good), OTHER, artifact), @"is not signed by a key of the policy (signature.cosign-key): use its signer's key, or do not trust it");
        insta::assert_snapshot!(refused(std::slice::from_ref(&good), KEY, Digest([7; 32])), @"has a signature that is good for sha256:f3cfc9d0dbf931d3db4685ec659b7ac68e2a578219da4aae65427886e649b06b and not for it: it was moved here from another artifact, or the wrong one was pushed");
        let changed = signed(&PAYLOAD.replace("f3cf", "f3ce"), SIGNATURE);
        assert!(check(&[changed], &[key(KEY)], &artifact).is_err());
        assert!(check(&[signed(PAYLOAD, &SIGNATURE.replace("MEUC", "MEUD"))], &[key(KEY)], &artifact).is_err());
        assert!(check(std::slice::from_ref(&good), &[], &artifact).is_err());
    }

    #[test]
    fn a_files_signature_is_of_its_bytes() {
        check_file(PAYLOAD.as_bytes(), &format!("{SIGNATURE}\n"), &[key(KEY)], "a.wasm").unwrap();
        let refused = |bytes: &[u8], signature: &str| check_file(bytes, signature, &[key(KEY)], "a.wasm").unwrap_err();
        insta::assert_snapshot!(refused(b"other", SIGNATURE), @"a.wasm is not signed by a key of the policy (signature.cosign-key): use its signer's key, or do not trust it");
        insta::assert_snapshot!(refused(PAYLOAD.as_bytes(), "?"), @"a.wasm.sig is no signature in base64, as `cosign sign-blob` writes it");
    }

    #[test]
    fn other_kinds_of_keys_count_and_what_is_no_key_is_refused() {
        // Made with `openssl genpkey -algorithm ed25519`, and `openssl pkeyutl -sign -rawin` over "message".
        for (pem, signature) in OPENSSL {
            check_file(b"message", signature, &[key(pem)], "a.wasm").unwrap();
            assert!(check_file(b"massage", signature, &[key(pem)], "a.wasm").is_err());
        }
        let refused = |text: &str| PublicKey::from_pem(text).unwrap_err();
        insta::assert_snapshot!(refused("ssh-ed25519 AAAA"), @"is no public key in PEM (-----BEGIN PUBLIC KEY-----)");
        insta::assert_snapshot!(refused(&KEY.replace("PUBLIC", "ENCRYPTED SIGSTORE PRIVATE")), @"is a private key; it belongs to the signer, and here goes the public one");
        insta::assert_snapshot!(refused(P384), @"is a key of a kind that is not known here; ECDSA with P-256, Ed25519 and RSA are");
    }

    #[test]
    fn a_key_that_could_not_check_any_signature_is_refused_when_it_is_read() {
        let refused = |text: &str| PublicKey::from_pem(text).unwrap_err();
        insta::assert_snapshot!(refused(RSA_1024), @"is an RSA key of 1024 bits; those of 2048 to 8192 count");
        insta::assert_snapshot!(refused(COMPRESSED), @"has its point in another form than the uncompressed one, which `openssl pkey -pubin -ec_conv_form uncompressed` writes");
        insta::assert_snapshot!(refused(&format!("{KEY}{OTHER}")), @"is no public key in PEM (-----BEGIN PUBLIC KEY-----)");
        key(&format!("the vendor's, of 2026\n{}", KEY.replace('\n', "\r\n")));
    }

    const RSA_1024: &str = include_str!("signature/rsa1024.pem");
    const COMPRESSED: &str = include_str!("signature/compressed.pem");
    const OPENSSL: &[(&str, &str)] = include!("signature/openssl.in");
    const P384: &str = include_str!("signature/p384.pem");
}
