//! Connects a component to the interfaces that it was granted, and to no others.

use super::not_granted;
use crate::bindings::conditions::WithConditionsIndices;
use crate::bindings::lifecycle::WithLifecycleIndices;
use crate::bindings::parameters::WithParametersIndices;
use crate::bindings::preference::WithPreferenceIndices;
use crate::bindings::{
    PluginComponentPre, clock, config, control, files, hardware, host_paths, kernel_log, log, state, types, uevents,
};
use crate::brief::message;
use crate::clocks::Clocks;
use crate::state::CallState;
use devgate_types::GuestText;
use devgate_types::component::Profile;
use devgate_types::load::{Admitted, CONTRACT, Interface, Refusal};
use wasmtime::component::{Component, HasData, HasSelf, Linker, ResourceTable};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};
use wasmtime_wasi::p2::bindings::{cli, filesystem, sync};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView};

/// Where the optional exports of a component are.
pub(crate) struct Exports {
    pub(crate) preference: Option<WithPreferenceIndices>,
    pub(crate) lifecycle: Option<WithLifecycleIndices>,
    pub(crate) parameters: Option<WithParametersIndices>,
    pub(crate) conditions: Option<WithConditionsIndices>,
}

/// Links `component` to what it is granted of its imports. What it is not and can do without is there, and fails.
pub(super) fn link(
    engine: &wasmtime::Engine,
    component: &Component,
    imports: &Admitted,
    profile: &Profile,
) -> Result<(PluginComponentPre<CallState>, Exports), Refusal> {
    let linker = linker(engine, &imports.served)
        .and_then(|mut linker| not_granted::add(&mut linker, &imports.not_granted).map(|()| linker))
        .map_err(|error| Refusal::Host(format!("cannot link: {}", message(format_args!("{error:#}")))))?;
    let component = linker.instantiate_pre(component).map_err(|error| mismatch(&error))?;
    // Where it is there it must be right: an export of another type is not the same as none.
    let exports = Exports {
        preference: optional(profile.preference, "preference", || WithPreferenceIndices::new(&component))?,
        lifecycle: optional(profile.lifecycle, "lifecycle", || WithLifecycleIndices::new(&component))?,
        parameters: optional(profile.parameters, "parameters", || WithParametersIndices::new(&component))?,
        conditions: optional(profile.conditions, "conditions", || WithConditionsIndices::new(&component))?,
    };
    let plugin = PluginComponentPre::new(component).map_err(|error| mismatch(&error))?;
    Ok((plugin, exports))
}

fn optional<T>(is_there: bool, name: &str, find: impl FnOnce() -> wasmtime::Result<T>) -> Result<Option<T>, Refusal> {
    is_there.then(find).transpose().map_err(|error| export_mismatch(name, &error))
}

/// Only what this component imports: what it was not granted is not there, whatever else goes wrong.
fn linker(engine: &wasmtime::Engine, imports: &[String]) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    let mut wasi = false;
    for import in imports.iter().filter_map(|import| Interface::parse(import)) {
        if import.package != "devgate:plugin" {
            wasi = true;
            continue;
        }
        match import.name {
            "types" => types::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?,
            "config" => config::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?,
            "clock" => clock::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?,
            "uevents" => uevents::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?,
            "log" => log::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?,
            "hardware" => hardware::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?,
            "files" => files::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?,
            "kernel-log" => kernel_log::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?,
            "control" => control::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?,
            "state" => state::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?,
            "host-paths" => host_paths::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?,
            _ => {}
        }
    }
    if wasi {
        add_wasi(&mut linker)?;
    }
    // The policy's grants: each only where this component imports it, and so was granted it.
    let imports = |package: &str| {
        let mut names = imports.iter().filter_map(|import| Interface::parse(import));
        names.any(|import| import.package == package)
    };
    if imports("wasi:clocks") {
        monotonic_clock::add_to_linker::<CallState, Clocks<'static>>(&mut linker, |call| Clocks::of(call.ctx().table))?;
        wall_clock::add_to_linker::<CallState, Clocks<'static>>(&mut linker, |call| Clocks::of(call.ctx().table))?;
    }
    if imports("wasi:random") {
        random::add_to_linker::<CallState, WasiRandom>(&mut linker, CallState::random)?;
        insecure::add_to_linker::<CallState, WasiRandom>(&mut linker, CallState::random)?;
        insecure_seed::add_to_linker::<CallState, WasiRandom>(&mut linker, CallState::random)?;
    }
    Ok(linker)
}

struct Streams;

impl HasData for Streams {
    type Data<'a> = &'a mut ResourceTable;
}

/// The interfaces of [`devgate_types::load::WASI`], each by itself: wasmtime-wasi's own list has clocks and sockets in it.
fn add_wasi(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    cli::environment::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::exit::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::stderr::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::stdin::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::stdout::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_input::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_output::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_stderr::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_stdin::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    cli::terminal_stdout::add_to_linker::<CallState, WasiCli>(linker, CallState::cli)?;
    filesystem::preopens::add_to_linker::<CallState, WasiFilesystem>(linker, CallState::filesystem)?;
    sync::filesystem::types::add_to_linker::<CallState, WasiFilesystem>(linker, CallState::filesystem)?;
    wasmtime_wasi_io::bindings::wasi::io::error::add_to_linker::<CallState, Streams>(linker, |call| call.ctx().table)?;
    sync::io::poll::add_to_linker::<CallState, Streams>(linker, |call| call.ctx().table)?;
    sync::io::streams::add_to_linker::<CallState, Streams>(linker, |call| call.ctx().table)
}

/// An export with a type that this host does not expect.
pub(super) fn export_mismatch(interface: &str, error: &wasmtime::Error) -> Refusal {
    let causes: Vec<String> = error.chain().map(message).collect();
    let text = format!("devgate:plugin/{interface} has another type here: {}", causes.join(": "));
    Refusal::Mismatch(GuestText::new(&text))
}

/// wasmtime's chain of causes names the interface first, then the function, then what is wrong with it.
fn mismatch(error: &wasmtime::Error) -> Refusal {
    let causes: Vec<String> = error.chain().map(message).collect();
    let mut names = causes.iter().filter_map(|cause| cause.split('`').nth(1));
    let (interface, function) = (names.next(), names.next());
    let last = causes.last().map_or("", String::as_str);
    let text = match (interface, function) {
        (Some(interface), Some(function)) if last.contains("implementation is missing") => format!(
            "{function} of {interface} is newer than this host, which has {CONTRACT}; build the component against devgate:plugin@{CONTRACT}"
        ),
        (Some(interface), Some(function)) => format!("{function} of {interface} has another type here: {last}"),
        _ => causes.join(": "),
    };
    Refusal::Mismatch(GuestText::new(&text))
}
