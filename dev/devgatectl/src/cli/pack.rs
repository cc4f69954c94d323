//! Options of `devgatectl pack`.

use clap::Args;
use devgate::cli::Output;
use std::path::PathBuf;

/// What `devgatectl pack --help` says last.
pub(super) const PACK_HELP: &str = "\
Examples:
  devgatectl pack core.wasm -o vendor.wasm --name vendor --version 1.2.0 --licence Apache-2.0
  devgatectl pack core.wasm -o vendor.wasm --wit wit --world component     the module says nothing of its world
  devgatectl pack vendor.wasm -o vendor.wasm --source https://example.com/vendor.git
  devgatectl pack core.wasm -o vendor.wasm --policy policy.yaml            with what admins start from
  devgatectl pack core.wasm -o vendor.wasm --config-schema config.schema.json    with what their config may be
  devgatectl pack core.wasm -o vendor.wasm --optional files,kernel-log     a policy need not grant these
  devgatectl pack core.wasm -o vendor.wasm --output json | jq -r .component.sha256

Exit codes:
  0  the component was made, and this host can run it once the policy grants what it imports
  1  a file cannot be read or written
  3  the policy is wrong, does not grant what the component imports, or its config is not as the schema says
  5  no component can be made of it, or none that this host could run, the schema is none,
     or --optional names what it does not import; nothing was written";

/// Options of `devgatectl pack`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PackArgs {
    /// A core module, as a linker makes it; or a component, which gets what describes it and, written elsewhere, loses names and debug information
    #[arg(value_name = "FILE")]
    pub(crate) input: PathBuf,

    /// Where to write the component; what is there is replaced
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// The WIT package with the module's world, a directory or file, for a module that does not carry its world in itself
    #[arg(long, value_name = "DIR")]
    pub(crate) wit: Option<PathBuf>,

    /// The world's name, such as `component` or `example:vendor/gpu`; not needed where the package has only one
    #[arg(long, value_name = "NAME", requires = "wit")]
    pub(crate) world: Option<String>,

    /// The policy that admins are to start from, with a comment for each grant: it travels in the component, and is in force nowhere
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,

    /// The JSON Schema (draft 2020-12) of the policy's `config`, by which `check` looks at what admins write there; it travels in the component
    #[arg(long, value_name = "FILE")]
    pub(crate) config_schema: Option<PathBuf>,

    /// Interfaces that the component can do without, such as `files,kernel-log`: a policy need not grant them, and what asks for one all the same is told `denied`, code `not-granted`. In place of those that the file names; an empty text for none
    #[arg(long, value_name = "INTERFACES", value_delimiter = ',')]
    pub(crate) optional: Vec<String>,

    #[command(flatten)]
    pub(crate) about: AboutArgs,

    /// How to show what was made
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// What describes the component. What is not given stays as it is in the file.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What describes the component")]
pub(crate) struct AboutArgs {
    /// Its name
    #[arg(long, value_name = "TEXT", value_parser = text())]
    pub(crate) name: Option<String>,

    /// Its version
    #[arg(long, value_name = "TEXT", value_parser = text())]
    pub(crate) version: Option<String>,

    /// Its licence, as an SPDX expression such as `Apache-2.0 OR MIT`
    #[arg(long, visible_alias = "license", value_name = "SPDX", value_parser = text())]
    pub(crate) licence: Option<String>,

    /// Where its source code is: a URL
    #[arg(long, value_name = "URL", value_parser = text())]
    pub(crate) source: Option<String>,

    /// Where to read about it: a URL
    #[arg(long, value_name = "URL", value_parser = text())]
    pub(crate) homepage: Option<String>,

    /// Which state of its source code it was made from, such as a commit
    #[arg(long, value_name = "TEXT", value_parser = text())]
    pub(crate) revision: Option<String>,

    /// What it does, in a sentence
    #[arg(long, value_name = "TEXT", value_parser = text())]
    pub(crate) description: Option<String>,

    /// Who is responsible for it, with how to reach them
    #[arg(long, value_name = "TEXT", value_parser = text())]
    pub(crate) authors: Option<String>,
}

/// A text in one line that `inspect` shows as it is.
fn text() -> impl clap::builder::TypedValueParser<Value = String> {
    use clap::builder::TypedValueParser;
    clap::builder::NonEmptyStringValueParser::new().try_map(|text: String| {
        if text.len() > MAX_TEXT || text.contains(char::is_control) {
            return Err(format!("must be one line of at most {MAX_TEXT} bytes"));
        }
        Ok(text)
    })
}

/// The longest of these texts, in bytes.
const MAX_TEXT: usize = 1_024;
