//! `devgatectl trace`: from the places in a trap's message to functions, files and lines.
//!
//! A host reads neither names nor debug information of a component, and a release has none. It says functions by number and places as
//! offsets in the component's file; what they are stands in the module that the vendor kept.

mod go;
mod module;
mod source;

use crate::cli::TraceArgs;
use crate::inspect;
use crate::pack::LARGEST_BUILD;
use anyhow::Context;
use devgate::cli::Output;
use devgate::transfer::LARGEST;
use devgate::{exit, output};
use devgate_types::escape;
use module::Module;
use serde::Serialize;
use source::{Line, Sources};
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

/// The most of standard input, and the most places in it.
const MAX_TEXT: u64 = 1 << 20;
const MAX_PLACES: usize = 1_000;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Frame {
    /// As it was asked for.
    place: String,
    /// The function's number.
    function: u32,
    /// What it is called, where a file has its name.
    name: Option<String>,
    /// Where in the source this is: what was inlined first, then what it was inlined into.
    lines: Vec<Line>,
    /// Why it is not known, if so.
    problem: Option<String>,
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
    Ok(if frames.iter().any(|frame| frame.problem.is_some()) { exit::FOUND } else { exit::OK })
}

fn look(args: &TraceArgs) -> anyhow::Result<Vec<Frame>> {
    let places = places(args)?;
    let bytes = inspect::read(&args.component, LARGEST.0)?;
    let modules = modules(&args.component, &bytes)?;
    let debug =
        args.debug.as_ref().map(|path| anyhow::Ok((path, inspect::read(path, LARGEST_BUILD.0)?))).transpose()?;
    let with_debug = debug.as_ref().map(|(path, bytes)| self::modules(path, bytes)).transpose()?;
    let same = |module: &Module<'_>| with_debug.iter().flatten().position(|twin| twin.code == module.code);
    if let (Some((path, _)), None) = (&debug, modules.iter().find_map(same)) {
        let (debug, file) = (path.display(), args.component.display());
        return Err(exit::with_code(
            exit::FOUND,
            format!("{debug}: is of another build than {file}: it has not its code"),
        ));
    }
    let sources: Vec<_> = with_debug.iter().flatten().map(Sources::of).collect();
    let frame = |place: Place| {
        let found = modules.iter().find(|module| module.has(place.offset)).map(|module| {
            // What has no twin was put between module and host, as `pack` does for WASI.
            let twin = same(module).and_then(|n| Some((with_debug.as_ref()?.get(n)?, sources.get(n)?)));
            frame(module, twin, place)
        });
        let found = found.unwrap_or_else(|| Err(anyhow::anyhow!("is in no function of it; is it the file that ran?")));
        found.unwrap_or_else(|error| Frame { problem: Some(format!("{error:#}")), ..Frame::of(place) })
    };
    Ok(places.into_iter().map(frame).collect())
}

fn modules<'a>(file: &Path, bytes: &'a [u8]) -> anyhow::Result<Vec<Module<'a>>> {
    Module::all(bytes).map_err(|error| exit::with_code(exit::FOUND, format!("{}: {error:#}", file.display())))
}

/// What is at a place of `module`, by what its `twin` says of the same code.
fn frame(
    module: &Module<'_>,
    twin: Option<(&Module<'_>, &anyhow::Result<Sources<'_>>)>,
    place: Place,
) -> anyhow::Result<Frame> {
    let within = module.offset_in_code(place.offset);
    let function = module.function(within).context("is between two functions")?;
    anyhow::ensure!(function == place.function, "is in function {function}; is it the file that ran?");
    let (name, lines) = match twin {
        None => (module.name(function), Vec::new()),
        Some((twin, Ok(sources))) => (twin.name(function), sources.lines(twin, function, within)?),
        Some((_, Err(error))) => anyhow::bail!("{error:#}"),
    };
    Ok(Frame { name, lines, ..Frame::of(place) })
}

impl Frame {
    fn of(place: Place) -> Self {
        Self { place: place.to_string(), function: place.function, name: None, lines: Vec::new(), problem: None }
    }
}

/// Those of the arguments, or of standard input.
fn places(args: &TraceArgs) -> anyhow::Result<Vec<Place>> {
    let mut text = args.places.join(" ");
    if text == "-" {
        text.clear();
        std::io::stdin().take(MAX_TEXT).read_to_string(&mut text).context("standard input")?;
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '@');
    let found: Vec<_> = words.filter_map(Place::parse).take(MAX_PLACES).collect();
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
    for Frame { place, name, lines, problem, .. } in frames {
        let mut place = place.as_str();
        for line in lines {
            let name = line.function.as_ref().or(name.as_ref()).map_or("?", String::as_str);
            let _ = writeln!(text, "{place:16} {}\n                   {}", escape(name, LONGEST_NAME), line.at);
            place = "";
        }
        if lines.is_empty() {
            let name = name.as_ref().or(problem.as_ref()).map_or("?", String::as_str);
            let _ = writeln!(text, "{place:16} {}", escape(name, LONGEST_NAME));
        }
    }
    if frames.iter().all(|frame| frame.name.is_none() && frame.problem.is_none()) {
        text += match has_debug {
            true => "neither file has names: build with debug information and without strip, then pack\n",
            false => "it has no names: give --debug the file that `devgatectl pack` made it of\n",
        };
    }
    text
}

#[cfg(test)]
mod tests;
