//! From a component's file to one that can be called, or to a refusal that says everything that is wrong with it.

use crate::code_cache::CodeCache;
use crate::compile::{Compiler, Made, Source};
use crate::memory::{Budget, Reserved, runner_memory};
use crate::message::{self, wire};
use crate::program::{ProgramError, Programs, Spawner};
use crate::runner::Runner;
use devgate_types::component::Profile;
use devgate_types::load::{Contents, Inspection, LoadError, LoadRequest, Refusal, check_file, check_imports, profile};
use devgate_types::{Grant, Limits, Mutex};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Loads components, each into a process of its own.
#[derive(Debug)]
pub struct Runners {
    programs: Programs,
    compiler: Compiler,
    spawner: Spawner,
    budget: Arc<Budget>,
    /// Components that were compiled again, because what was kept of them could not be run.
    made_anew: Mutex<BTreeSet<[u8; 32]>>,
}

impl Runners {
    /// With these programs, and with what was compiled before, if it is kept.
    pub fn new(programs: Programs, kept: Option<CodeCache>) -> Result<Self, ProgramError> {
        let budget = Arc::<Budget>::default();
        Ok(Self {
            compiler: Compiler::new(programs.compiler.clone(), kept, Arc::clone(&budget)),
            spawner: Spawner::start()?,
            budget,
            made_anew: Mutex::default(),
            programs,
        })
    }

    /// Has the directory of what was compiled for this process alone, which was beside another one.
    pub fn own_code(&self) {
        if let Some(kept) = self.compiler.kept() {
            kept.own();
        }
    }

    /// Loads a component, for which the calling thread waits: some milliseconds where its code is kept, else for its compiler, which
    /// takes seconds for a whole language's runtime.
    ///
    /// Everything that can be known without compiling is looked at before, in this order: size, digest, kind of file, limits on what
    /// a component may be, validity, imports and exports.
    pub fn load(&self, request: &LoadRequest<'_>) -> Result<Runner, LoadError> {
        let plugin = request.plugin.to_owned();
        self.admit(request).map_err(|refusal| LoadError { plugin, refusal })
    }

    fn admit(&self, request: &LoadRequest<'_>) -> Result<Runner, Refusal> {
        let LoadRequest { bytes, limits, .. } = request;
        let sha256 = digest(bytes);
        check_file(bytes, sha256, limits, request.sha256)?;
        let source = Source { bytes, sha256, limits };
        let start = |made: &Made, reserved: Reserved| {
            let profile = Profile { sha256: Some(sha256), ..profile(&made.scan)? };
            let admitted = check_imports(&made.scan, request.grants)?;
            let load = wire::Load {
                imports: admitted.served,
                not_granted: admitted.not_granted,
                preference: profile.preference,
                lifecycle: profile.lifecycle,
                parameters: profile.parameters,
                conditions: profile.conditions,
                wasi: profile.wasi,
                memory: made.scan.counts.memory.0,
                limits: Some(limits.into()),
                build: crate::BUILD.to_owned(),
            };
            let started_by = (self.programs.runner.clone(), self.spawner.clone());
            Runner::start(request.plugin, started_by, &made.code, load, profile, reserved)
        };
        // Before it is compiled: no other component's compiler then has what this one is to run in.
        let reserve = || {
            let memory = runner_memory(limits, message::bytes(bytes.len()));
            self.budget.reserve(request.plugin, memory)
        };
        let reserved = reserve();
        if let Some(made) = self.compiler.made_before(source) {
            match start(&made, reserved) {
                // What was kept was made for another processor, as in a disk that was moved. Once.
                Err(Refusal::Code(_)) if self.made_anew.lock().insert(sha256) => {
                    return start(&*self.compiler.make(source, made.scan)?, reserve());
                }
                started => return started,
            }
        }
        let scan = self.compiler.scan(source)?;
        // As `start` does, and before it is compiled.
        check_imports(&scan, request.grants)?;
        profile(&scan)?;
        start(&*self.compiler.make(source, scan)?, reserved)
    }

    /// Looks at a file as [`Runners::load`] does before it compiles, but goes on where that would refuse for a lack of grants.
    ///
    /// `most` bounds what is looked at, and so the time that it takes: what is larger is not counted any further.
    #[must_use]
    pub fn inspect(&self, bytes: &[u8], most: &Limits, grants: &dyn Fn(&str) -> Grant) -> Inspection {
        let sha256 = digest(bytes);
        let source = Source { bytes, sha256, limits: most };
        let scan = check_file(bytes, sha256, most, None).and_then(|()| self.compiler.scan(source));
        Inspection { sha256, contents: scan.map(|scan| Contents::new(scan, grants)) }
    }
}

/// A file's SHA-256 digest.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
