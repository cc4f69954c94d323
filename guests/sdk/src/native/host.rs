//! Who answers, and how long.

use super::kernel_log::Batch;
use super::log::Level;
use super::uevents::Event;
use super::{Error, NodeKind};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a component may ask during one call. The functions are those of the contract (`wit/`), with numbers for handles.
///
/// A host ends a call, as a real one does where a limit is reached, by unwinding out of a function.
pub trait Host {
    /// `hardware.devices`.
    ///
    /// # Errors
    /// As the contract says; the same for all others.
    fn devices(&mut self, subsystem: &str) -> Result<Vec<u32>, Error>;
    /// `hardware.device-by-name`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn device_by_name(&mut self, subsystem: &str, name: &str) -> Result<u32, Error>;

    /// `device.name`.
    fn device_name(&mut self, device: u32) -> String;
    /// `device.subsystem`.
    fn device_subsystem(&mut self, device: u32) -> String;
    /// `device.driver`.
    fn device_driver(&mut self, device: u32) -> Option<String>;
    /// `device.location`.
    fn device_location(&mut self, device: u32) -> String;
    /// `device.numa-node`.
    fn device_numa_node(&mut self, device: u32) -> Option<u32>;
    /// `device.attributes`; `device.attribute` asks for one.
    fn attributes(&mut self, device: u32, paths: &[&str]) -> Vec<Result<String, Error>>;
    /// `device.attribute-bytes`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn attribute_bytes(&mut self, device: u32, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, Error>;
    /// `device.entries`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn entries(&mut self, device: u32, path: &str) -> Result<Vec<String>, Error>;
    /// `device.link`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn link(&mut self, device: u32, path: &str) -> Result<String, Error>;
    /// `device.related`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn related(&mut self, device: u32, link: &str) -> Result<u32, Error>;
    /// `device.parent`.
    fn parent(&mut self, device: u32) -> Option<u32>;
    /// `device.children`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn children(&mut self, device: u32, subsystem: &str) -> Result<Vec<u32>, Error>;
    /// `device.nodes`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn nodes(&mut self, device: u32) -> Result<Vec<u32>, Error>;

    /// `host-paths.node-at`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn node_at(&mut self, path: &str) -> Result<u32, Error>;
    /// `host-paths.mount`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn mount(&mut self, name: &str) -> Result<u32, Error>;
    /// `node.path`.
    fn node_path(&mut self, node: u32) -> String;
    /// `node.kind` and `node.number`.
    fn node_number(&mut self, node: u32) -> (NodeKind, u32, u32);
    /// `node.owner`.
    fn node_owner(&mut self, node: u32) -> Option<(String, String)>;
    /// `mount-source.path`.
    fn mount_path(&mut self, mount: u32) -> String;
    /// `mount-source.writable`.
    fn mount_writable(&mut self, mount: u32) -> bool;

    /// `files.text`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn file_text(&mut self, path: &str) -> Result<String, Error>;
    /// `files.read`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn file_read(&mut self, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, Error>;
    /// `files.entries`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn file_entries(&mut self, path: &str) -> Result<Vec<String>, Error>;
    /// `kernel-log.since`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn log_since(&mut self, cursor: &str, most: u32) -> Result<Batch, Error>;
    /// `control.write`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn control_write(&mut self, device: u32, path: &str, value: &str) -> Result<(), Error>;
    /// `clock.now`.
    fn clock_now(&mut self) -> u64;
    /// `uevents.recent`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn uevents_recent(&mut self, device: u32) -> Result<Vec<Event>, Error>;
    /// `state.load`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn state_load(&mut self) -> Result<Vec<u8>, Error>;
    /// `state.store`.
    ///
    /// # Errors
    /// See [`Host::devices`].
    fn state_store(&mut self, blob: &[u8]) -> Result<(), Error>;
    /// `config.json`.
    fn config(&mut self) -> String;
    /// `log.write`.
    fn log(&mut self, level: Level, message: &str);

    /// `device.duplicate`: there is one handle more.
    fn duplicated(&mut self);
    /// There is one handle less.
    fn dropped(&mut self);
}

thread_local! {
    static CALL: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// Of all threads: a handle that is kept anywhere is of another call than the next one's.
static CALLS: AtomicU64 = AtomicU64::new(0);

struct Current {
    host: Rc<RefCell<dyn Host>>,
    number: u64,
}

/// Does `call` with this host on this thread. Handles end with it, as a component's instance does.
pub fn during<T>(host: Rc<RefCell<dyn Host>>, call: impl FnOnce() -> T) -> T {
    struct Restore(Option<Current>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let before = self.0.take();
            CALL.with_borrow_mut(|current| *current = before);
        }
    }
    let number = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
    let before = CALL.with_borrow_mut(|current| current.replace(Current { host, number }));
    let _restore = Restore(before);
    call()
}

/// Asks the host of this call.
#[expect(clippy::panic, reason = "a component has a host whenever it runs; a test that has none is wrong")]
pub(super) fn ask<T>(what: &str, question: impl FnOnce(&mut dyn Host) -> T) -> T {
    let host = CALL.with_borrow(|current| current.as_ref().map(|current| Rc::clone(&current.host)));
    match host {
        Some(host) => question(&mut *host.borrow_mut()),
        None => {
            panic!("{what} was called outside of a call of the component: there is no host to ask; see devgate-testing")
        }
    }
}

/// What is behind a handle, and its life: of one call.
#[derive(Debug)]
pub(super) struct Handle {
    number: u32,
    call: u64,
}

impl Handle {
    /// An own handle in this call.
    pub(super) fn new(what: &str, number: u32) -> Self {
        let call = ask(what, |_| current());
        Self { number, call: call.unwrap_or_default() }
    }

    /// Its number in this call.
    #[expect(clippy::panic, reason = "in a component it cannot happen: each call is another instance")]
    pub(super) fn number(&self, what: &str) -> u32 {
        match current() {
            Some(call) if call == self.call => self.number,
            Some(_) => panic!(
                "{what}: the handle was kept from an earlier call; each call is a fresh instance, which has none"
            ),
            None => ask(what, |_| self.number),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // What is dropped after its call, or while a panic unwinds, is nobody's business.
        if current() != Some(self.call) || std::thread::panicking() {
            return;
        }
        let host = CALL.with_borrow(|current| current.as_ref().map(|current| Rc::clone(&current.host)));
        if let Some(host) = host
            && let Ok(mut host) = host.try_borrow_mut()
        {
            host.dropped();
        }
    }
}

/// Which call runs on this thread, if one does.
fn current() -> Option<u64> {
    let number = CALL.try_with(|current| current.try_borrow().ok()?.as_ref().map(|current| current.number));
    number.ok().flatten()
}
