//! Ports for servers that cannot be asked which one they took.

use anyhow::Context;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Below those that the kernel gives to whoever asks for any, unless its settings say otherwise.
const LOWEST: u16 = 15_000;

/// A port of the loopback address that is free, and that no other test takes while this lives.
#[derive(Debug)]
pub struct Port {
    /// Its number.
    pub number: u16,
    /// A name that the kernel gives to one test at a time.
    _name: UnixListener,
}

impl Port {
    /// Finds one.
    ///
    /// # Errors
    /// When there is none.
    pub fn find() -> anyhow::Result<Self> {
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        let given = range.split_whitespace().next().and_then(|first| first.parse().ok());
        let given: u16 = given.unwrap_or(32_768).max(LOWEST + 1_000);
        let find = || {
            let number = fastrand::u16(LOWEST..given);
            let name = SocketAddr::from_abstract_name(format!("devgate-tests-port-{number}")).ok()?;
            let name = UnixListener::bind_addr(&name).ok()?;
            TcpListener::bind(("127.0.0.1", number)).ok()?;
            Some(Self { number, _name: name })
        };
        (0..1_000).find_map(|_| find()).context("no port is free")
    }
}
