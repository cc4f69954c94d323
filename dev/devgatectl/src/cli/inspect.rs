//! Options of `devgatectl inspect`.

use clap::{Args, ValueEnum};
use devgate::cli::RegistryArgs;
use std::path::PathBuf;

/// What `devgatectl inspect --help` says last.
pub(super) const INSPECT_HELP: &str = "\
Examples:
  devgatectl inspect vendor.wasm
  devgatectl inspect vendor.wasm --output policy > vendor.yaml    a policy to start from
  devgatectl inspect vendor.wasm --output config-schema           what may stand under config: in it
  devgatectl inspect oci:registry.example.com/vendor/gpu:1.2
  devgatectl inspect vendor.wasm --output json | jq -r '.imports[].name'

Exit codes:
  0  this host can run it, once the policy grants what it imports
  1  the file cannot be read
  5  this host cannot run it, which is shown with the reason; or it carries no schema where that is asked for";

/// Options of `devgatectl inspect`.
#[derive(Debug, Clone, Args)]
pub(crate) struct InspectArgs {
    /// The component's file; or oci: and a reference, which is taken from the cache or pulled
    #[arg(value_name = "COMPONENT")]
    pub(crate) component: PathBuf,

    #[command(flatten)]
    pub(crate) registry: RegistryArgs,

    /// How to show it
    #[arg(long, value_name = "FORM", value_enum, default_value_t = InspectOutput::Text)]
    pub(crate) output: InspectOutput,
}

/// Forms of what `devgatectl inspect` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InspectOutput {
    /// For people
    Text,
    /// One JSON object; docs/devgatectl.md has its fields
    Json,
    /// A policy to start from, as YAML: its author's, where it carries one, else the least that could run it
    Policy,
    /// The JSON Schema of `config` that it carries
    ConfigSchema,
}
