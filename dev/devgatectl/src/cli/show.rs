//! Options of `devgatectl show`.

use clap::Args;
use devgate::cli::{Output, RegistryArgs};
use devgate_types::Reference;
use std::path::PathBuf;

/// What `devgatectl show --help` says last.
pub(super) const SHOW_HELP: &str = "\
Examples:
  devgatectl show registry.example.com/vendor/gpu:1.2
  devgatectl show registry.example.com/vendor/gpu:1.2 --cosign-key vendor.pem    and whether that key has signed it
  devgatectl show registry.example.com/vendor/gpu:1.2 --output json | jq -r .oci

Exit codes:
  0  it is shown
  1  the registry cannot be asked, or has no such artifact
  5  it is no component, or none of the keys has signed it";

/// Options of `devgatectl show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// The component: registry, name, and tag or digest
    #[arg(value_name = "REFERENCE", value_parser = super::reference)]
    pub(crate) reference: Reference,

    /// A public key in PEM that must have signed it with cosign; of several, one
    #[arg(long, value_name = "FILE")]
    pub(crate) cosign_key: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) registry: RegistryArgs,

    /// How to show it
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}
