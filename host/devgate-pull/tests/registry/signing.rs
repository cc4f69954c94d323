//! Signatures beside an artifact, when keys change and when the registry is away.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use devgate_oci::PublicKey;
use devgate_oci::child::{ANNOTATION, PAYLOAD, SIGNS, Signed};
use devgate_oci::manifest::INDEX;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What comes before a P-256 point in a public key (RFC 5480).
const HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

struct Signer(EcdsaKeyPair);

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let kind = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(kind, key.as_ref(), &random).unwrap())
    }

    fn public(&self) -> PublicKey {
        let point = self.0.public_key().as_ref();
        let text = STANDARD.encode([&HEAD, point].concat());
        let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"));
        PublicKey::from_pem(&pem).unwrap()
    }

    /// The manifest of a signature as cosign pushes it, and its payload.
    fn sign(&self, artifact: &Pushed) -> (Vec<u8>, Vec<u8>) {
        self.sign_as("cosign container image signature", artifact)
    }

    /// The same for what says itself to be something else.
    fn sign_as(&self, what: &str, artifact: &Pushed) -> (Vec<u8>, Vec<u8>) {
        let payload = format!(
            r#"{{"critical":{{"identity":{{"docker-reference":"x"}},"image":{{"docker-manifest-digest":"{}"}},"type":"{what}"}},"optional":null}}"#,
            digest(&artifact.manifest)
        );
        let signature = self.0.sign(&SystemRandom::new(), payload.as_bytes()).unwrap();
        let mut layer = Descriptor::of(PAYLOAD, payload.as_bytes());
        layer.annotations = Some(BTreeMap::from([(ANNOTATION.to_owned(), STANDARD.encode(signature.as_ref()))]));
        let layer = serde_json::to_string(&layer).unwrap();
        let manifest = format!(r#"{{"schemaVersion":2,"layers":[{layer}]}}"#);
        (manifest.into_bytes(), payload.into_bytes())
    }
}

impl Signer {
    /// The bundle of a statement about an artifact.
    fn states(&self, what: &str, artifact: &Pushed) -> Vec<u8> {
        let hex = digest(&artifact.manifest).hex();
        let statement = format!(
            r#"{{"_type":"https://in-toto.io/Statement/v1","subject":[{{"digest":{{"sha256":"{hex}"}}}}],"predicateType":"{what}","predicate":{{}}}}"#
        );
        let kind = "application/vnd.in-toto+json";
        let message = format!("DSSEv1 {} {kind} {} {statement}", kind.len(), statement.len());
        let signature = self.0.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        let (payload, signature) = (STANDARD.encode(&statement), STANDARD.encode(signature.as_ref()));
        format!(
            r#"{{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{{"publicKey":{{"hint":"x"}}}},"dsseEnvelope":{{"payload":"{payload}","payloadType":"{kind}","signatures":[{{"sig":"{signature}"}}]}}}}"#
        )
        .into_bytes()
    }
}

/// A manifest with a bundle in it, and what a registry's list of referrers says of it, and then that of a client that keeps it itself
/// (go-containerregistry, which cosign uses: the type of the configuration in place of the manifest's, and no annotations).
fn referrer(bundle: &[u8], states: &str) -> (Vec<u8>, String, String) {
    let kind = "application/vnd.dev.sigstore.bundle.v0.3+json";
    let layer = serde_json::to_string(&Descriptor::of(kind, bundle)).unwrap();
    let manifest = format!(r#"{{"schemaVersion":2,"artifactType":"{kind}","layers":[{layer}]}}"#).into_bytes();
    let listed = format!(
        r#"{{"mediaType":"{MANIFEST}","digest":"{}","size":{},"artifactType":"{kind}","annotations":{{"dev.sigstore.bundle.predicateType":"{states}"}}}}"#,
        digest(&manifest),
        manifest.len()
    );
    let kept = format!(
        r#"{{"mediaType":"{MANIFEST}","digest":"{}","size":{},"artifactType":"application/vnd.oci.empty.v1+json"}}"#,
        digest(&manifest),
        manifest.len()
    );
    (manifest, listed, kept)
}

/// How a registry answers who asks for what refers to an artifact.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Asked {
    Told,
    /// With this status.
    Not(u16),
    /// With a page for people.
    Page,
    /// By sending elsewhere, which answers with this status.
    Elsewhere(u16),
    BrokenOff,
}

