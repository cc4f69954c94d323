//! What a command says while the admin waits for it: on standard error, and only about what takes longer than a second.

use devgate_core::{LoadFailure, Loader};
use devgate_policy::PluginPolicy;
use devgate_types::component::Component;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// What is not said.
const DELAY: Duration = Duration::from_secs(1);

/// Says after a second what is waited for, unless it is over by then. Dropping it ends it.
pub struct Progress {
    _over: Sender<()>,
}

/// How often it is said how far it is.
const PACE: Duration = Duration::from_secs(3);

impl Progress {
    /// Begins something, saying from time to time how far it is, where that is known; otherwise once what it is.
    pub fn following(what: String, how_far: impl Fn() -> Option<String> + Send + 'static) -> Self {
        let (over, waiting) = channel::<()>();
        std::thread::spawn(move || {
            let (mut patience, mut said) = (DELAY, String::new());
            while waiting.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                let now = how_far().unwrap_or_else(|| what.clone());
                if now != said {
                    let _ = writeln!(std::io::stderr(), "devgate: {now} …");
                    said = now;
                }
                patience = PACE;
            }
        });
        Self { _over: over }
    }

    /// Begins something, to be named as in `devgate: loading vendor.wasm …`.
    pub fn begin(what: String) -> Self {
        Self::following(what, || None)
    }
}

/// A loader that says what it loads where that takes a while: compiling a language's whole runtime takes seconds.
pub struct ProgressLoader<L>(pub Arc<L>);

impl<L: Loader> Loader for ProgressLoader<L> {
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        let (loader, of) = (Arc::clone(&self.0), policy.clone());
        let what = format!("loading the component of plugin {}", policy.name);
        let _progress = Progress::following(what, move || loader.progress(&of));
        self.0.load(policy)
    }

    fn digest(&self, policy: &PluginPolicy) -> Result<Option<[u8; 32]>, LoadFailure> {
        self.0.digest(policy)
    }
}
