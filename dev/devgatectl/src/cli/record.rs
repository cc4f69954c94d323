//! Options of `devgatectl record`.

use clap::Args;
use std::path::PathBuf;

/// What `devgatectl record --help` says last.
pub(super) const RECORD_HELP: &str = "\
Examples:
  devgatectl record --policy policy.yaml -o node.umockdev       what the policy's plugins are granted here
  devgatectl record pci/0000:3b:00.0 /dev/acme0 -o node.umockdev
  devgatectl record --subsystem pci --subsystem drm             to standard output
  devgatectl record --all --stable -o this-node.umockdev
  devgatectl check --policy policy.yaml --node-root node.umockdev
  kubectl -n devgate debug node/NODE --profile=general --image=registry.example.com/devgatectl:0.1.0 -- \
    devgatectl record --all --quiet --node-root /host           then: kubectl -n devgate logs POD > node.umockdev

What was copied, replaced and left out is said on standard error. Look through the text before you give it away:
docs/components.md says what to look for.

Exit codes:
  0  it was recorded
  1  something failed at run time, such as writing the file
  2  the command line is wrong, or the file is there already (--force)
  3  the policy is wrong
  4  the node cannot be read
  5  what was asked for is not here";

/// Options of `devgatectl record`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecordArgs {
    /// Kernel devices, by subsystem and name (`pci/0000:3b:00.0`), name, or path in /sys; or nodes in /dev. With everything beneath
    #[arg(value_name = "WHAT", required_unless_present_any = ["policy", "subsystem", "all", "file"])]
    pub(crate) what: Vec<String>,

    /// What the plugins of a policy are granted: devices, nodes, files, mounts' sources, lines of the kernel's log; may be given
    /// several times
    #[arg(long, value_name = "PATH")]
    pub(crate) policy: Vec<PathBuf>,

    /// All devices of a bus or class, with everything beneath them; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) subsystem: Vec<String>,

    /// All devices
    #[arg(long)]
    pub(crate) all: bool,

    /// A file outside the device tree that everybody may read; may be given several times
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Vec<String>,

    /// The node's root, with sys and dev in it; or a recorded node's file
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) node_root: PathBuf,

    /// Where to write the text [default: standard output]
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Write over a file that is there
    #[arg(long, requires = "out")]
    pub(crate) force: bool,

    /// Leave out what differs from one moment to the next: counters, temperatures, clocks
    #[arg(long)]
    pub(crate) stable: bool,

    /// Keep serial numbers, addresses and ids as they are
    #[arg(long)]
    pub(crate) no_redact: bool,

    /// Replace this as well, a regular expression; what its first group captures, if it has one; may be given several times
    #[arg(long, value_name = "REGEX", conflicts_with = "no_redact")]
    pub(crate) redact: Vec<String>,

    /// Say nothing but errors on standard error: what was copied, replaced and left out stands in the text, which can then not be
    /// cut without its readers' notice. For `kubectl logs`, which mixes both
    #[arg(long)]
    pub(crate) quiet: bool,

    /// Name all that was left out, not only a few of each kind
    #[arg(long)]
    pub(crate) verbose: bool,
}
