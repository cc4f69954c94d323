//! Options of `devgatectl push`.

use clap::Args;
use devgate::cli::{Output, RegistryArgs};
use devgate_types::Reference;
use std::path::PathBuf;

/// What `devgatectl push --help` says last.
pub(super) const PUSH_HELP: &str = "\
Examples:
  devgatectl push vendor.wasm registry.example.com/vendor/gpu:1.2
  devgatectl push vendor.wasm registry.example.com/vendor/gpu:1.2 --annotation org.opencontainers.image.source=https://example.com/gpu
  devgatectl push vendor.wasm registry.example.com/vendor/gpu:1.2 --key vendor.key --attest conform.intoto.jsonl
  devgatectl push vendor.wasm registry.example.com/vendor/gpu:1.2 --output json | jq -r .oci
  devgatectl push vendor.wasm registry.example.com/vendor/gpu:1.2 --layout release    for skopeo, oras and cosign
  devgatectl push wit registry.example.com/devgate/plugin:0.1.0                       a package of WIT, which `wkg` fetches

The same component makes the same artifact, with the same digest. docs/components.md says how to sign it, also with cosign.

Exit codes:
  0  it is in the registry under this tag
  1  the registry cannot be asked, does not take it, or the file cannot be read
  5  it is no component that this host could run and no package of WIT, the tag is given to something else, or nothing is
     attested of it; nothing was pushed";

/// Options of `devgatectl push`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PushArgs {
    /// The component's file, or the directory of a package of WIT
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Where to push it: registry, name and tag
    #[arg(value_name = "REFERENCE")]
    pub(crate) reference: Reference,

    /// Take the tag away from what it is given to
    #[arg(long)]
    pub(crate) replace: bool,

    /// A folder to write it into, in the OCI image layout and beside what is there, in place of pushing it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["replace", "attest"])]
    pub(crate) layout: Option<PathBuf>,

    /// A private key in PEM that is not encrypted: the component is signed with it as cosign does
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,

    /// What `conform --attest` wrote of this component, to be put beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) attest: Option<PathBuf>,

    /// An annotation of the artifact; may be given several times. Title, version, licence, source and description come from the
    /// component, where it says them
    #[arg(long, value_name = "NAME=VALUE", value_parser = annotation)]
    pub(crate) annotation: Vec<(String, String)>,

    #[command(flatten)]
    pub(crate) registry: RegistryArgs,

    /// How to show what was pushed
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

fn annotation(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must be a name, = and a value".to_owned()),
    }
}
