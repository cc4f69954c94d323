//! Components in other languages than Rust: the examples in `guests/languages`, built with their languages' own tools.
//!
//! Each tool comes from its language's own registry into a folder beside what is built, for this alone; a compiler of C comes from
//! the system's packages, where that is possible.

mod c;
mod go;
mod javascript;
mod python;

pub(crate) use go::{offer as offer_go, ready as go};

use crate::components::{self, Row};
use crate::workspace::{guests, target};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// A language that the example is written in, besides Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    /// By clang, with Debian's library for WASI
    C,
    /// By Go's own compiler, from PyPI, and `devgatectl pack`
    Go,
    /// By componentize-py, from PyPI
    Python,
    /// By componentize-qjs, from npm
    Js,
}

impl Language {
    /// All of them, quickest first.
    pub(crate) const ALL: [Self; 4] = [Self::C, Self::Js, Self::Python, Self::Go];

    /// As on the command line, and the name of its folder.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Go => "go",
            Self::Python => "python",
            Self::Js => "js",
        }
    }

    /// What the example is built with: also what may be exported besides, where this repository has an SDK that does that.
    const fn exports(self) -> &'static [Exports] {
        match self {
            Self::C | Self::Go => &[Exports::Needed, Exports::All],
            Self::Python | Self::Js => &[Exports::Needed],
        }
    }

    /// Builds the example into a file, after the tools for it were brought if they were not there.
    fn build(self, folder: &Path, exports: Exports, file: &Path) -> Result<()> {
        match self {
            Self::C => c::build(folder, exports, file),
            Self::Go => go::build(folder, exports, file),
            Self::Python => python::build(folder, file),
            Self::Js => javascript::build(folder, file),
        }
    }
}

/// What the example exports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exports {
    /// What every component does.
    Needed,
    /// The contract's optional interfaces as well.
    All,
}

/// Builds the example in these languages into the components' folder. The error names every language that could not be
/// built, after all were tried.
pub(crate) fn build(languages: &[Language]) -> Result<()> {
    let mut problems = Vec::new();
    for language in languages {
        if let Err(error) = one(*language) {
            println!("{}: {error:#}", language.name());
            problems.push(format!("{}: {error:#}", language.name()));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    bail!("could not build the example in every language:\n  {}", problems.join("\n  "))
}

/// Builds the example in one language.
pub(crate) fn one(language: Language) -> Result<()> {
    let name = language.name();
    println!("Building the example in {name} …");
    let built = target()?.join("languages");
    std::fs::create_dir_all(&built).with_context(|| format!("create {}", built.display()))?;
    let mut rows = Vec::new();
    for exports in language.exports() {
        let component = match exports {
            Exports::Needed => format!("widget-{name}"),
            Exports::All => format!("widget-{name}-optional"),
        };
        let file = built.join(format!("{component}.wasm"));
        language.build(&guests().join("languages").join(name), *exports, &file)?;
        rows.push(components::take(&file, &component)?);
    }
    print!("{}", Row::table(&rows));
    Ok(())
}
