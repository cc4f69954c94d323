//! `devgatectl pack`: a core module in, a component out that this host can run, with what describes it.

mod about;
mod carry;
mod encode;
mod preview1;
mod strip;
mod text;

use crate::cli::PackArgs;
use crate::inspect::{self, Report};
use devgate::cli::Output;
use devgate::{exit, output};
use devgate_types::ByteSize;
use serde::Serialize;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Packed {
    /// The file that it was made of.
    from: String,
    /// Whether that was a `module` or a `component`.
    kind: &'static str,
    /// Whether the module wants WASI preview 1, which was put into the component.
    adapter: bool,
    /// What an author should know who did not mean it.
    notes: Vec<String>,
    component: Report,
}

/// The largest input: debug information is some twenty times what runs.
pub(crate) const LARGEST_BUILD: ByteSize = ByteSize::mib(512);

/// Names of a few functions that are left out are nothing to keep a file for.
const WORTH_SAYING: usize = 16 << 10;

/// Runs the command.
pub(crate) fn pack(args: &PackArgs) -> anyhow::Result<u8> {
    let from = args.input.display().to_string();
    let bytes = inspect::read(&args.input, LARGEST_BUILD.0)?;
    let refused = |error: anyhow::Error| match error.downcast_ref::<exit::Coded>() {
        Some(_) => error,
        None => exit::with_code(exit::FOUND, format!("{from}: {error:#}")),
    };
    let mut encoded = encode::component(&bytes, args.wit.as_deref(), args.world.as_deref()).map_err(refused)?;
    let mut component = about::describe(&args.about, &encoded.bytes).map_err(refused)?;
    // Written over its input, it would be the only one with names.
    let is_in_place =
        || args.out.canonicalize().is_ok_and(|out| args.input.canonicalize().is_ok_and(|input| input == out));
    if !is_in_place() {
        component = strip::strip(&component).map_err(refused)?;
    }
    if encoded.bytes.len() > component.len() + WORTH_SAYING {
        let left_out = encoded.bytes.len() - component.len();
        encoded.notes.push(format!(
            "{left_out} bytes of names and debug information are left out, which no host reads: keep {} for `devgatectl trace`",
            devgate_types::escape(&from, 1024)
        ));
    }
    if !args.optional.is_empty() {
        component = carry::optional(&args.optional, &component).map_err(refused)?;
    }
    if let Some(policy) = &args.policy {
        component = carry::policy(policy, &component)?;
    }
    if let Some(schema) = &args.config_schema {
        component = carry::config_schema(schema, &component)?;
    }
    carry::fit(&component)?;
    let packed = Packed {
        kind: encoded.kind,
        adapter: encoded.adapter,
        notes: encoded.notes,
        component: inspect::of(&args.out, &component)?,
        from: devgate_types::escape(&from, 1024),
    };
    if !packed.component.runs() {
        let problems = packed.component.problems().join("\n  ");
        let message = format!("{from}: this host could not run what it makes; nothing was written:\n  {problems}");
        return Err(exit::with_code(exit::FOUND, message));
    }
    output::write_file(&args.out, &component)?;
    match args.output {
        Output::Text => output::print(&text::of(&packed))?,
        Output::Json => output::print_json(&packed)?,
    }
    Ok(exit::OK)
}
