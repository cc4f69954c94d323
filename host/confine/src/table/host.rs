//! What the host asks for, and its children until they have filters of their own, with any C library. Not in it are other people's memory
//! and descriptors, mounts, namespaces, identities, modules, clocks, nodes of devices, keys, probes and queues of calls.

use super::Argument::{OneOf, Without};
use super::{Line, NAMESPACES, bits, line, refused};

const FILES: &str = "reads the node, the policy and components, and keeps what it knows";
const WAITING: &str = "waits for the kubelet, its children and the node";
const TALKING: &str = "speaks with the kubelet, probes, the service manager and its children";
const CHILDREN: &str = "starts its children, waits for them and ends them";
const CONFINES: &str = "its children confine themselves";
const THREADS: &str = "threads start";
const KNOWS: &str = "asks what it is and where it runs";

const FAMILIES: &[u32] = &[bits(libc::AF_UNIX), bits(libc::AF_INET), bits(libc::AF_INET6), bits(libc::AF_NETLINK)];
const DESCRIPTOR: &[u32] = &[
    bits(libc::F_DUPFD),
    bits(libc::F_DUPFD_CLOEXEC),
    bits(libc::F_GETFD),
    bits(libc::F_SETFD),
    bits(libc::F_GETFL),
    bits(libc::F_SETFL),
    bits(libc::F_ADD_SEALS),
    bits(libc::F_GET_SEALS),
    bits(libc::F_OFD_SETLK),
    bits(libc::F_SETLK),
    bits(libc::F_GETLK),
];
/// Of a terminal: whether it is one, its size; of a descriptor: that it does not block, or is closed for other programs.
const TERMINAL: &[u32] = &[0x5401, 0x5413, 0x5421, 0x5451];
const CHILD: &[u32] = &[
    bits(libc::PR_SET_PDEATHSIG),
    bits(libc::PR_SET_NAME),
    bits(libc::PR_GET_NAME),
    bits(libc::PR_GET_DUMPABLE),
    bits(libc::PR_GET_NO_NEW_PRIVS),
    bits(libc::PR_CAPBSET_READ),
];

