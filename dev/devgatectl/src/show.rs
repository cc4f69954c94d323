//! `devgatectl show`: what a registry has of a component, without the component.

mod beside;
mod text;

use crate::cli::ShowArgs;
use crate::registry::{self, Raw, wait};
use beside::Refers;
use devgate::cli::Output;
use devgate::transfer::{Key, LARGEST, coded};
use devgate::{exit, output};
use devgate_oci::child::PAYLOAD;
use devgate_oci::{Error, Manifest, NotUsable, Packed, PublicKey, digest};
use devgate_pull::Session;
use devgate_types::{Reference, escape};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much of a registry's text is shown, and how many of a list.
const SHOWN: usize = 512;
const MAX_LISTED: usize = 64;
/// The most that is read of what is said of a component before it is fetched.
const MAX_CONFIG: u64 = 256 << 10;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Shown {
    /// With the digest, ready for a policy.
    oci: String,
    /// The component's bytes as they lie there.
    size: u64,
    /// The component's digest, as `sha256sum` prints it; nothing where it lies in an archive.
    sha256: Option<String>,
    annotations: BTreeMap<String, String>,
    /// What it imports and exports, as it was pushed with; nothing where that is not said.
    imports: Option<Vec<String>>,
    exports: Option<Vec<String>>,
    /// What its author put into it: `policy`, `config-schema`.
    carries: Vec<String>,
    /// Signatures of it that are there, whoever made them.
    signatures: usize,
    /// Whether one of the keys has signed it; nothing without a key.
    signed: Option<bool>,
    /// Why none has.
    unsigned: Option<String>,
    referrers: Vec<Refers>,
}

/// What the CNCF's layout says of a component beside it.
#[derive(Default, Deserialize)]
struct Config {
    component: Option<Component>,
}

#[derive(Deserialize)]
struct Component {
    #[serde(default)]
    imports: Vec<String>,
    #[serde(default)]
    exports: Vec<String>,
}

/// Runs the command.
pub(crate) fn show(args: &ShowArgs) -> anyhow::Result<u8> {
    let keys = args.cosign_key.iter().map(|file| Key::read(file).map(|key| key.key));
    let keys: Vec<_> = keys.collect::<anyhow::Result<_>>()?;
    let keys = (!keys.is_empty()).then_some(&*keys);
    let shown = wait(async {
        let mut session = registry::open(&args.registry.registries(), &args.reference.repository, false)?;
        Shown::get(&mut session, &args.reference, keys).await
    });
    let shown = shown.map_err(coded)?;
    match args.output {
        Output::Text => output::print(&text::of(&shown))?,
        Output::Json => output::print_json(&shown)?,
    }
    Ok(if shown.signed == Some(false) { exit::FOUND } else { exit::OK })
}

impl Shown {
    async fn get(session: &mut Session, wanted: &Reference, keys: Option<&[PublicKey]>) -> Result<Self, Error> {
        let (pinned, bytes) = registry::manifest(session, wanted).await?;
        let refused = |why: NotUsable| Error::Refused(format!("{pinned}: {why}"));
        if Raw::read(&bytes).artifact_type.as_deref() == Some(registry::INDEX) {
            let search = format!("{} search --index {pinned}", output::program());
            return Err(Error::Refused(format!(
                "{pinned}: is an index of components, and none itself; run `{search}`"
            )));
        }
        let (bytes, layer, packed) = match Manifest::read(&bytes, LARGEST).map_err(refused)? {
            Manifest::One(layer, packed) => (bytes, layer, packed),
            Manifest::Other(one) => {
                let one = registry::beside(&pinned, one.sha256().map_err(refused)?);
                let (_, one) = registry::manifest(session, &one).await?;
                match Manifest::read(&one, LARGEST).map_err(refused)? {
                    Manifest::One(layer, packed) => (one, layer, packed),
                    Manifest::Other(_) => return Err(Error::Refused(format!("{pinned}: is an index of an index"))),
                }
            }
        };
        let raw = Raw::read(&bytes);
        let config = match &raw.config {
            Some(config) if config.size > 2 => {
                let bytes = registry::small(session, config, MAX_CONFIG).await?;
                serde_json::from_slice::<Config>(&bytes).unwrap_or_default()
            }
            _ => Config::default(),
        };
        let (sha256, component) = (layer.sha256().map_err(refused)?, config.component);
        let signed = match keys {
            Some(keys) => Some(registry::signed_by(session, pinned.digest, keys).await?),
            None => None,
        };
        let (referrers, bundles) = beside::get(session, &pinned, &[sha256, digest(&bytes)], keys).await?;
        // Where cosign puts them; whose they are is not looked at.
        let tagged = session.layers(&format!("sha256-{}.sig", pinned.digest.hex())).await?;
        let tagged = tagged.iter().filter(|layer| layer.media_type == PAYLOAD).count();
        let list = |names: Vec<String>| names.iter().take(MAX_LISTED).map(|name| escape(name, SHOWN)).collect();
        let (imports, exports) = component.map(|it| (list(it.imports), list(it.exports))).unzip();
        let carries = raw.annotations.get(registry::CARRIES).into_iter().flat_map(|words| words.split(','));
        let carries = carries.filter(|word| registry::CARRIED.contains(word)).map(str::to_owned);
        Ok(Self {
            size: layer.size,
            sha256: (packed == Packed::Plain).then(|| sha256.hex()),
            carries: carries.collect(),
            annotations: raw.shown_annotations(),
            imports,
            exports,
            signatures: tagged + bundles,
            unsigned: signed.as_ref().and_then(|signed| Some(signed.as_ref().err()?.to_string())),
            signed: signed.map(|signed| signed.is_ok()),
            referrers,
            oci: pinned.to_string(),
        })
    }
}
