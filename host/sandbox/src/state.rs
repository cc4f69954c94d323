//! What a store holds during one call.

use crate::meter::{Meter, host_fault};
use crate::stdio::{Lines, SharedLines, Stream, ToLog};
use devgate_types::component::{Answered, Capabilities, Cost, Denied};
use devgate_types::{CallError, Failure, GuestFault, Limits, Mutex};
use std::sync::Arc;
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxView, WasiView};

/// The most random bytes at once.
const RANDOM: u64 = 64 * 1024;

/// One call in progress.
pub(crate) struct CallState {
    pub(crate) meter: Meter,
    lines: SharedLines,
    host: Option<Box<dyn Capabilities>>,
    /// Made when the component first asks WASI for something: most never do.
    wasi: Option<Box<Wasi>>,
}

struct Wasi {
    context: WasiCtx,
    table: ResourceTable,
}

impl CallState {
    /// Starts the clocks. Limits are the call's own: some grow with the hardware that is granted.
    pub(crate) fn new(host: Box<dyn Capabilities>) -> Self {
        let limits = Arc::new(host.limits().clone());
        Self { host: Some(host), ..Self::without_host(limits) }
    }

    /// For an instance that is only looked at: whatever it asks the host ends it.
    pub(crate) fn without_host(limits: Arc<Limits>) -> Self {
        Self {
            meter: Meter::start(Arc::clone(&limits)),
            lines: Arc::new(Mutex::new(Lines::new(Arc::clone(&limits)))),
            host: None,
            wasi: None,
        }
    }

    /// Asks the plugin's capabilities for something, inside all limits. The inner result is for the component, the outer one
    /// ends the call.
    pub(crate) fn ask<T>(
        &mut self,
        answer: impl FnOnce(&mut dyn Capabilities) -> Answered<T>,
    ) -> wasmtime::Result<Result<T, Failure>> {
        self.meter.host_call()?;
        self.ask_uncounted(answer)
    }

    /// The same as a further part of one call to the host.
    pub(crate) fn ask_uncounted<T>(
        &mut self,
        answer: impl FnOnce(&mut dyn Capabilities) -> Answered<T>,
    ) -> wasmtime::Result<Result<T, Failure>> {
        let host = self.host.as_deref_mut().ok_or_else(|| host_fault("a call has no capabilities"))?;
        let outcome = self.meter.ask(|| answer(host));
        self.meter.read(host.bytes_read())?;
        self.meter.deadline()?;
        match outcome {
            Ok(value) => Ok(Ok(value)),
            Err(Denied::Failure(failure)) => Ok(Err(failure)),
            Err(Denied::End(error)) => Err(error.into()),
        }
    }

    /// Asks for something that the contract says cannot fail.
    pub(crate) fn ask_infallible<T>(
        &mut self,
        answer: impl FnOnce(&mut dyn Capabilities) -> Answered<T>,
    ) -> wasmtime::Result<T> {
        self.ask(answer)?.map_err(|failure| {
            wasmtime::Error::new(host_fault(format!("answered with a failure where none is possible: {failure}")))
        })
    }

    /// One message to the log.
    pub(crate) fn log(&mut self, level: devgate_types::component::LogLevel, message: &str) -> wasmtime::Result<()> {
        let lines = Arc::clone(&self.lines);
        self.ask(|host| {
            lines.lock().write(level, message, host);
            Ok(())
        })?
        .map_err(Into::into)
    }

    /// The end of the call, however it ended: what is still to be logged is.
    pub(crate) fn finish(&mut self) -> Cost {
        if let Some(host) = self.host.as_deref_mut() {
            self.lines.lock().finish(host);
        }
        let writes = self.lines.lock().writes();
        Cost {
            time: self.meter.elapsed(),
            memory: self.meter.memory(),
            host_calls: self.meter.host_calls().saturating_add(writes),
        }
    }

    /// What the component said last.
    pub(crate) fn last_words(&self) -> String {
        self.lines.lock().last_words().to_owned()
    }

    /// Ends the call because of what the component did.
    pub(crate) fn broke(message: &str) -> wasmtime::Error {
        wasmtime::Error::new(CallError::from(GuestFault::contract(message)))
    }
}

impl WasiView for CallState {
    /// No arguments, environment or files; both output streams go to the log.
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let limits = self.meter.limits();
        let wasi = self.wasi.get_or_insert_with(|| {
            let stream = |stream| ToLog { stream, lines: Arc::clone(&self.lines) };
            let mut table = ResourceTable::new();
            table.set_max_capacity(usize::try_from(limits.handles).unwrap_or(usize::MAX));
            let context = WasiCtx::builder()
                .stdout(stream(Stream::Output))
                .stderr(stream(Stream::Error))
                .max_random_size(RANDOM)
                .build();
            Box::new(Wasi { context, table })
        });
        WasiCtxView { ctx: &mut wasi.context, table: &mut wasi.table }
    }
}