/// A registry with an artifact, and bundles that refer to it; of those that are lost, it has only the list.
fn with_bundles(artifact: &Pushed, asked: Asked, bundles: &[(Vec<u8>, &str)], lost: usize) -> (Fake, Option<Fake>) {
    let (mut listed, mut kept, mut has) = (Vec::new(), Vec::new(), Vec::new());
    for (number, (bundle, states)) in bundles.iter().enumerate() {
        let (manifest, as_listed, as_kept) = referrer(bundle, states);
        has.push((digest(&manifest), manifest));
        if number >= lost {
            has.push((digest(bundle), bundle.clone()));
        }
        listed.push(as_listed);
        kept.push(as_kept);
    }
    let index = |all: &[String]| {
        let all = all.join(",");
        format!(r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{{"digest":"sha512:x"}},{all}]}}"#)
    };
    let (listed, kept) = (index(&listed), index(&kept));
    let elsewhere = match asked {
        Asked::Elsewhere(status) => Some(Fake::new(move |_| Answer::status(status))),
        _ => None,
    };
    let to = elsewhere.as_ref().map(|fake| format!("Location: http://localhost:{}/", fake.port()));
    let (paths, bytes, layer) = (artifact.paths(), artifact.manifest.clone(), artifact.layer.clone());
    let hex = digest(&bytes).hex();
    let fake = Fake::new(move |request| {
        let path = request.path.as_str();
        let one = has.iter().find(|(digest, _)| path.ends_with(&digest.to_string()));
        match (path, one) {
            _ if path == paths.0 => Answer::ok(&bytes),
            _ if path == paths.1 => Answer::ok(&layer),
            (_, Some((_, bytes))) => Answer::ok(bytes),
            _ if path.ends_with(&format!("/referrers/sha256:{hex}")) => match asked {
                Asked::Told => Answer::ok(listed.as_bytes()),
                Asked::Not(status) => Answer::status(status),
                Asked::Page => Answer::ok(b"<html>Sign in"),
                Asked::Elsewhere(_) => Answer::with(303, to.as_deref().unwrap()),
                Asked::BrokenOff => Answer::raw("\0\0\0"),
            },
            _ if asked != Asked::Told && path.ends_with(&format!("/manifests/sha256-{hex}")) && !has.is_empty() => {
                Answer::ok(kept.as_bytes())
            }
            _ => Answer::status(404),
        }
    });
    (fake, elsewhere)
}

fn get_signed(artifact: &Pushed, fake: &Fake, keys: &[PublicKey]) -> Result<Vec<u8>, Error> {
    let dir = tempfile::tempdir().unwrap();
    let wanted = Wanted { keys: Some(keys), ..WANTED };
    let (store, reference) = (store(dir.path()), artifact.at(fake));
    let got = store.get(&reference, wanted);
    let is_kept = store.kept(&reference, wanted).is_some();
    assert_eq!(is_kept, got.is_ok(), "what convinced is kept");
    got
}

/// As cosign 3 has it: referrers, asked for where the registry knows that, and under a tag where it does not.
#[test]
fn bundles_that_refer_to_an_artifact_count_however_its_registry_has_them() {
    let (artifact, signer) = (Pushed::new(b"component"), Signer::new());
    let good = [(signer.states(SIGNS, &artifact), SIGNS)];
    for asked in [
        Asked::Told,
        Asked::Not(404),
        Asked::Not(405),
        Asked::Not(503),
        Asked::Page,
        Asked::Elsewhere(429),
        Asked::Elsewhere(403),
        Asked::BrokenOff,
    ] {
        let (fake, _elsewhere) = with_bundles(&artifact, asked, &good, 0);
        let got = get_signed(&artifact, &fake, &[signer.public()]);
        assert_eq!(got.unwrap(), b"component", "{asked:?}");
    }
}