#[rustfmt::skip] // A call is a line.
pub(super) const LINES: &[Line] = &[
    line("openat", libc::SYS_openat, &[], FILES),
    line("openat2", libc::SYS_openat2, &[], FILES),
    line("pread64", libc::SYS_pread64, &[], FILES),
    line("pwrite64", libc::SYS_pwrite64, &[], FILES),
    line("lseek", libc::SYS_lseek, &[], FILES),
    line("fstat", libc::SYS_fstat, &[], FILES),
    line("newfstatat", libc::SYS_newfstatat, &[], FILES),
    line("statx", libc::SYS_statx, &[], FILES),
    line("fstatfs", libc::SYS_fstatfs, &[], FILES),
    line("faccessat", libc::SYS_faccessat, &[], FILES),
    line("faccessat2", libc::SYS_faccessat2, &[], FILES),
    line("readlinkat", libc::SYS_readlinkat, &[], FILES),
    line("getdents64", libc::SYS_getdents64, &[], FILES),
    line("getcwd", libc::SYS_getcwd, &[], FILES),
    line("flock", libc::SYS_flock, &[], FILES),
    line("fsync", libc::SYS_fsync, &[], FILES),
    line("fdatasync", libc::SYS_fdatasync, &[], FILES),
    line("ftruncate", libc::SYS_ftruncate, &[], FILES),
    line("fallocate", libc::SYS_fallocate, &[], FILES),
    line("mkdirat", libc::SYS_mkdirat, &[], FILES),
    line("unlinkat", libc::SYS_unlinkat, &[], FILES),
    line("renameat", libc::SYS_renameat, &[], FILES),
    line("renameat2", libc::SYS_renameat2, &[], FILES),
    line("fchmod", libc::SYS_fchmod, &[], FILES),
    line("fchmodat", libc::SYS_fchmodat, &[], FILES),
    line("utimensat", libc::SYS_utimensat, &[], FILES),
    line("copy_file_range", libc::SYS_copy_file_range, &[], FILES),
    line("close_range", libc::SYS_close_range, &[], FILES),
    line("dup", libc::SYS_dup, &[], FILES),
    line("dup3", libc::SYS_dup3, &[], FILES),
    line("pipe2", libc::SYS_pipe2, &[], FILES),
    line("inotify_init1", libc::SYS_inotify_init1, &[], FILES),
    line("inotify_add_watch", libc::SYS_inotify_add_watch, &[], FILES),
    line("inotify_rm_watch", libc::SYS_inotify_rm_watch, &[], FILES),
    line("memfd_create", libc::SYS_memfd_create, &[], FILES),
    line("fcntl", libc::SYS_fcntl, &[OneOf(1, DESCRIPTOR, 0)], "descriptors that do not block, locks and seals"),
    line("ioctl", libc::SYS_ioctl, &[OneOf(1, TERMINAL, 0)], "whether a person reads what it prints; of devices it controls none"),
    line("syslog", libc::SYS_syslog, &[], "the kernel's log, where a policy grants lines of it"),
    line("epoll_create1", libc::SYS_epoll_create1, &[], WAITING),
    line("epoll_ctl", libc::SYS_epoll_ctl, &[], WAITING),
    line("epoll_pwait", libc::SYS_epoll_pwait, &[], WAITING),
    line("eventfd2", libc::SYS_eventfd2, &[], WAITING),
    line("socketpair", libc::SYS_socketpair, &[], TALKING),
    line("bind", libc::SYS_bind, &[], TALKING),
    line("listen", libc::SYS_listen, &[], TALKING),
    line("accept", libc::SYS_accept, &[], TALKING),
    line("accept4", libc::SYS_accept4, &[], TALKING),
    line("connect", libc::SYS_connect, &[], TALKING),
    line("shutdown", libc::SYS_shutdown, &[], TALKING),
    line("sendto", libc::SYS_sendto, &[], TALKING),
    line("recvfrom", libc::SYS_recvfrom, &[], TALKING),
    line("sendmsg", libc::SYS_sendmsg, &[], TALKING),
    line("recvmsg", libc::SYS_recvmsg, &[], TALKING),
    line("getsockname", libc::SYS_getsockname, &[], TALKING),
    line("getpeername", libc::SYS_getpeername, &[], TALKING),
    line("getsockopt", libc::SYS_getsockopt, &[], TALKING),
    line("setsockopt", libc::SYS_setsockopt, &[], TALKING),
    line("socket", libc::SYS_socket, &[OneOf(0, FAMILIES, 0)], "by path with the kubelet, by netlink with the kernel, and of the internet for probes and what fetches"),
    line("execve", libc::SYS_execve, &[], CHILDREN),
    line("wait4", libc::SYS_wait4, &[], CHILDREN),
    line("waitid", libc::SYS_waitid, &[], CHILDREN),
    line("setpgid", libc::SYS_setpgid, &[], CHILDREN),
    line("kill", libc::SYS_kill, &[], CHILDREN),
    line("tkill", libc::SYS_tkill, &[], CHILDREN),
    line("tgkill", libc::SYS_tgkill, &[], CHILDREN),
    line("pidfd_open", libc::SYS_pidfd_open, &[], CHILDREN),
    line("pidfd_send_signal", libc::SYS_pidfd_send_signal, &[], CHILDREN),
    line("clone", libc::SYS_clone, &[Without(0, NAMESPACES)], "threads and children, in no namespace of their own"),
    refused("clone3", libc::SYS_clone3, &[], "its flags are in memory, where a filter cannot look; clone comes instead"),
    line("setpriority", libc::SYS_setpriority, &[], CONFINES),
    line("getpriority", libc::SYS_getpriority, &[], CONFINES),
    line("prlimit64", libc::SYS_prlimit64, &[], CONFINES),
    line("landlock_create_ruleset", libc::SYS_landlock_create_ruleset, &[], CONFINES),
    line("landlock_add_rule", libc::SYS_landlock_add_rule, &[], CONFINES),
    line("landlock_restrict_self", libc::SYS_landlock_restrict_self, &[], CONFINES),
    line("prctl", libc::SYS_prctl, &[OneOf(0, CHILD, 0)], CONFINES),
    line("prctl", libc::SYS_prctl, &[OneOf(0, &[bits(libc::PR_SET_DUMPABLE)], 0), OneOf(1, &[0], 0)], "no other process looks into a child; what is hidden stays so"),
    line("prctl", libc::SYS_prctl, &[OneOf(0, &[bits(libc::PR_SET_NO_NEW_PRIVS)], 0), OneOf(1, &[1], 0)], CONFINES),
    line("seccomp", libc::SYS_seccomp, &[OneOf(0, &[libc::SECCOMP_SET_MODE_FILTER], 0)], CONFINES),
    line("set_tid_address", libc::SYS_set_tid_address, &[], THREADS),
    line("set_robust_list", libc::SYS_set_robust_list, &[], THREADS),
    line("rseq", libc::SYS_rseq, &[], THREADS),
    line("sched_getaffinity", libc::SYS_sched_getaffinity, &[], THREADS),
    line("getcpu", libc::SYS_getcpu, &[], THREADS),
    line("membarrier", libc::SYS_membarrier, &[], THREADS),
    line("mmap", libc::SYS_mmap, &[], "memory; children load code that was compiled"),
    line("mprotect", libc::SYS_mprotect, &[], "the same"),
    line("madvise", libc::SYS_madvise, &[], "gives memory back"),
    line("futex", libc::SYS_futex, &[], "threads wait for each other"),
    line("getppid", libc::SYS_getppid, &[], KNOWS),
    line("getuid", libc::SYS_getuid, &[], KNOWS),
    line("geteuid", libc::SYS_geteuid, &[], KNOWS),
    line("getgid", libc::SYS_getgid, &[], KNOWS),
    line("getegid", libc::SYS_getegid, &[], KNOWS),
    line("uname", libc::SYS_uname, &[], KNOWS),
    line("sysinfo", libc::SYS_sysinfo, &[], KNOWS),
];

/// Calls that a processor of this kind has from of old.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip] // A call is a line.
pub(super) const OLD: &[Line] = &[
    line("open", libc::SYS_open, &[], FILES),
    line("stat", libc::SYS_stat, &[], FILES),
    line("lstat", libc::SYS_lstat, &[], FILES),
    line("access", libc::SYS_access, &[], FILES),
    line("readlink", libc::SYS_readlink, &[], FILES),
    line("mkdir", libc::SYS_mkdir, &[], FILES),
    line("rmdir", libc::SYS_rmdir, &[], FILES),
    line("unlink", libc::SYS_unlink, &[], FILES),
    line("rename", libc::SYS_rename, &[], FILES),
    line("chmod", libc::SYS_chmod, &[], FILES),
    line("dup2", libc::SYS_dup2, &[], FILES),
    line("pipe", libc::SYS_pipe, &[], FILES),
    line("epoll_wait", libc::SYS_epoll_wait, &[], WAITING),
    line("arch_prctl", libc::SYS_arch_prctl, &[], THREADS),
    line("fork", libc::SYS_fork, &[], CHILDREN),
    line("vfork", libc::SYS_vfork, &[], CHILDREN),
];
/// There are none on this processor.
#[cfg(target_arch = "aarch64")]
pub(super) const OLD: &[Line] = &[];
