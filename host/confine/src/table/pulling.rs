//! What is asked for besides while something is fetched from a registry, with any C library. The puller connects, and is not connected to.

use super::Argument::OneOf;
use super::{Line, bits, line};

const INTERNET: &[u32] = &[bits(libc::AF_INET), bits(libc::AF_INET6)];
const KINDS: &[u32] = &[bits(libc::SOCK_STREAM), bits(libc::SOCK_DGRAM)];
const KIND_FLAGS: u32 = bits(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK);
const PROTOCOLS: &[u32] = &[0, bits(libc::IPPROTO_TCP), bits(libc::IPPROTO_UDP)];
const SOCKET: &[u32] = &[bits(libc::SOL_SOCKET)];
const TCP: &[u32] = &[bits(libc::IPPROTO_TCP)];
const TCP_OPTIONS: &[u32] = &[
    bits(libc::TCP_NODELAY),
    bits(libc::TCP_KEEPIDLE),
    bits(libc::TCP_KEEPINTVL),
    bits(libc::TCP_KEEPCNT),
    bits(libc::TCP_USER_TIMEOUT),
];

#[rustfmt::skip] // A call is a line.
pub(super) const LINES: &[Line] = &[
    line("socket", libc::SYS_socket, &[OneOf(0, INTERNET, 0), OneOf(1, KINDS, KIND_FLAGS), OneOf(2, PROTOCOLS, 0)], "to registries over TCP, to servers of names over UDP and TCP"),
    line("bind", libc::SYS_bind, &[], "the port that a question about a name is asked from"),
    line("connect", libc::SYS_connect, &[], "to a registry, or to its proxy"),
    line("sendto", libc::SYS_sendto, &[], "what a registry or a server of names is asked"),
    line("recvfrom", libc::SYS_recvfrom, &[], "what they answer"),
    line("shutdown", libc::SYS_shutdown, &[], "no more is asked"),
    line("getsockname", libc::SYS_getsockname, &[], "which connection it is"),
    line("getpeername", libc::SYS_getpeername, &[], "which connection it is"),
    line("getsockopt", libc::SYS_getsockopt, &[OneOf(1, SOCKET, 0), OneOf(2, &[bits(libc::SO_ERROR)], 0)], "whether a connection came about"),
    line("setsockopt", libc::SYS_setsockopt, &[OneOf(1, SOCKET, 0), OneOf(2, &[bits(libc::SO_KEEPALIVE)], 0)], "a connection that is dead is known to be"),
    line("setsockopt", libc::SYS_setsockopt, &[OneOf(1, TCP, 0), OneOf(2, TCP_OPTIONS, 0)], "the same, and small messages are not held back"),
    line("fcntl", libc::SYS_fcntl, &[OneOf(1, &[bits(libc::F_GETFL), bits(libc::F_SETFL)], 0)], "a socket does not block"),
    line("epoll_ctl", libc::SYS_epoll_ctl, &[], "which sockets are waited for"),
    #[cfg(target_arch = "x86_64")]
    line("epoll_wait", libc::SYS_epoll_wait, &[], "waits for them"),
    line("epoll_pwait", libc::SYS_epoll_pwait, &[], "waits for them"),
];
