//! A panic's message in the host's log: a trap alone says where, and not why.

use crate::log;
use crate::{
    Condition, Conditions, Edits, Error, Lifecycle, Parameters, Plugin, Pool, Preference, Setting, Unit, Verdict,
};
use std::marker::PhantomData;
use std::panic::{PanicHookInfo, set_hook};

/// A component whose calls tell the host what a panic said, before it ends them.
pub struct Told<T>(PhantomData<T>);

fn begin() {
    set_hook(Box::new(tell));
}

/// In one line, where the standard library takes several.
fn tell(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or_default();
    let message: String = message.chars().map(|c| if c == '\n' { ' ' } else { c }).collect();
    match panic.location() {
        Some(place) => log::error(&format!("panicked at {place}: {message}")),
        None => log::error(&format!("panicked: {message}")),
    }
}

impl<T: Plugin> Plugin for Told<T> {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        begin();
        T::enumerate()
    }

    fn health(resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        begin();
        T::health(resource, units)
    }

    fn allocate(resource: String, units: Vec<Unit>) -> Result<Edits, Error> {
        begin();
        T::allocate(resource, units)
    }
}

impl<T: Preference> Preference for Told<T> {
    fn choose(
        resource: String,
        available: Vec<Unit>,
        must_include: Vec<String>,
        size: u32,
    ) -> Result<Vec<String>, Error> {
        begin();
        T::choose(resource, available, must_include, size)
    }
}

impl<T: Lifecycle> Lifecycle for Told<T> {
    fn prepare(resource: String, units: Vec<Unit>) -> Result<(), Error> {
        begin();
        T::prepare(resource, units)
    }

    fn release(resource: String, units: Vec<Unit>) -> Result<(), Error> {
        begin();
        T::release(resource, units)
    }
}

impl<T: Parameters> Parameters for Told<T> {
    fn allocate_with(resource: String, units: Vec<Unit>, settings: Vec<Setting>) -> Result<Edits, Error> {
        begin();
        T::allocate_with(resource, units, settings)
    }
}

impl<T: Conditions> Conditions for Told<T> {
    fn examine(resource: String, units: Vec<Unit>) -> Result<Vec<Vec<Condition>>, Error> {
        begin();
        T::examine(resource, units)
    }
}
