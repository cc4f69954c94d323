//! Options of `devgatectl dra`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What `devgatectl dra classes --help` says last.
const CLASSES_HELP: &str = "\
Examples:
  devgatectl dra classes --policy policy.yaml | kubectl apply -f -
  devgatectl dra classes --policy policy.d > classes.yaml

Exit codes:
  0  the classes were printed
  3  the policy is wrong
  4  the policy cannot be read
  5  no plugin of it is given by claims";

/// What is done with a policy's drivers.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum DraCommand {
    /// Print a DeviceClass for each resource that is given by claims
    ///
    /// By its extended resource name pods that ask for the resource as before have it by a claim (Kubernetes 1.36). devgate writes no class
    /// into a cluster by itself.
    #[command(after_help = CLASSES_HELP)]
    Classes(ClassesArgs),
}

/// Options of `devgatectl dra`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DraArgs {
    #[command(subcommand)]
    pub(crate) command: DraCommand,
}

/// Options of `devgatectl dra classes`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClassesArgs {
    /// The policy: a YAML file, or a directory of them; may be given several times
    #[arg(long, value_name = "PATH", required = true)]
    pub(crate) policy: Vec<PathBuf>,
}