#[test]
fn a_bundle_that_does_not_consent_to_the_artifact_is_refused() {
    let (artifact, signer) = (Pushed::new(b"component"), Signer::new());
    let scan = "https://cosign.sigstore.dev/attestation/vuln/v1";
    let (scan, other) = (signer.states(scan, &artifact), signer.states(SIGNS, &Pushed::new(b"another")));
    // Whatever is said beside it.
    for asked in [Asked::Told, Asked::Not(404)] {
        let (fake, _) = with_bundles(&artifact, asked, &[(scan.clone(), SIGNS)], 0);
        let why = refused(get_signed(&artifact, &fake, &[signer.public()]));
        assert!(why.contains("is not signed by a key of the policy"), "{why}");
        assert_eq!(fake.count(&artifact.paths().1), 0, "the component is not even pulled");
        let (fake, _) = with_bundles(&artifact, asked, &[(other.clone(), SIGNS)], 0);
        let why = refused(get_signed(&artifact, &fake, &[signer.public()]));
        assert!(why.contains("has a signature that is good for sha256:"), "{why}");
    }
}

/// Any pusher could put it there.
#[test]
fn a_bundle_that_is_lost_is_not_in_the_way_of_a_good_one() {
    let (artifact, signer) = (Pushed::new(b"component"), Signer::new());
    let bundles = [(b"{}".to_vec(), SIGNS), (signer.states(SIGNS, &artifact), SIGNS)];
    let (fake, _) = with_bundles(&artifact, Asked::Told, &bundles, 1);
    assert_eq!(get_signed(&artifact, &fake, &[signer.public()]).unwrap(), b"component");
    // Alone, it is a fault: it might have been the one.
    let (fake, _) = with_bundles(&artifact, Asked::Told, &bundles[..1], 1);
    let why = failed(get_signed(&artifact, &fake, &[signer.public()]));
    assert!(why.contains("its registry has no sha256:"), "{why}");
}

#[test]
fn that_nobody_could_be_asked_is_no_word_of_a_missing_signature() {
    let (artifact, signer) = (Pushed::new(b"component"), Signer::new());
    let keys = [signer.public()];
    for asked in [Asked::BrokenOff, Asked::Not(403), Asked::Not(503)] {
        let (fake, _) = with_bundles(&artifact, asked, &[], 0);
        failed(get_signed(&artifact, &fake, &keys));
    }
    for asked in [Asked::Told, Asked::Not(404), Asked::Page, Asked::Elsewhere(429)] {
        let (fake, _elsewhere) = with_bundles(&artifact, asked, &[], 0);
        let why = refused(get_signed(&artifact, &fake, &keys));
        assert!(why.contains("has no signature in its registry"), "{asked:?}: {why}");
    }
}

#[test]
fn signatures_that_are_too_many_or_too_large_are_said() {
    let (artifact, signer, other) = (Pushed::new(b"component"), Signer::new(), Signer::new());
    let keys = [signer.public()];
    let many: Vec<_> = (0..33).map(|_| (other.states(SIGNS, &artifact), SIGNS)).collect();
    let large = [(vec![b' '; 65 * 1024], SIGNS)];
    for bundles in [&many[..], &large] {
        let (fake, _) = with_bundles(&artifact, Asked::Told, bundles, 0);
        let why = refused(get_signed(&artifact, &fake, &keys));
        assert!(why.contains("as far as its signatures were looked at"), "{why}");
    }
}

