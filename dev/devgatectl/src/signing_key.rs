//! A private key, with which what this program says of a component is signed.

use crate::inspect;
use anyhow::{Context, bail};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use spki::der::Document;
use std::path::Path;

/// The largest file that is looked at.
const MAX_FILE: u64 = 16 << 10;

/// A key of one of the kinds whose public halves a policy can name.
pub(crate) enum SigningKey {
    Ecdsa(EcdsaKeyPair),
    Edwards(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// Reads one, as `openssl genpkey` writes it.
    ///
    /// # Errors
    /// Where the file cannot be read, or what stands in it is none.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let bytes = inspect::read(file, MAX_FILE)?;
        let text = String::from_utf8_lossy(&bytes);
        Self::from_pem(&text).with_context(|| format!("key {}", file.display()))
    }

    fn from_pem(text: &str) -> anyhow::Result<Self> {
        if text.contains("ENCRYPTED") {
            bail!(
                "is encrypted; give one that is not, such as `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` writes"
            );
        }
        if text.contains("BEGIN PUBLIC KEY") {
            bail!("is a public key; the private one signs");
        }
        let read = Document::from_pem(text.trim_start());
        let (_, document) = read.ok().filter(|(label, _)| *label == "PRIVATE KEY").context(
            "is no private key in PEM (-----BEGIN PRIVATE KEY-----); `openssl pkcs8 -topk8 -nodes` makes one of other forms",
        )?;
        let der = document.as_bytes();
        if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &SystemRandom::new()) {
            return Ok(Self::Ecdsa(pair));
        }
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
            return Ok(Self::Edwards(pair));
        }
        match RsaKeyPair::from_pkcs8(der) {
            Ok(pair) => Ok(Self::Rsa(pair)),
            Err(_) => bail!(
                "is a key of a kind that is not known here; ECDSA with P-256, Ed25519 and RSA of 2048 to 4096 bits are"
            ),
        }
    }

    /// The signature of a message.
    ///
    /// # Errors
    /// Where the machine gives no random numbers.
    pub(crate) fn sign(&self, message: &[u8]) -> anyhow::Result<Vec<u8>> {
        let failed = |_| anyhow::anyhow!("the key could not sign: no random numbers to be had");
        match self {
            Self::Ecdsa(pair) => {
                let signature = pair.sign(&SystemRandom::new(), message).map_err(failed)?;
                Ok(signature.as_ref().to_vec())
            }
            Self::Edwards(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use ring::signature::{
        ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1_SIGNING, ED25519, KeyPair, UnparsedPublicKey,
    };

    fn pem(label: &str, der: &[u8]) -> String {
        let text = STANDARD.encode(der);
        let lines: String = text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line) + "\n").collect();
        format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
    }

    /// Of RSA, and all of them by openssl: the tests of registries.
    #[test]
    fn a_key_signs_what_its_public_half_checks() {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let key = SigningKey::from_pem(&pem("PRIVATE KEY", made.as_ref())).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, pair.public_key().as_ref());
        public.verify(b"message", &key.sign(b"message").unwrap()).unwrap();
        let made = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let key = SigningKey::from_pem(&pem("PRIVATE KEY", made.as_ref())).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap();
        let public = UnparsedPublicKey::new(&ED25519, pair.public_key().as_ref());
        public.verify(b"message", &key.sign(b"message").unwrap()).unwrap();
    }

    #[test]
    fn what_could_not_sign_says_what_to_do() {
        let refused = |text: &str| SigningKey::from_pem(text).map(drop).unwrap_err().to_string();
        let other = EcdsaKeyPair::generate_pkcs8(&ECDSA_P384_SHA384_ASN1_SIGNING, &SystemRandom::new()).unwrap();
        assert!(
            refused(&pem("ENCRYPTED SIGSTORE PRIVATE KEY", b"x")).starts_with("is encrypted; give one that is not")
        );
        assert_eq!(refused(&pem("PUBLIC KEY", b"x")), "is a public key; the private one signs");
        assert!(refused(&pem("EC PRIVATE KEY", other.as_ref())).contains("`openssl pkcs8 -topk8 -nodes`"));
        assert!(refused("ssh-ed25519 AAAA").starts_with("is no private key in PEM"));
        assert!(refused(&pem("PRIVATE KEY", other.as_ref())).starts_with("is a key of a kind that is not known here"));
    }
}
