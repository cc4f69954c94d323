//! The kernel's messages about devices: `NETLINK_KOBJECT_UEVENT`.

use crate::DevicePath;
use crate::events::{DeviceAction, DeviceEvent, NodeEvent};
use crate::path::{base, problem};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recvfrom, socket_with, sockopt};

/// The multicast group that the kernel itself sends to. Group 2 is udev's.
const KERNEL_GROUP: u32 = 1;
/// The kernel's own port; every process has another.
const KERNEL_PORT: u32 = 0;
/// The variables are made in a buffer of 2,048 bytes (`UEVENT_BUFFER_SIZE`); before them stands the device's path.
const MAX_BYTES: usize = 8192;
/// Room for the events of a whole machine that comes or goes at once; the kernel's default holds some 250.
const QUEUE_BYTES: usize = 4 << 20;

/// What every message says, and what DRM says of the program that a GPU hangs of: that is its tenant's affair.
const NOT_SAID: [&str; 6] = ["ACTION", "DEVPATH", "PID", "SEQNUM", "SUBSYSTEM", "TASK"];

/// A socket that the kernel's messages come to.
pub(crate) struct Uevents {
    socket: OwnedFd,
}

impl Uevents {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Self, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(KOBJECT_UEVENT))?;
        // More than the system's limit needs a capability that a pod does not have; what is lost is made up for.
        if sockopt::set_socket_recv_buffer_size_force(&socket, QUEUE_BYTES).is_err() {
            let _ = sockopt::set_socket_recv_buffer_size(&socket, QUEUE_BYTES);
        }
        bind(&socket, &SocketAddrNetlink::new(0, KERNEL_GROUP))?;
        Ok(Self { socket })
    }

    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Tells all that has come. Fails only if nothing will ever come any more.
    pub(crate) fn drain(&self, tell: &dyn Fn(NodeEvent)) -> Result<(), Errno> {
        let mut buffer = [0; MAX_BYTES];
        loop {
            let (length, sender) = match recvfrom(&self.socket, &mut buffer, RecvFlags::TRUNC) {
                Ok((_, length, sender)) => (length, sender),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                // The queue was full.
                Err(Errno::NOBUFS) => {
                    tell(NodeEvent::Lost);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let sender = sender.and_then(|sender| SocketAddrNetlink::try_from(sender).ok());
            if !sender.is_some_and(is_kernel) {
                continue;
            }
            match buffer.get(..length) {
                Some(message) => parse(message).into_iter().for_each(tell),
                None => tell(NodeEvent::Lost),
            }
        }
    }
}

/// Whether a message is from the kernel, and to everybody. A process can send to this socket, and with `CAP_NET_ADMIN` to the
/// group, but not from port 0.
fn is_kernel(sender: SocketAddrNetlink) -> bool {
    sender.pid() == KERNEL_PORT && sender.groups() == KERNEL_GROUP
}

/// What a message says: `add@/devices/...`, and after it `KEY=value`, each ended by a NUL.
pub(crate) fn parse(message: &[u8]) -> Vec<NodeEvent> {
    let text = String::from_utf8_lossy(message);
    let mut parts = text.split('\0');
    let Some((action, path)) = parts.next().and_then(|head| head.split_once('@')) else {
        return Vec::new();
    };
    let variables: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
    let value = |key: &str| {
        let found = variables.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| *value)
    };
    let event = |action, path: &str| {
        let device = DevicePath::at(&format!("sys{path}"))?;
        let node = value("DEVNAME").map(|name| format!("/dev/{}", name.trim_start_matches("/dev/")));
        Some(NodeEvent::Device(DeviceEvent {
            action,
            device,
            words: if action == DeviceAction::Change { words(&variables) } else { Vec::new() },
            subsystem: value("SUBSYSTEM")?.to_owned(),
            node: node.filter(|path| path.strip_prefix('/').is_some_and(|path| problem(path).is_none())),
        }))
    };
    if !path.starts_with("/devices/") {
        let is_driver = matches!(value("SUBSYSTEM"), Some("module" | "drivers"));
        return is_driver.then(|| NodeEvent::Driver(base(path).to_owned())).into_iter().collect();
    }
    let (before, action) = match action {
        "add" => (None, DeviceAction::Add),
        "remove" => (None, DeviceAction::Remove),
        "change" => (None, DeviceAction::Change),
        "bind" => (None, DeviceAction::Bind),
        "unbind" => (None, DeviceAction::Unbind),
        "online" => (None, DeviceAction::Online),
        "offline" => (None, DeviceAction::Offline),
        "move" => (value("DEVPATH_OLD"), DeviceAction::Add),
        // A later kernel's word: something has changed.
        _ => (None, DeviceAction::Change),
    };
    let before = before.and_then(|path| event(DeviceAction::Remove, path));
    before.into_iter().chain(event(action, path)).collect()
}

/// What a driver says. What a program writes to a device's `uevent` comes from the kernel as well, marked as such
/// (`kobject_synth_uevent`).
fn words(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    if variables.iter().any(|(name, _)| name.starts_with("SYNTH_")) {
        return Vec::new();
    }
    let said = variables.iter().filter(|(name, _)| !NOT_SAID.contains(name));
    said.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[cfg(test)]
mod tests;