/// What is said beside a bundle is anybody's; what it states is the signer's.
#[test]
fn a_statement_that_is_no_consent_is_none_whatever_is_said_beside_it() {
    let (artifact, signer) = (Pushed::new(b"component"), Signer::new());
    let text = |states: &str| String::from_utf8(signer.states(states, &artifact)).unwrap();
    let check = |bundle: String, key: &Signer| {
        devgate_oci::child::check(&[Signed::Bundle { bundle }], &[key.public()], &digest(&artifact.manifest))
    };
    check(text(SIGNS), &signer).unwrap();
    check(text("https://spdx.dev/Document"), &signer).unwrap_err();
    check(text(SIGNS), &Signer::new()).unwrap_err();
    check(text(SIGNS).replace("in-toto+json\",\"sig", "in-toto+yaml\",\"sig"), &signer).unwrap_err();
    check(text(SIGNS).replace("sigstore.bundle", "other.bundle"), &signer).unwrap_err();
    for cut in 0..text(SIGNS).len() {
        check(text(SIGNS)[..cut].to_owned(), &signer).unwrap_err();
    }
}

/// The manifest of a signature, and its payload.
type Signature = (Vec<u8>, Vec<u8>);

/// A registry with an artifact, and with the signature that is put there.
fn serve(artifact: &Pushed, signature: &Arc<Mutex<Option<Signature>>>) -> Fake {
    let ((manifest, blob), bytes, layer) = (artifact.paths(), artifact.manifest.clone(), artifact.layer.clone());
    let tag = format!("/v2/vendor/gpu/manifests/sha256-{}.sig", digest(&bytes).hex());
    let signature = Arc::clone(signature);
    Fake::new(move |request| {
        let signature = signature.lock().unwrap();
        match (&request.path, &*signature) {
            (path, _) if *path == manifest => Answer::ok(&bytes),
            (path, _) if *path == blob => Answer::ok(&layer),
            (path, Some((signed, _))) if *path == tag => Answer::ok(signed),
            (path, Some((_, payload))) if path.ends_with(&digest(payload).to_string()) => Answer::ok(payload),
            _ => Answer::status(404),
        }
    })
}

#[test]
fn only_what_a_key_of_the_policy_signed_is_used_and_new_keys_count_at_once() {
    let (dir, artifact, signature) = (tempfile::tempdir().unwrap(), Pushed::new(b"component"), Arc::default());
    let (old, new) = (Signer::new(), Signer::new());
    let fake = serve(&artifact, &signature);
    let (store, reference) = (store(dir.path()), artifact.at(&fake));
    let get = |keys: &[PublicKey]| {
        let wanted = Wanted { keys: Some(keys), ..WANTED };
        store.get(&reference, wanted)
    };
    let none = refused(get(&[old.public()]));
    assert!(none.contains("has no signature in its registry"), "{none}");
    *signature.lock().unwrap() = Some(old.sign(&Pushed::new(b"another")));
    let other = refused(get(&[old.public()]));
    assert!(other.contains("has a signature that is good for sha256:"), "{other}");
    *signature.lock().unwrap() = Some(old.sign_as("atomic container signature", &artifact));
    let no_consent = refused(get(&[old.public()]));
    assert!(no_consent.contains("is not signed by a key of the policy"), "{no_consent}");
    *signature.lock().unwrap() = Some(old.sign(&artifact));
    let wrong = refused(get(&[new.public()]));
    assert!(wrong.contains("is not signed by a key of the policy (signature.cosign-key)"), "{wrong}");
    assert!(!dir.path().join("components").exists(), "nothing of it was kept");
    assert_eq!(get(&[new.public(), old.public()]).unwrap(), b"component");
    // The key is changed, and what is kept was signed by the old one.
    let rotated = refused(get(&[new.public()]));
    assert!(rotated.contains("is not signed by a key of the policy"), "{rotated}");
    *signature.lock().unwrap() = Some(new.sign(&artifact));
    assert_eq!(get(&[new.public()]).unwrap(), b"component");
    assert_eq!(
        fake.count(&artifact.paths().1),
        1,
        "the component itself is pulled when its signature convinces, and never again"
    );
    drop(fake);
    assert_eq!(get(&[new.public()]).unwrap(), b"component", "the signature is kept, too");
    let away = failed(get(&[old.public()]));
    assert!(
        away.contains("is not signed by a key of the policy")
            && away.contains("its registry cannot be asked for others"),
        "{away}"
    );
}
