//! Options of `devgatectl new`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What `devgatectl new --help` says last.
pub(super) const NEW_HELP: &str = "\
Examples:
  devgatectl new fpga --lang rust
  devgatectl new acme-npu --lang python --vendor acme.com --dir components/npu

What is written is a component that works: for made-up cards of a made-up vendor, on a recorded node. Its
README says how to build it, how to look at what it offers and how to test it; then make it that of your device.
All that it needs of devgate is written with it: the contract, and for Rust the SDK and what its tests run on.

Exit codes:
  0  the project was written
  1  it could not be written
  2  the name or the vendor is no good, or the directory has something in it";

/// Options of `devgatectl new`.
#[derive(Debug, Clone, Args)]
pub(crate) struct NewArgs {
    /// What the device is called: words of lower-case letters and digits, joined by single hyphens, each starting with a letter
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// The language
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    pub(crate) lang: Lang,

    /// The vendor's domain; pods ask for VENDOR/NAME
    #[arg(long, value_name = "DOMAIN", default_value = "example.com")]
    pub(crate) vendor: String,

    /// Where to write it: a directory that is not there, or is empty [default: NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// A checkout of devgate to take the SDK for Rust from, instead of the copy that this program writes
    #[arg(long, value_name = "CHECKOUT")]
    pub(crate) sdk: Option<PathBuf>,
}

/// Languages with a project to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lang {
    /// The SDK, and tests that run the component natively; 50 KB
    Rust,
    /// Headers with short names; 20 KB
    C,
    /// `CPython` in the component; 18 MB, and limits above the defaults
    Python,
    /// `QuickJS` in the component; 1.7 MB, and limits above the defaults
    Js,
    /// Go's runtime in the component; 4.6 MB, and limits above the defaults
    Go,
}
