//! This machine, of which there is one for all tests, whatever process they run in: those that change something of it for a moment,
//! such as the name of a node, and those that hold two looks at it against each other go one at a time.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

/// No other test has the machine while this lives.
pub struct Alone {
    _name: UnixListener,
}

/// Waits until no other test has the machine.
///
/// # Errors
/// When the kernel has no names for sockets that are in no directory.
pub fn alone() -> io::Result<Alone> {
    // The kernel gives such a name to one, and takes it back however that one ends.
    let name = SocketAddr::from_abstract_name("devgate-tests-machine")?;
    loop {
        match UnixListener::bind_addr(&name) {
            Ok(listener) => return Ok(Alone { _name: listener }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(error),
        }
    }
}
