//! The thread that moves the engine's epoch, so that a running component is looked at every few milliseconds.
//!
//! It is what ends a loop by the name of its limit. Where it does not run, the host ends the process by its own clock.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread::{self, Thread};
use std::time::Duration;
use wasmtime::EngineWeak;

/// Between two looks at a running component.
const TICK: Duration = Duration::from_millis(5);
/// How long the thread waits for another call before it parks: waking it costs a call some microseconds. It is one sleep and not several,
/// which an idle node would pay for with each look at each plugin's health. A limit is exceeded by at most this much, besides the host's
/// own time.
const LINGER: Duration = Duration::from_millis(25);

/// Ticks while calls are in flight; sleeps otherwise.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct Shared {
    in_flight: AtomicUsize,
    parked: AtomicBool,
}

/// A call in flight, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Flight<'a>(&'a Shared);

impl Ticker {
    /// Starts the thread, and waits until it runs: from then on this process may be confined. It ends with the engine.
    pub(crate) fn start(engine: EngineWeak) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let ticks = Arc::clone(&shared);
        let (here, is_here) = mpsc::sync_channel(1);
        let thread = thread::Builder::new().name("ticker".into()).stack_size(64 << 10).spawn(move || {
            let _ = here.send(());
            tick(&ticks, &engine);
        })?;
        let _ = is_here.recv();
        let thread = thread.thread().clone();
        Ok(Self { shared, thread })
    }

    /// Says that a call begins.
    pub(crate) fn enter(&self) -> Flight<'_> {
        self.shared.in_flight.fetch_add(1, SeqCst);
        if self.shared.parked.swap(false, SeqCst) {
            self.thread.unpark();
        }
        Flight(&self.shared)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.thread.unpark();
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, SeqCst);
    }
}

fn tick(shared: &Shared, engine: &EngineWeak) {
    let is_idle = || shared.in_flight.load(SeqCst) == 0;
    let mut lingered = false;
    while let Some(engine) = engine.upgrade() {
        engine.increment_epoch();
        drop(engine);
        if is_idle() && lingered {
            shared.parked.store(true, SeqCst);
            // A call that began in between either sees `parked` or is seen here.
            if is_idle() {
                thread::park();
            }
            shared.parked.store(false, SeqCst);
        }
        lingered = is_idle();
        thread::sleep(if lingered { LINGER } else { TICK });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_until(what: impl Fn() -> bool) -> bool {
        (0..1000).any(|_| {
            thread::sleep(Duration::from_millis(5));
            what()
        })
    }

    #[test]
    fn it_sleeps_while_no_call_is_in_flight_and_ends_with_its_engine() {
        let engine = wasmtime::Engine::default();
        let ticker = Ticker::start(engine.weak()).unwrap();
        let parked = || ticker.shared.parked.load(SeqCst);
        assert!(wait_until(parked), "sleeps while nothing runs");
        let flight = ticker.enter();
        assert!(!parked());
        drop(flight);
        assert!(wait_until(parked), "sleeps again");
        let shared = Arc::downgrade(&ticker.shared);
        drop(engine);
        drop(ticker);
        assert!(wait_until(|| shared.strong_count() == 0), "the thread has ended");
    }
}
