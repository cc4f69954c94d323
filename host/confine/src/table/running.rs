//! What code of vendors may ask for, with any C library.

use super::Argument::{OneOf, Own, Without};
use super::{Line, bits, line};

const NO_EXEC: u32 = bits(libc::PROT_EXEC);
const OWN: &[u32] = &[bits(libc::MAP_PRIVATE)];
const PLACES: u32 = bits(libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE | libc::MAP_STACK);
const WRITABLE: &[u32] = &[bits(libc::PROT_READ | libc::PROT_WRITE)];
const GIVE_BACK: &[u32] = &[bits(libc::MADV_DONTNEED), bits(libc::MADV_FREE)];
/// The process itself instead of a descriptor of one, from kernel 6.14 on.
const PIDFD_SELF: u32 = bits(-10000);
#[cfg(target_arch = "aarch64")]
const SEE_CODE: &[u32] = &[
    bits(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE),
    bits(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE),
];
const WAIT_AND_WAKE: &[u32] = &[
    bits(libc::FUTEX_WAIT),
    bits(libc::FUTEX_WAKE),
    bits(libc::FUTEX_REQUEUE),
    bits(libc::FUTEX_CMP_REQUEUE),
    bits(libc::FUTEX_WAIT_BITSET),
    bits(libc::FUTEX_WAKE_BITSET),
];
const FUTEX_FLAGS: u32 = bits(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);

#[rustfmt::skip] // A call is a line.
pub(super) const LINES: &[Line] = &[
    line("read", libc::SYS_read, &[], "what the host sends"),
    line("readv", libc::SYS_readv, &[], "what the host sends, into several buffers"),
    line("write", libc::SYS_write, &[], "what the host is answered"),
    line("writev", libc::SYS_writev, &[], "what the host is answered, from several buffers"),
    line("close", libc::SYS_close, &[], "gives a descriptor back"),
    line("fcntl", libc::SYS_fcntl, &[OneOf(1, &[bits(libc::F_GETFD)], 0)], "the standard library looks before it closes, in a build with assertions"),
    #[cfg(target_arch = "x86_64")]
    line("poll", libc::SYS_poll, &[], "waits for the host"),
    line("ppoll", libc::SYS_ppoll, &[], "waits for the host"),
    line("brk", libc::SYS_brk, &[], "the allocator's memory"),
    line("mmap", libc::SYS_mmap, &[Without(2, NO_EXEC), OneOf(3, OWN, PLACES)], "memory, and the first contents of a component's from the descriptor that holds them; never executable, shared, or a stack that grows by itself, which no limit counts"),
    line("mremap", libc::SYS_mremap, &[], "grows memory; what it may be used for stays"),
    line("munmap", libc::SYS_munmap, &[], "gives memory back"),
    line("mprotect", libc::SYS_mprotect, &[OneOf(2, WRITABLE, 0)], "a component's memory grows; never executable, and nothing that was written leaves what the limit of data counts"),
    line("madvise", libc::SYS_madvise, &[OneOf(2, GIVE_BACK, 0)], "gives memory back, between calls of a component too"),
    line("process_madvise", libc::SYS_process_madvise, &[OneOf(0, &[PIDFD_SELF], 0), OneOf(3, GIVE_BACK, 0)], "the same for several ranges at once, as the engine asks between calls; of this process only"),
    line("futex", libc::SYS_futex, &[OneOf(1, WAIT_AND_WAKE, FUTEX_FLAGS)], "threads wait for each other"),
    line("sched_yield", libc::SYS_sched_yield, &[], "a thread lets another one on"),
    #[cfg(target_arch = "aarch64")]
    line("membarrier", libc::SYS_membarrier, &[OneOf(0, SEE_CODE, 0)], "all cores see code that was written"),
    line("clock_gettime", libc::SYS_clock_gettime, &[], "clocks, where the kernel does not share them as memory"),
    line("clock_getres", libc::SYS_clock_getres, &[], "how fine a clock is"),
    line("gettimeofday", libc::SYS_gettimeofday, &[], "the time of day, as the C library asks for it"),
    line("clock_nanosleep", libc::SYS_clock_nanosleep, &[], "sleeps"),
    line("nanosleep", libc::SYS_nanosleep, &[], "sleeps, as the C library asks for it"),
    line("restart_syscall", libc::SYS_restart_syscall, &[], "goes on to sleep after SIGSTOP and SIGCONT"),
    line("getrandom", libc::SYS_getrandom, &[], "seeds of hash tables, one a thread; random bytes of components"),
    line("getpid", libc::SYS_getpid, &[], "for abort"),
    line("gettid", libc::SYS_gettid, &[], "for abort and for the text of a panic"),
    line("tgkill", libc::SYS_tgkill, &[Own(0)], "abort, of this process only, is SIGABRT and not SIGSYS"),
    line("rt_sigaction", libc::SYS_rt_sigaction, &[], "a fault that no component caused gets its default back: SIGSEGV"),
    line("rt_sigprocmask", libc::SYS_rt_sigprocmask, &[], "abort, and the end of a thread"),
    line("rt_sigreturn", libc::SYS_rt_sigreturn, &[], "the way back from a trap of a component"),
    line("sigaltstack", libc::SYS_sigaltstack, &[], "the stack for traps, made at a thread's first call, given back at its end"),
    line("exit", libc::SYS_exit, &[], "a thread ends"),
    line("exit_group", libc::SYS_exit_group, &[], "the process ends"),
];
