//! What a command says while somebody waits for it: on standard error, and only about what takes longer than a second.

use devgate_plugin::component::Component;
use devgate_plugin::{LoadFailure, Loader};
use devgate_policy::PluginPolicy;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// What nobody is told about.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says after a second what is waited for, unless it is over by then. Dropping it ends it.
pub(crate) struct Progress {
    _over: Sender<()>,
}

impl Progress {
    /// Begins something, to be named as in `devgate: loading vendor.wasm …`.
    pub(crate) fn begin(what: String) -> Self {
        let (over, waiting) = channel::<()>();
        std::thread::spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // Nobody is waiting if this cannot be written.
                let _ = writeln!(std::io::stderr(), "devgate: {what} …");
            }
        });
        Self { _over: over }
    }
}

/// A loader that says what it loads where that takes a while: compiling a language's whole runtime takes seconds.
pub(crate) struct Telling<L>(pub(crate) L);

impl<L: Loader> Loader for Telling<L> {
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        let _progress = Progress::begin(format!("loading the component of plugin {}", policy.name));
        self.0.load(policy)
    }

    fn digest(&self, policy: &PluginPolicy) -> Option<[u8; 32]> {
        self.0.digest(policy)
    }
}
