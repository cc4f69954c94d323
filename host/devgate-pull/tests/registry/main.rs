//! A store, with the program that pulls for it, against registries that behave and that do not, over real sockets.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "a test")]

mod confined;
mod fake;
mod hostile;
mod keeping;
mod signing;

use devgate_oci::manifest::{CONFIG, LAYER, MANIFEST};
use devgate_oci::{Descriptor, Error, Registries, Store, StoreSettings, Wanted, digest};
use devgate_runner::{Program, ProgramError};
use devgate_types::{ByteSize, PinnedReference, Reference};
use fake::{Answer, Fake};
use std::path::Path;

const WANTED: Wanted<'static> = Wanted { most: ByteSize::mib(1), keys: None };

/// An artifact as it could have been pushed.
struct Pushed {
    manifest: Vec<u8>,
    layer: Vec<u8>,
}

impl Pushed {
    fn new(layer: &[u8]) -> Self {
        let config = serde_json::to_string(&Descriptor::of(CONFIG, b"{}")).unwrap();
        let entry = serde_json::to_string(&Descriptor::of(LAYER, layer)).unwrap();
        let manifest =
            format!(r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{config},"layers":[{entry}]}}"#);
        Self { manifest: manifest.into_bytes(), layer: layer.to_vec() }
    }

    fn at(&self, fake: &Fake) -> PinnedReference {
        let reference: Reference = format!("127.0.0.1:{}/vendor/gpu", fake.port()).parse().unwrap();
        reference.pinned_to(digest(&self.manifest))
    }

    /// Where its manifest and its layer are asked for.
    fn paths(&self) -> (String, String) {
        let manifest = format!("/v2/vendor/gpu/manifests/{}", digest(&self.manifest));
        (manifest, format!("/v2/vendor/gpu/blobs/{}", digest(&self.layer)))
    }

    /// A registry that has it and nothing else.
    fn serve(&self) -> Fake {
        let ((manifest, blob), bytes, layer) = (self.paths(), self.manifest.clone(), self.layer.clone());
        Fake::new(move |request| match &request.path {
            path if *path == manifest => Answer::ok(&bytes),
            path if *path == blob => Answer::ok(&layer),
            _ => Answer::status(404),
        })
    }
}

fn store_with(dir: &Path, pull: bool, config: Option<&Path>) -> Store {
    Store::new(StoreSettings {
        cache: dir.join("components"),
        most: ByteSize::mib(1),
        pull,
        registries: Registries { config: config.map(Path::to_owned), authorities: Vec::new(), plain_loopback: true },
        puller: puller(),
    })
}

/// The program itself.
fn puller() -> Result<Program, ProgramError> {
    Program::at(Path::new(env!("CARGO_BIN_EXE_devgate-pull")), devgate_pull::NAME)
}

fn store(dir: &Path) -> Store {
    store_with(dir, true, None)
}

fn refused(result: Result<Vec<u8>, Error>) -> String {
    match result.unwrap_err() {
        Error::Refused(text) => text,
        Error::Host(text) => panic!("host fault: {text}"),
    }
}

fn failed(result: Result<Vec<u8>, Error>) -> String {
    match result.unwrap_err() {
        Error::Host(text) => text,
        Error::Refused(text) => panic!("refused: {text}"),
    }
}
