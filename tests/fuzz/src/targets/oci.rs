//! What a registry sends, and what an admin has for it.

use super::dir;
use crate::hold;
use devgate_oci::{Manifest, Packed, PublicKey, check_file, fuzz};
use devgate_types::{ByteSize, Digest, Repository};
use std::fs;

/// Measured.
const COST: hold::Cost = hold::Cost { per_byte: 1 << 11, besides: 1 << 20 };
/// The most bytes of a component.
const MAX_COMPONENT: ByteSize = ByteSize::kib(64);
/// A key, and what it has signed (host/oci/src/signature).
const KEY: &str = include_str!("../../../../host/oci/src/signature/sigstore.pem");
const SIGNED: &str = "sha256:f3cfc9d0dbf931d3db4685ec659b7ac68e2a578219da4aae65427886e649b06b";

/// A manifest leads to one layer, or is refused; and a file of credentials is one, or is refused.
pub fn manifest(input: &[u8]) {
    COST.holds(input.len(), || match Manifest::read(input, MAX_COMPONENT) {
        Err(why) => hold::message(&why.to_string()),
        Ok(Manifest::Other(one) | Manifest::One(one, _)) => {
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str(&text).ok(), Some(one));
        }
    });
    let dir = dir();
    let file = dir.path().join("config.json");
    fs::write(&file, input).unwrap();
    if let Err(why) = fuzz::credentials(&file, &repository()) {
        hold::message(&why.to_string());
    }
}

fn repository() -> Repository {
    Repository { registry: "registry.example.com".to_owned(), name: "acme/gpu".to_owned() }
}

/// A layer has one component, within its limit.
pub fn layer(input: &[u8]) {
    for packed in [Packed::Plain, Packed::Tar, Packed::TarGzip] {
        // A file that is unpacked may have grown to twice its size, and have an archive around it.
        let cost = hold::Cost { per_byte: 16, besides: 8 * MAX_COMPONENT.0 + (1 << 20) };
        cost.holds(input.len(), || match fuzz::component(input, packed, MAX_COMPONENT) {
            Err(why) => hold::message(&why.to_string()),
            Ok(component) => assert!(packed == Packed::Plain || component.len() as u64 <= MAX_COMPONENT.0),
        });
    }
}

/// A signature is of what its key has signed, and of nothing else.
pub fn signature(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    COST.holds(text.len(), || {
        let keys = [PublicKey::from_pem(KEY).unwrap()];
        let (payload, signature) = text.split_once('\n').unwrap_or_default();
        let simple = || (payload.to_owned(), signature.to_owned());
        let of = |digest: Digest| fuzz::signed(text.to_owned(), simple(), &keys, &digest);
        if let Err(why) = of(SIGNED.parse().unwrap()) {
            hold::message(&why.to_string());
        }
        let why = of(Digest([7; 32])).expect_err("nobody has signed it");
        hold::message(&why.to_string());
        let why = check_file(b"massage", text, &keys, "a.wasm").expect_err("nobody has signed it");
        hold::message(&why.to_string());
        let _ = check_file(b"message", text, &keys, "a.wasm").map_err(|why| hold::message(&why.to_string()));
        let _ = PublicKey::from_pem(text).map_err(|why| hold::message(&why.to_string()));
    });
}
