//! The thread that moves the engine's epoch, so that running components are looked at every few milliseconds.
//!
//! It is what stops a loop, so it is watched: when it dies, its last act is to tick until every call in flight has noticed;
//! when it stands still, the next call notices. Both make calls fail as a fault of the host instead of hanging.

use devgate_types::HostFault;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use wasmtime::EngineWeak;

/// Between two looks at a running component. A limit is exceeded by at most this much, besides the host's own time.
const TICK: Duration = Duration::from_millis(5);
/// How many ticks the thread goes on without a call before it sleeps. Waking it costs a call some microseconds; going on costs
/// an idle host more than anything else, because health is asked for every second by each plugin.
const LINGER: u32 = 4;
/// A ticker that has not ticked for this long while calls were in flight is not merely starved of processor time.
const STALE: Duration = Duration::from_secs(5);

/// Ticks while calls are in flight; sleeps otherwise.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
    engines: Arc<[EngineWeak]>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    in_flight: AtomicUsize,
    parked: AtomicBool,
    stop: AtomicBool,
    alive: AtomicBool,
    /// Milliseconds after `origin`.
    last_tick: AtomicU64,
    origin: Instant,
}

/// A call in flight, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Flight<'a>(&'a Shared);

impl std::fmt::Debug for Ticker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shared.fmt(f)
    }
}

impl Ticker {
    /// Starts the thread.
    pub(crate) fn start(engines: Arc<[EngineWeak]>) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            in_flight: AtomicUsize::new(0),
            parked: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            alive: AtomicBool::new(true),
            last_tick: AtomicU64::new(0),
            origin: Instant::now(),
        });
        let last_act = LastAct {
            shared: Arc::clone(&shared),
            engines: Arc::clone(&engines),
        };
        let thread = thread::Builder::new()
            .name("devgate-ticker".into())
            .spawn(move || last_act.tick())?;
        Ok(Self {
            shared,
            thread: thread.thread().clone(),
            engines,
        })
    }

    /// Says that a call begins.
    pub(crate) fn enter(&self) -> Result<Flight<'_>, HostFault> {
        let shared = &*self.shared;
        shared.in_flight.fetch_add(1, SeqCst);
        let flight = Flight(shared);
        if shared.parked.load(SeqCst) {
            // Before the swap: whoever sees `parked` unset also sees a fresh tick.
            shared.mark_tick();
            if shared.parked.swap(false, SeqCst) {
                self.thread.unpark();
            }
        } else if shared.since_tick() > STALE {
            // Calls in flight look at the ticker, too, when the epoch moves.
            shared.alive.store(false, SeqCst);
            tick_once(&self.engines);
        }
        flight.check()?;
        Ok(flight)
    }

    /// Ends the thread; calls in flight and later ones fail.
    pub(crate) fn stop(&self) {
        self.shared.stop.store(true, SeqCst);
        self.shared.parked.store(false, SeqCst);
        self.thread.unpark();
    }

    /// For the store's epoch callback.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Flight<'_> {
    /// Whether the ticker still runs. To be asked again after a store's epoch deadline was set: from then on, the ticker's last
    /// act reaches that store.
    pub(crate) fn check(&self) -> Result<(), HostFault> {
        self.0.check()
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, SeqCst);
    }
}

impl Shared {
    /// Whether the ticker still runs.
    pub(crate) fn check(&self) -> Result<(), HostFault> {
        if self.alive.load(SeqCst) {
            return Ok(());
        }
        Err(HostFault(
            "the sandbox's ticker stopped, so that no component could be interrupted; restart devgate".into(),
        ))
    }

    fn mark_tick(&self) {
        let now = u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_tick.store(now, SeqCst);
    }

    fn since_tick(&self) -> Duration {
        self.origin
            .elapsed()
            .saturating_sub(Duration::from_millis(self.last_tick.load(SeqCst)))
    }
}

/// The thread's own state. Dropped when the thread ends, however it ends.
struct LastAct {
    shared: Arc<Shared>,
    engines: Arc<[EngineWeak]>,
}

/// Moves the epoch of every engine. Returns whether there is still one.
fn tick_once(engines: &[EngineWeak]) -> bool {
    let mut any = false;
    for engine in engines.iter().filter_map(EngineWeak::upgrade) {
        engine.increment_epoch();
        any = true;
    }
    any
}

impl LastAct {
    fn tick(self) {
        let shared = &*self.shared;
        let mut idle = 0;
        while !shared.stop.load(SeqCst) {
            shared.mark_tick();
            // A machine that was paused comes back: whoever missed the tick then was right, and is not any more.
            shared.alive.store(true, SeqCst);
            if shared.in_flight.load(SeqCst) > 0 {
                idle = 0;
            } else {
                idle += 1;
            }
            if idle > LINGER {
                shared.parked.store(true, SeqCst);
                // A call that began in between either sees `parked` or is seen here.
                if shared.in_flight.load(SeqCst) == 0 && !shared.stop.load(SeqCst) {
                    thread::park();
                }
                shared.mark_tick();
                shared.parked.store(false, SeqCst);
                idle = 0;
            }
            thread::sleep(TICK);
            if !tick_once(&self.engines) {
                return;
            }
        }
    }
}

impl Drop for LastAct {
    fn drop(&mut self) {
        self.shared.alive.store(false, SeqCst);
        // A call that was looked at just before, and sets its next deadline just after, has missed one tick, but no later one.
        while tick_once(&self.engines) && self.shared.in_flight.load(SeqCst) > 0 {
            thread::sleep(TICK);
        }
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
    fn it_ticks_while_a_call_is_in_flight_and_sleeps_after() {
        let engine = wasmtime::Engine::default();
        let ticker = Ticker::start([engine.weak()].into()).unwrap();
        let parked = || ticker.shared.parked.load(SeqCst);
        assert!(wait_until(parked), "sleeps while nothing runs");
        let flight = ticker.enter().unwrap();
        let before = ticker.shared.last_tick.load(SeqCst);
        assert!(wait_until(|| ticker.shared.last_tick.load(SeqCst) > before));
        drop(flight);
        assert!(wait_until(parked), "sleeps again");
    }

    #[test]
    fn a_stopped_ticker_fails_calls() {
        let engine = wasmtime::Engine::default();
        let ticker = Ticker::start([engine.weak()].into()).unwrap();
        let flight = ticker.enter().unwrap();
        ticker.stop();
        assert!(wait_until(|| flight.check().is_err()), "the call in flight");
        insta::assert_snapshot!(
            ticker.enter().unwrap_err(),
            @"host fault: the sandbox's ticker stopped, so that no component could be interrupted; restart devgate"
        );
    }

    #[test]
    fn a_ticker_that_stands_still_is_noticed_by_the_next_call() {
        let engine = wasmtime::Engine::default();
        let shared = Shared {
            in_flight: AtomicUsize::new(1),
            parked: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            alive: AtomicBool::new(true),
            last_tick: AtomicU64::new(0),
            origin: Instant::now().checked_sub(Duration::from_secs(60)).unwrap(),
        };
        let ticker = Ticker {
            shared: Arc::new(shared),
            thread: thread::current(),
            engines: [engine.weak()].into(),
        };
        assert!(ticker.enter().is_err());
    }
}
