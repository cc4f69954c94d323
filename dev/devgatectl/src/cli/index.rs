//! Options of `devgatectl index` and `search`.

use clap::{ArgGroup, Args, Subcommand};
use devgate::cli::{Output, RegistryArgs};
use devgate_types::Reference;
use std::path::PathBuf;

/// What `devgatectl index build --help` says last.
const BUILD_HELP: &str = "\
Examples:
  devgatectl index build registry.example.com/vendor/gpu:1.2 registry.example.com/vendor/nic:2.0 \\
    --push registry.example.com/vendor/index:latest --key vendor.key --replace
  devgatectl index build registry.example.com/vendor/gpu:1.2 --layout index    for skopeo, oras and cosign

Exit codes:
  0  the index was made
  1  a registry cannot be asked, or a file cannot be read or written
  2  the command line is wrong, or the folder has something in it
  5  one of them is no component, none of the keys has signed it, or the tag is given to something else";

/// What `devgatectl search --help` says last.
pub(super) const SEARCH_HELP: &str = "\
Examples:
  devgatectl search gpu --index registry.example.com/vendor/index --cosign-key vendor.pem
  devgatectl search --index registry.example.com/vendor/index --output json    all of it

Exit codes:
  0  components were found
  1  the registry cannot be asked, or has no such index
  5  nothing was found, it is no index, or none of the keys has signed it";

/// What is done with an index.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum IndexCommand {
    /// Make one of components in registries, and push it or write it as an OCI layout
    ///
    /// Fetches each component, checks it and notes what it says of itself and what its author's policy offers. The same components make
    /// the same index.
    #[command(after_help = BUILD_HELP)]
    Build(IndexBuildArgs),
}

/// Options of `devgatectl index`.
#[derive(Debug, Clone, Args)]
pub(crate) struct IndexArgs {
    #[command(subcommand)]
    pub(crate) command: IndexCommand,
}

/// Options of `devgatectl index build`.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("to").required(true).multiple(true).args(["push", "layout"]))]
pub(crate) struct IndexBuildArgs {
    /// The components: registry, name, and tag or digest of each
    #[arg(value_name = "REFERENCE", required = true, value_parser = super::reference)]
    pub(crate) components: Vec<Reference>,

    /// Where to push the index: registry, name and tag
    #[arg(long, value_name = "REFERENCE")]
    pub(crate) push: Option<Reference>,

    /// The folder to write it into, in the OCI image layout
    #[arg(long, value_name = "DIR")]
    pub(crate) layout: Option<PathBuf>,

    /// Take the tag away from what it is given to
    #[arg(long, requires = "push")]
    pub(crate) replace: bool,

    /// A private key in PEM that is not encrypted: the index is signed with it as cosign does
    #[arg(long, value_name = "FILE", requires = "push")]
    pub(crate) key: Option<PathBuf>,

    /// A public key in PEM that must have signed each component; of several, one
    #[arg(long, value_name = "FILE")]
    pub(crate) cosign_key: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) registry: RegistryArgs,

    /// How to show what was made
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// Options of `devgatectl search`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SearchArgs {
    /// What to look for in names, descriptions, vendors and resources: each word must be there; without a word, all components
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,

    /// The index: registry, name, and tag or digest
    #[arg(long, value_name = "REFERENCE", value_parser = super::reference)]
    pub(crate) index: Reference,

    /// A public key in PEM that must have signed the index; of several, one
    #[arg(long, value_name = "FILE")]
    pub(crate) cosign_key: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) registry: RegistryArgs,

    /// How to show it
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}
