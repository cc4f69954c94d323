//! The capabilities that make no handles: files, the time, the kernel's log, writing attributes, and the blob that survives restarts.

use super::device;
use crate::bindings::types::{Device, Error, Property};
use crate::bindings::{clock, control, files, kernel_log, state, uevents};
use crate::state::CallState;
use devgate_types::component::{LogEvent, Uevent};
use devgate_types::{Failure, FailureKind};
use wasmtime::Result;
use wasmtime::component::Resource;

/// The largest blob that the contract allows, in bytes.
const BLOB: usize = 64 << 10;

impl files::Host for CallState {
    fn text(&mut self, path: String) -> Result<Result<String, Error>> {
        self.asked(&[&path], |host| host.file_text(&path))
    }

    fn read(&mut self, path: String, offset: u64, length: u32) -> Result<Result<Vec<u8>, Error>> {
        self.asked(&[&path], |host| host.file_read(&path, offset, length))
    }

    fn entries(&mut self, path: String) -> Result<Result<Vec<String>, Error>> {
        self.asked(&[&path], |host| host.file_entries(&path))
    }
}

impl kernel_log::Host for CallState {
    fn since(&mut self, cursor: String, most: u32) -> Result<Result<kernel_log::Batch, Error>> {
        let batch = self.asked(&[&cursor], |host| host.kernel_log_since(&cursor, most))?;
        let event = |event: LogEvent| kernel_log::Event {
            pattern: event.pattern,
            captures: event.captures,
            time: event.micros,
        };
        Ok(batch.map(|batch| kernel_log::Batch {
            events: batch.events.into_iter().map(event).collect(),
            cursor: batch.cursor,
            gap: batch.gap,
        }))
    }
}

impl control::Host for CallState {
    fn write(&mut self, target: Resource<Device>, path: String, value: String) -> Result<Result<(), Error>> {
        self.asked(&[&path, &value], |host| host.control_write(device(&target), &path, &value))
    }
}

impl clock::Host for CallState {
    fn now(&mut self) -> Result<u64> {
        self.ask_infallible(|host| host.clock_now())
    }
}

impl uevents::Host for CallState {
    fn recent(&mut self, target: Resource<Device>) -> Result<Result<Vec<uevents::Event>, Error>> {
        let heard = self.asked(&[], |host| host.uevents_recent(device(&target)))?;
        let word = |word: devgate_types::Property| Property { name: word.name, value: word.value };
        let event =
            |event: Uevent| uevents::Event { time: event.millis, words: event.words.into_iter().map(word).collect() };
        Ok(heard.map(|heard| heard.into_iter().map(event).collect()))
    }
}

impl state::Host for CallState {
    fn load(&mut self) -> Result<Result<Vec<u8>, Error>> {
        self.asked(&[], |host| host.state_load())
    }

    fn store(&mut self, blob: Vec<u8>) -> Result<Result<(), Error>> {
        self.meter.transfer(blob.len())?;
        if blob.len() > BLOB {
            let message = format!("the blob has {} bytes; at most {BLOB} are allowed", blob.len());
            return Ok(Err(Failure::new(FailureKind::Limit, message).into()));
        }
        self.asked(&[], |host| host.state_store(&blob))
    }
}
