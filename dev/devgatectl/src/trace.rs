//! `devgatectl trace`: from the places in a trap's message to functions, files and lines.
//!
//! A host reads neither names nor debug information of a component, and a release has none. It says functions by number and places as
//! offsets in the component's file; what they are stands in the module that the vendor kept.

mod module;
mod source;

use crate::cli::TraceArgs;
use crate::inspect;
use anyhow::Context;
use devgate::cli::Output;
use devgate::transfer::LARGEST;
use devgate::{exit, output};
use devgate_types::{ByteSize, escape};
use module::Module;
use serde::Serialize;
use source::{Line, Sources};
use std::fmt::Write as _;
use std::io::Read;

/// The largest file with debug information, which is some twenty times what runs.
const LARGEST_DEBUG: ByteSize = ByteSize::mib(512);
/// The most of standard input, and the most places in it.
const MOST_TEXT: u64 = 1 << 20;
const MOST_PLACES: usize = 1_000;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Frame {
    /// As it was asked for.
    place: String,
    /// The function's number; the message's own is checked against it.
    function: u32,
    /// What it is called, where a file has its name.
    name: Option<String>,
    /// Where in the source this is: what was inlined first, then what it was inlined into.
    lines: Vec<Line>,
}

/// A place as a message has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    function: u32,
    offset: u64,
}

/// Runs the command.
pub(crate) fn trace(args: &TraceArgs) -> anyhow::Result<u8> {
    let frames = look(args)?;
    match args.output {
        Output::Text => output::print(&text(&frames, args.debug.is_some()))?,
        Output::Json => output::print_json(&frames)?,
    }
    Ok(exit::OK)
}

fn look(args: &TraceArgs) -> anyhow::Result<Vec<Frame>> {
    let places = places(args)?;
    let file = args.component.display().to_string();
    let refused = |file: &str, error: anyhow::Error| exit::with_code(exit::FOUND, format!("{file}: {error:#}"));
    let bytes = inspect::read(&args.component, LARGEST.0)?;
    let modules = Module::all(&bytes).map_err(|error| refused(&file, error))?;
    let debug =
        args.debug.as_ref().map(|path| anyhow::Ok((path.display().to_string(), inspect::read(path, LARGEST_DEBUG.0)?)));
    let debug = debug.transpose()?;
    let with_debug = debug.as_ref().map(|(file, bytes)| Module::all(bytes).map_err(|error| refused(file, error)));
    let with_debug = with_debug.transpose()?.unwrap_or_default();
    let frame = |place: Place| {
        let module = modules.iter().find(|module| module.has(place.offset));
        let module = module.with_context(|| format!("{place} is in no function of it; is it the file that ran?"));
        let module = module.map_err(|error| refused(&file, error))?;
        let Some((debug, _)) = &debug else {
            return frame(module, module, place).map_err(|error| refused(&file, error));
        };
        let twin = with_debug.iter().find(|twin| twin.code == module.code);
        let twin = twin.with_context(|| format!("is of another build than {file}: no module in it has its code"));
        frame(module, twin.map_err(|error| refused(debug, error))?, place).map_err(|error| refused(&file, error))
    };
    places.into_iter().map(frame).collect()
}

/// What is at a place of `module`, by what its `twin` says of the same code.
fn frame(module: &Module<'_>, twin: &Module<'_>, place: Place) -> anyhow::Result<Frame> {
    let within = module.offset_in_code(place.offset);
    let function = module.function(within).with_context(|| format!("{place} is between two functions of it"))?;
    anyhow::ensure!(function == place.function, "{place} is in function {function}; is it the file that ran?");
    Ok(Frame {
        place: place.to_string(),
        function,
        name: twin.name(function),
        lines: Sources::of(twin)?.lines(within)?,
    })
}

/// Those of the arguments, or of standard input.
fn places(args: &TraceArgs) -> anyhow::Result<Vec<Place>> {
    let mut text = args.places.join(" ");
    if text == "-" {
        text.clear();
        std::io::stdin().take(MOST_TEXT).read_to_string(&mut text).context("standard input")?;
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '@');
    let found: Vec<_> = words.filter_map(Place::parse).take(MOST_PLACES).collect();
    if found.is_empty() {
        let text = escape(&text, 80);
        return Err(exit::with_code(exit::USAGE, format!("{text}: there is no place in it, such as 109@0x1b3f")));
    }
    Ok(found)
}

impl Place {
    fn parse(word: &str) -> Option<Self> {
        let (function, offset) = word.split_once('@')?;
        let offset = u64::from_str_radix(offset.strip_prefix("0x")?, 16).ok()?;
        Some(Self { function: function.parse().ok()?, offset })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{:#x}", self.function, self.offset)
    }
}

/// The longest name of a function in the text form, in bytes: what is generic can have thousands.
const LONGEST_NAME: usize = 100;

fn text(frames: &[Frame], has_debug: bool) -> String {
    let mut text = String::new();
    for Frame { place, name, lines, .. } in frames {
        let mut place = place.as_str();
        for line in lines {
            let name = line.function.as_ref().or(name.as_ref()).map_or("?", String::as_str);
            let _ = writeln!(text, "{place:16} {}\n                   {}", escape(name, LONGEST_NAME), line.at);
            place = "";
        }
        if lines.is_empty() {
            let name = name.as_deref().unwrap_or("?");
            let _ = writeln!(text, "{place:16} {}", escape(name, LONGEST_NAME));
        }
    }
    if frames.iter().all(|frame| frame.name.is_none()) {
        text += match has_debug {
            true => "neither file has names: build without strip and with debug = \"line-tables-only\", then pack\n",
            false => "it has no names: give --debug the file that `devgatectl pack` made it of\n",
        };
    }
    text
}

#[cfg(test)]
mod tests;
