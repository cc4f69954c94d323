//! The host's capabilities, as the sandbox sees them in a runner: each question is a message, and each answer another.

use crate::message::question::{Argument, Value, questions};
use crate::message::wire::{self, Function, answer::Answer as Given};
use crate::socket::{MAX_DOWN, Socket};
use devgate_types::component::{Answered, Capabilities, Denied, LogBatch, LogLevel, NodeInfo, Uevent};
use devgate_types::{CallError, DeviceHandle, HostFault, Limits, MountHandle, Mutex, NodeHandle};
use std::collections::HashMap;
use std::sync::Arc;

/// What one call may ask.
pub(super) struct Remote {
    host: Arc<Mutex<Socket>>,
    limits: Limits,
    bytes_read: u64,
    /// Answers that came before their questions.
    ahead: HashMap<(i32, u32), Given>,
    /// What came with the call.
    config: Option<Arc<str>>,
}

impl Remote {
    pub(super) fn new(host: Arc<Mutex<Socket>>, limits: Limits, config: Option<String>) -> Self {
        Self { host, limits, bytes_read: 0, ahead: HashMap::new(), config: config.map(Arc::from) }
    }

    fn ask(&mut self, ask: wire::Ask) -> Answered<Given> {
        // A write may change what was said, and another list is gone through anew.
        if matches!(ask.function(), Function::ControlWrite | Function::Devices | Function::Children) {
            self.ahead.clear();
        }
        if ask.name.is_empty()
            && let Some(given) = self.ahead.remove(&(ask.function, ask.handle))
        {
            return Ok(given);
        }
        let mut host = self.host.lock();
        let ask = wire::FromRunner { kind: Some(wire::from_runner::Kind::Ask(ask)) };
        let answer = host.send(&ask).and_then(|()| host.receive::<wire::ToRunner>(MAX_DOWN));
        let answer = answer.map_err(|why| broken(&format!("its host: {why}")))?;
        let Some(wire::to_runner::Kind::Answer(answer)) = answer.kind else {
            return Err(broken("its host says something that is no answer"));
        };
        self.bytes_read = answer.bytes_read;
        let ahead = answer.ahead.into_iter();
        let ahead = ahead.filter_map(|ahead| Some(((ahead.function, ahead.handle), ahead.answer?.answer?)));
        self.ahead.extend(ahead);
        match answer.answer {
            Some(Given::Failure(failure)) => Err(Denied::Failure(failure.into())),
            Some(Given::End(fault)) => Err(Denied::End(fault.into())),
            Some(given) => Ok(given),
            None => Err(other()),
        }
    }
}

fn broken(why: &str) -> Denied {
    Denied::End(CallError::Host(HostFault(why.to_owned())))
}

/// Both ends are of one build: this is a bug.
fn other() -> Denied {
    broken("its host answers something else")
}

/// Asks each question of the table.
macro_rules! ask {
    ($($function:ident $name:ident($($argument:ident: $type:ty = $field:ident),*) -> $value:ty;)*) => {$(
        fn $name(&mut self, $($argument: $type),*) -> Answered<$value> {
            let fields = wire::Ask { $($field: Argument::said($argument),)* ..wire::Ask::default() };
            let given = self.ask(wire::Ask { function: Function::$function.into(), ..fields })?;
            Value::heard(given).ok_or_else(other)
        }
    )*};
}

impl Capabilities for Remote {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    questions!(ask);

    fn config(&mut self) -> Arc<str> {
        if let Some(config) = &self.config {
            return Arc::clone(config);
        }
        // Where there is no answer the host is gone, and with it all that this call could give.
        let config = self.ask(wire::Ask { function: Function::Config.into(), ..wire::Ask::default() });
        let config = config.ok().and_then(String::heard);
        Arc::clone(self.config.insert(config.map_or_else(|| Arc::from("null"), Arc::from)))
    }

    fn log(&mut self, level: LogLevel, message: &str) {
        let log = wire::Log { level: wire::log::Level::from(level).into(), line: message.to_owned() };
        let log = wire::FromRunner { kind: Some(wire::from_runner::Kind::Log(log)) };
        // It goes with the next question, or with the answer.
        let _ = self.host.lock().add(&log);
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }
}
