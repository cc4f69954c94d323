//! Options of `devgate state`.

use super::{KubeletArgs, Output};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What `devgate state --help` says last.
pub(super) const HELP: &str = "\
Examples:
  devgate state list                   who has what, also while devgate runs
  devgate state forget 17              what allocation 17 has is free, after devgate has ended
  devgate state export                 as JSON, in the form of version 0.1's handed-out.json

Exit codes:
  0  shown, or done
  1  something failed at run time
  4  the state directory cannot be read or written
  5  refused: a devgate runs here, a pod has it, or there is no such allocation; list: what is recorded is not all";

/// Options of `devgate state`.
#[derive(Debug, Clone, Args)]
pub struct StateArgs {
    /// Where devgate keeps what was handed out
    #[arg(long, value_name = "DIR", default_value = "/var/lib/devgate", global = true)]
    pub(crate) state_dir: PathBuf,

    /// What to do.
    #[command(subcommand)]
    pub(crate) action: StateAction,
}

/// What to do with what is recorded.
#[derive(Debug, Clone, Subcommand)]
pub enum StateAction {
    /// Show the allocations, oldest first
    List {
        /// How to show it
        #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
        output: Output,
    },
    /// End an allocation of any consumer; devgate must not run
    ///
    /// For one whose end will never be told. What it had is given to others then. A component is not told: where it has
    /// something to release, clean the device yourself first.
    Forget {
        /// As `list` shows it
        #[arg(value_name = "ID")]
        id: u64,
        /// Also while the kubelet shows it with a pod. The device may then be given to another one, while that pod has it
        #[arg(long)]
        even_if_in_use: bool,
        /// Who says what pods have.
        #[command(flatten)]
        kubelet: KubeletArgs,
    },
    /// Take what is recorded for all that was handed out, where that is not known; devgate must not run
    ///
    /// devgate finds that out by itself from the kubelet. This is for where it cannot: what is not recorded is free then, and released
    /// before it is given.
    Accept,
    /// Print what is recorded as JSON, in the form of version 0.1's handed-out.json
    Export,
}
