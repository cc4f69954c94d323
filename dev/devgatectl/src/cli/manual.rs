//! Options of `devgatectl completions` and `devgatectl man`.

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

/// What `devgatectl completions --help` says last.
pub(super) const COMPLETIONS_HELP: &str = "\
Examples:
  source <(devgatectl completions bash)
  devgatectl completions fish > ~/.config/fish/completions/devgatectl.fish
  devgatectl completions zsh devgate > ~/.zfunc/_devgate";

/// What `devgatectl man --help` says last.
pub(super) const MAN_HELP: &str = "\
Examples:
  devgatectl man | man --local-file -
  devgatectl man --out ~/.local/share/man/man1    all pages of both programs; then: man devgatectl-conform";

/// The programs that people call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Product {
    /// What a node runs
    Devgate,
    /// What vendors, testers and admins use
    Devgatectl,
}

/// Options of `devgatectl completions`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,

    /// Of which program
    #[arg(value_name = "PROGRAM", value_enum, default_value_t = Product::Devgatectl)]
    pub(crate) program: Product,
}

/// Options of `devgatectl man`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ManArgs {
    /// Of which program
    #[arg(value_name = "PROGRAM", value_enum, default_value_t = Product::Devgatectl)]
    pub(crate) program: Product,

    /// Write the pages of both programs and of all their commands into this folder, which is made
    #[arg(long, value_name = "DIR", conflicts_with = "program")]
    pub(crate) out: Option<PathBuf>,
}
