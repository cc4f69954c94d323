//! A component in the process that asks for it: for tests of the sandbox itself. A host has each in a process of its own.

use crate::engine::Engine;
use crate::load::Loaded;
use crate::{compile, scan};
use devgate_types::component::Profile;
use devgate_types::load::{LoadError, LoadRequest, Refusal, check_file, check_imports, profile};
use sha2::{Digest, Sha256};

/// Loads a component into this process, without a limit on compiling it.
pub fn load(request: LoadRequest<'_>) -> Result<Loaded, LoadError> {
    let plugin = request.plugin.to_owned();
    admit(&request).map_err(|refusal| LoadError { plugin, refusal })
}

fn admit(request: &LoadRequest<'_>) -> Result<Loaded, Refusal> {
    let LoadRequest { bytes, limits, .. } = request;
    let sha256 = Sha256::digest(bytes).into();
    check_file(bytes, sha256, limits, request.sha256)?;
    let scan = scan(bytes, limits)?;
    let imports = check_imports(&scan, request.grants)?;
    let profile = Profile { sha256: Some(sha256), ..profile(&scan)? };
    let memory = scan.counts.memory;
    let code = compile(bytes, memory)?;
    let engine = Engine::new(memory, None)?;
    let loaded = Loaded::new(engine, &code, &imports, profile)?;
    loaded.check_exports(limits)?;
    Ok(loaded)
}
