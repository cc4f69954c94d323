//! What a command says while the admin waits for it: on standard error, and only about what takes longer than a second.

use std::io::Write;
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
