//! Options of `devgatectl fleet`.

use clap::Args;
use devgate::cli::Output;

/// What `devgatectl fleet --help` says last.
pub(super) const FLEET_HELP: &str = "\
Examples:
  kubectl devgate fleet
  kubectl devgate fleet -n gpu-system -l app.kubernetes.io/instance=gpus
  kubectl devgate fleet --output json | jq '.problems[] | {why, nodes}'

Exit codes:
  0  each host answers, and all is well on each node
  1  something failed at run time
  4  kubectl is missing, or cannot list the pods; or there is none
  5  a host does not answer, or not all is well on its node";

/// Options of `devgatectl fleet`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FleetArgs {
    /// The namespace that devgate is in
    #[arg(long, short, value_name = "NAME", default_value = "devgate")]
    pub(crate) namespace: String,

    /// Which pods are devgate's
    #[arg(long, short = 'l', value_name = "SELECTOR", default_value = "app.kubernetes.io/name=devgate")]
    pub(crate) selector: String,

    /// The context of the kubeconfig [default: kubectl's own]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// How many pods are asked at a time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,

    /// How long one may take to answer, in seconds
    #[arg(long, value_name = "S", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=600))]
    pub(crate) timeout: u16,

    /// How to show it
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}
