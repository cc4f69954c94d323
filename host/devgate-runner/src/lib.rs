//! What `devgate-runner` does: runs one component with wasmtime, in a process that can do nothing but compute and ask its host.
#![deny(unsafe_code)]

use devgate_runner::child::run::{self, Loading, Ready};
use devgate_sandbox::{Code, Engine, Loaded};
use devgate_types::component::Call;
use devgate_types::load::Refusal;
use std::process::ExitCode;
use std::sync::Arc;

pub use run::NAME;

/// Runs the component that the host hands over. For a process that is nothing else.
#[must_use]
pub fn main() -> ExitCode {
    run::main(load)
}

fn load(loading: Loading) -> Result<Ready, Refusal> {
    // WASI's functions wait for nothing here, so nothing has to drive it.
    let tokio = loading.profile.wasi.then(|| tokio::runtime::Builder::new_current_thread().build());
    let tokio = tokio.transpose().map_err(|error| Refusal::Host(error.to_string()))?;
    // It lives as long as the process.
    let handle = tokio.as_ref().map(|tokio| tokio.handle().clone());
    std::mem::forget(tokio);
    let engine = Engine::new(loading.memory, handle)?;
    let Loading { code, imports, profile, limits, .. } = loading;
    #[expect(unsafe_code, reason = "nothing can tell code that this build made from other code")]
    // SAFETY: the host hands over what `devgate-compile` of the same build made: it has it from that process, or from a file that no other user
    // can write, whole as it was written. Where that is not so, it is this process that runs it, which can do nothing but compute
    // and ask.
    let code = unsafe { Code::made_elsewhere(code) };
    let loaded = Arc::new(Loaded::new(engine, &code, &imports, profile)?);
    let called = Arc::clone(&loaded);
    let call = Arc::new(move |call: &Call<'_>, host| called.call(call, host));
    let check = Box::new(move || loaded.check_exports(&limits));
    Ok(Ready { call, check })
}
