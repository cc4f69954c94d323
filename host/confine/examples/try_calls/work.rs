//! What is tried. All that needs a file or a descriptor is made ready before the process is confined.

use super::{Work, call};
use std::collections::HashMap;
use std::ffi::{c_int, c_long};
use std::fs::File;
use std::io::{Read, Write, stdin};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, net, process, thread};

pub(super) fn prepare(what: &str, rest: &[String]) -> Work {
    match what.trim_end_matches("-on-thread") {
        "call" | "thread" => prepare_call(rest),
        "compute" => Box::new(compute),
        "talk" => prepare_talk(),
        "wait" => Box::new(wait),
        "spawn" => Box::new(spawn),
        "panic" => Box::new(|| panic!("as asked")),
        "abort" => Box::new(|| process::abort()),
        "fault" => Box::new(fault),
        "overflow" => Box::new(|| println!("{}", overflow(1))),
        "memory" => Box::new(|| println!("{}", vec![1_u8; 5 << 30].len())),
        "stdin" => Box::new(|| {
            let mut all = Vec::new();
            println!("{:?}", stdin().lock().read_to_end(&mut all).map(|_| all.len()));
        }),
        "stream" => {
            let (mut ours, _theirs) = UnixStream::pair().expect("a pair");
            Box::new(move || println!("{:?}", ours.read(&mut [0])))
        }
        "open" => Box::new(|| println!("{:?}", fs::read("/etc/passwd").map(drop))),
        "write" => prepare_write(rest),
        "bind" => {
            let path = rest.first().expect("a path").clone();
            Box::new(move || println!("{:?}", UnixListener::bind(&path).map(drop)))
        }
        "execute" => prepare_execute(rest),
        "connect" => prepare_connect(),
        "status" => Box::new(|| {
            for file in ["status", "limits", "oom_score_adj"] {
                println!("{}", fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default());
            }
            let dumpable = rustix::process::dumpable_behavior().expect("the kernel says");
            println!("dumpable {}", dumpable == rustix::process::DumpableBehavior::Dumpable);
        }),
        "orphan" | "nothing" => Box::new(|| println!("done")),
        #[cfg(target_arch = "x86_64")]
        "call-32" => Box::new(super::call_32),
        other => panic!("{other} is unknown"),
    }
}

fn prepare_write(rest: &[String]) -> Work {
    let file = rest.first().expect("a file").clone();
    Box::new(move || println!("{:?}", fs::write(&file, "a").and_then(|()| fs::remove_file(&file))))
}

fn prepare_execute(rest: &[String]) -> Work {
    let mut program = process::Command::new(rest.first().expect("a program"));
    Box::new(move || println!("{:?}", program.status().map(|status| status.code())))
}

fn prepare_call(rest: &[String]) -> Work {
    let path: &'static std::ffi::CStr = c"/etc/passwd";
    let zeros: &'static mut [u8] = Box::leak(vec![0_u8; 4096].into_boxed_slice());
    let page = zeros.as_mut_ptr().addr();
    let number = |text: &String| -> c_long {
        let number = match text.as_str() {
            "own" => i64::from(process::id()),
            "parent" => i64::from(rustix::process::getppid().map_or(1, |pid| pid.as_raw_nonzero().get())),
            "path" => path.as_ptr().addr().cast_signed() as i64,
            "zeros" => page.cast_signed() as i64,
            text => text.parse().expect("a number"),
        };
        c_long::from(number)
    };
    let mut numbers = rest.iter().map(number);
    let call_number = numbers.next().expect("a number");
    let arguments = [(); 6].map(|()| numbers.next().unwrap_or(0));
    Box::new(move || {
        let answer = call(call_number, arguments);
        println!("{answer} {:?}", (answer < 0).then(std::io::Error::last_os_error));
    })
}

fn compute() {
    let mut many: Vec<Vec<u8>> = Vec::new();
    for _ in 0..4 {
        many.extend((0..200_000_u32).map(|i| vec![i.to_le_bytes()[0]; 200]));
        many.clear();
        many.shrink_to_fit();
    }
    let mut big = vec![1_u8; 300 << 20];
    big.extend_from_slice(&[1; 4096]);
    drop(big);
    let mut map = HashMap::new();
    map.insert(1, Instant::now());
    let _ = (SystemTime::now(), env::var("HOME"));
    thread::sleep(Duration::from_millis(5));
    thread::yield_now();
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    println!("done {}", cpu.tv_nsec > 0);
}

/// Over a pair of sockets, with `read` and `write` as `File` has them: what `UnixStream` does is `recvfrom` and `sendto`.
fn prepare_talk() -> Work {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let [mut ours, mut theirs] = [ours, theirs].map(|end| File::from(OwnedFd::from(end)));
    Box::new(move || {
        ours.write_all(b"ping").expect("writes");
        let mut came = [0; 4];
        theirs.read_exact(&mut came).expect("reads");
        let mut ready = [rustix::event::PollFd::new(&theirs, rustix::event::PollFlags::IN)];
        let poll = rustix::event::poll(&mut ready, Some(&Duration::from_millis(1).try_into().expect("short")));
        drop(ours);
        println!("done {:?} {poll:?} {:?}", came == *b"ping", theirs.read(&mut came));
    })
}

fn wait() {
    let pair = Arc::new((Mutex::new(0_u32), Condvar::new()));
    let guard = pair.0.lock().expect("a lock");
    let (_guard, timeout) = pair.1.wait_timeout(guard, Duration::from_millis(5)).expect("a lock");
    println!("done {}", timeout.timed_out());
}

fn spawn() {
    let lanes = (0..4).map(|_| thread::Builder::new().name("more".to_owned()).spawn(compute).expect("a thread"));
    lanes.collect::<Vec<_>>().into_iter().for_each(|lane| lane.join().expect("it ends"));
    println!("done");
}

#[expect(unsafe_code, reason = "a fault has no safe form")]
fn fault() {
    // SAFETY: not safe, and not meant to be: the kernel has nothing at this address.
    unsafe { std::ptr::without_provenance_mut::<c_int>(8).write_volatile(1) }
}

#[expect(unconditional_recursion, reason = "the stack is to end")]
fn overflow(deep: u64) -> u64 {
    std::hint::black_box([deep; 128]);
    overflow(deep + 1) + deep
}

fn prepare_connect() -> Work {
    let listener = net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = listener.local_addr().expect("a port");
    Box::new(move || {
        println!("{:?}", net::TcpStream::connect(to).map(drop));
        drop(listener);
    })
}
