//! WASI's clocks, for components whose policy grants them. Time is the node's; waiting is not: whatever a component waits
//! for is there at once, as a wait inside the host is one that no limit of a call could end.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

/// What the monotonic clock counts from.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The clocks of one call.
pub(crate) struct Clocks<'a> {
    table: &'a mut ResourceTable,
}

impl HasData for Clocks<'static> {
    type Data<'a> = Clocks<'a>;
}

impl<'a> Clocks<'a> {
    /// With the call's table, for what a component waits for.
    pub(crate) fn of(table: &'a mut ResourceTable) -> Self {
        Self { table }
    }

    fn at_once(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let now = self.table.push(Now)?;
        subscribe(self.table, now)
    }
}

impl monotonic_clock::Host for Clocks<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        // 584 years fit.
        Ok(u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(1)
    }

    fn subscribe_instant(&mut self, _when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.at_once()
    }

    fn subscribe_duration(&mut self, _duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.at_once()
    }
}

impl wall_clock::Host for Clocks<'_> {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        // A clock before 1970 reads 1970.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Ok(datetime(now.unwrap_or_default()))
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(datetime(Duration::from_nanos(1)))
    }
}

fn datetime(since: Duration) -> wall_clock::Datetime {
    wall_clock::Datetime { seconds: since.as_secs(), nanoseconds: since.subsec_nanos() }
}

/// What is there at once.
struct Now;

#[wasmtime_wasi::async_trait]
impl Pollable for Now {
    async fn ready(&mut self) {}
}
