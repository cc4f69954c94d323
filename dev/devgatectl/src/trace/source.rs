//! Files and lines, out of a module's debug information.

use super::go;
use super::module::{Module, shown};
use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use anyhow::anyhow;
use devgate_types::escape;
use serde::Serialize;

/// The most lines that one place is shown with: what was inlined into what.
const MAX_INLINED: usize = 64;
/// The longest path that is shown, in bytes.
pub(super) const LONGEST_PATH: usize = 512;

/// A place in a source.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    /// The function that the line is of, where that is known.
    pub(super) function: Option<String>,
    /// File and line, such as `src/lib.rs:12:5`.
    pub(super) at: String,
}

/// What is known of one module's code.
pub(super) enum Sources<'a> {
    Dwarf(Context<EndianSlice<'a, LittleEndian>>),
    Go(go::Table),
    Nothing,
}

impl<'a> Sources<'a> {
    /// Nothing, for a module without debug information.
    ///
    /// # Errors
    /// Where that is damaged.
    pub(super) fn of(module: &Module<'a>) -> anyhow::Result<Self> {
        if module.section(".debug_info").is_empty() {
            return Ok(go::Table::of(module).map_or(Self::Nothing, Self::Go));
        }
        let section = |id: SectionId| -> Result<_, addr2line::gimli::Error> {
            Ok(EndianSlice::new(module.section(id.name()), LittleEndian))
        };
        let dwarf = Dwarf::load(section).map_err(damaged)?;
        Ok(Self::Dwarf(Context::from_dwarf(dwarf).map_err(damaged)?))
    }

    /// What is at an offset in the code, in this function of its module, innermost first.
    ///
    /// # Errors
    /// Where the debug information is damaged.
    pub(super) fn lines(&self, module: &Module<'_>, function: u32, within: u64) -> anyhow::Result<Vec<Line>> {
        let context = match self {
            Self::Dwarf(context) => context,
            Self::Go(table) => return Ok(table.line(module, function, within).into_iter().collect()),
            Self::Nothing => return Ok(Vec::new()),
        };
        let mut frames = context.find_frames(within).skip_all_loads().map_err(damaged)?;
        let mut lines = Vec::new();
        while let Some(frame) = frames.next().map_err(damaged)?
            && lines.len() < MAX_INLINED
        {
            let function = frame.function.and_then(|name| Some(shown(&name.raw_name().ok()?)));
            let Some(location) = frame.location else { continue };
            let file = escape(location.file.unwrap_or("?"), LONGEST_PATH);
            let numbers = [location.line, location.column].into_iter().flatten().filter(|n| *n > 0);
            let at = numbers.fold(file, |at, n| format!("{at}:{n}"));
            lines.push(Line { function, at });
        }
        Ok(lines)
    }
}

fn damaged(error: addr2line::gimli::Error) -> anyhow::Error {
    anyhow!("debug information is damaged: {}", escape(&error.to_string(), 200))
}
