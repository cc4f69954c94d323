//! Options of `devgate cdi`.

use super::{HostArgs, Output, PlaceArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What `devgate cdi --help` says last.
pub(super) const HELP: &str = "\
Examples:
  podman run --device \"$(devgate cdi lease vendor.com/gpu --for job1)\" IMAGE
  devgate cdi lease vendor.com/gpu --for job2 --count 2 --ttl 8h
  devgate cdi leases                   who has what
  devgate cdi release job1             when it is done
  devgate cdi generate devgate.dev/fuse --policy policy.yaml --output-dir /etc/cdi
  devgate cdi check                    what is wrong with the files that runtimes read here
  devgate cdi clean                    after a host has ended: files of what no lease or pod has

Exit codes:
  0  done; check: nothing is wrong
  1  something failed at run time
  2  the command line is wrong
  3  generate: the policy is wrong
  4  no host answers on the socket, or a directory cannot be used
  5  refused, which is shown: no such device, or another has it; check: something is wrong; clean: a devgate runs here";

/// Options of `devgate cdi`.
#[derive(Debug, Clone, Args)]
pub struct CdiArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) action: CdiAction,
}

/// What to do with devices of container runtimes.
#[derive(Debug, Clone, Subcommand)]
pub enum CdiAction {
    /// Have devices for yourself, and print the names by which a container gets them
    ///
    /// Nothing else gets them meanwhile: no pod, no other lease. It lasts until it is released or its time is over, over restarts
    /// of devgate and of the machine, too. The same `--for` again prints the same names.
    Lease {
        /// The resource, as the policy and `devgate status` name it
        #[arg(value_name = "RESOURCE")]
        resource: String,
        /// What it is for: the lease's name, and that of its device
        #[arg(long = "for", value_name = "NAME")]
        name: String,
        /// How many devices, near to each other; as many as there are --id, or one, where it is not said
        #[arg(long, value_name = "N")]
        count: Option<usize>,
        /// A device by its id; may be given several times
        #[arg(long = "id", value_name = "ID")]
        ids: Vec<String>,
        /// How long it lasts at most, such as 30m or 8h; time while the machine is off does not count
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        ttl: Option<std::time::Duration>,
        /// The host to ask.
        #[command(flatten)]
        host: HostArgs,
    },
    /// End a lease; one that is over already is none to end
    Release {
        /// What it was for
        #[arg(value_name = "NAME")]
        name: String,
        /// The host to ask.
        #[command(flatten)]
        host: HostArgs,
    },
    /// Have a lease last so long from now on; until it is released without --ttl
    Renew {
        /// What it was for
        #[arg(value_name = "NAME")]
        name: String,
        /// How long it lasts at most, such as 30m or 8h
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        ttl: Option<std::time::Duration>,
        /// The host to ask.
        #[command(flatten)]
        host: HostArgs,
    },
    /// Show all leases, with the names of their devices
    Leases {
        /// How to show it
        #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
        output: Output,
        /// The host to ask.
        #[command(flatten)]
        host: HostArgs,
    },
    /// Print a file of devices that any number of containers may have, for where no host runs
    ///
    /// Each component is asked once, as `check --run` does: no lease, nothing is kept, and nothing renews the file when hardware moves. Only of
    /// resources whose devices may be shared (`replicas`, `shares-hardware`), unless --all-units is given. What is left out is said, and is
    /// exit code 5.
    Generate(GenerateArgs),
    /// Show what is wrong with the files that runtimes read here, of devgate and others
    ///
    /// A runtime says of a device whose file is wrong only that there is none. Found are: what the runtimes' library refuses, devices
    /// that are in two files, nodes that are not there or are another device by now, files that older runtimes do not read.
    Check {
        /// The directories, of which later ones win
        #[arg(value_name = "DIR", default_values = ["/etc/cdi", devgate_cdi::DEFAULT_DIR])]
        dirs: Vec<PathBuf>,
        /// How to show it
        #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
        output: Output,
    },
    /// Write a device that only sets a variable, and show how to see whether a runtime knows of it
    Probe {
        /// Where runtimes read
        #[arg(long, value_name = "DIR", default_value = devgate_cdi::DEFAULT_DIR)]
        cdi_dir: PathBuf,
        /// Take it away again
        #[arg(long)]
        remove: bool,
    },
    /// Take away devgate's files of what no lease or pod has any more, for where no host runs: one that does takes them away by itself
    ///
    /// Such as after `devgate state forget`, or where a host was killed. Files of what is recorded as handed out stay, and those of
    /// others; `devgate cleanup` takes away the files of all leases.
    Clean {
        /// Where container runtimes read files
        #[arg(long, value_name = "DIR", default_value = devgate_cdi::DEFAULT_DIR)]
        cdi_dir: PathBuf,
        /// Where devgate keeps what was handed out
        #[arg(long, value_name = "DIR", default_value = "/var/lib/devgate")]
        state_dir: PathBuf,
        /// Remove nothing, and show what would be
        #[arg(long)]
        dry_run: bool,
    },
}

/// Options of `devgate cdi generate`.
#[derive(Debug, Clone, Args)]
pub struct GenerateArgs {
    /// Resources; all of the policy where none is named
    #[arg(value_name = "RESOURCE")]
    pub(crate) resources: Vec<String>,

    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// Also devices that are one container's each: a file gives them to any container that asks, and to several at once
    #[arg(long)]
    pub(crate) all_units: bool,

    /// Where to write one file for each resource, such as /etc/cdi; standard output for one resource where it is not said
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
}
