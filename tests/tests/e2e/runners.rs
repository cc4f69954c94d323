//! The process of a plugin's component: what ends it costs that plugin a moment, and what native code in it tries ends it.

use crate::conformance::allocate;
use crate::wat_component::{NOTHING, plugin};
use devgate_tests::process::children;
use devgate_tests::{Host, Kind, Setup, generic_policy, recording};
use rustix::process::{Pid, Signal, kill_process};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const KIND: Kind = Kind { class: 0, count: 2 };
const RESOURCE: &str = "devgate.dev/bench0";

/// The processes that a host runs components in.
fn runners(host: &Host) -> anyhow::Result<Vec<Pid>> {
    let is_runner = |pid: &u32| {
        let called = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        called.starts_with("devgate-runner")
    };
    let pids = children(host.pid()?)?.into_iter().filter(is_runner);
    Ok(pids.filter_map(|pid| Pid::from_raw(pid.cast_signed())).collect())
}

async fn good() -> anyhow::Result<Host> {
    let host = Setup::new(&generic_policy(&[KIND])).on(&recording(&[KIND])).start().await?;
    host.allocatable(RESOURCE, 2).await?;
    Ok(host)
}

/// What a process holds of the kernel: threads and descriptors.
fn holds(host: &Host) -> anyhow::Result<(usize, usize)> {
    let count = |what: &str| anyhow::Ok(fs::read_dir(format!("/proc/{}/{what}", host.pid()?))?.count());
    Ok((count("task")?, count("fd")?))
}

/// A hundred times, while pods are admitted all the while: each gets its device, and nothing is left behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_whose_process_is_killed_is_called_in_another_one() -> anyhow::Result<()> {
    let host = good().await?;
    let mut client = crate::conformance::client(&host, RESOURCE).await?;
    let ids = ["bench0-0"];
    allocate(&mut client, &ids).await?;
    let (threads, descriptors) = holds(&host)?;
    for n in 0..100 {
        if let [runner] = *runners(&host)? {
            kill_process(runner, Signal::KILL)?;
        }
        // Now before it is noticed, now in the middle of the call.
        tokio::time::sleep(Duration::from_micros(n * 50)).await;
        allocate(&mut client, &ids).await?;
    }
    let (now, open) = holds(&host)?;
    assert!(now <= threads + 2 && open <= descriptors + 2, "{now} threads, {open} descriptors");
    assert_eq!(runners(&host)?.len(), 1);
    assert_eq!(host.kubelet.allocatable(RESOURCE), Some(2));
    // A runner that was killed before it was ready counts with the next.
    let said = crate::monitoring::status(&host, &["--output", "json"])?.out;
    let restarts = &serde_json::from_str::<serde_json::Value>(&said)?["plugins"][0]["runner_restarts"];
    assert!(restarts.as_u64().is_some_and(|n| (90..=100).contains(&n)), "{restarts} restarts");
    Ok(())
}

/// It does not answer, so it is killed once its call is over its deadline, and the next call has another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_whose_process_is_stopped_costs_its_call_and_no_more() -> anyhow::Result<()> {
    let host = good().await?;
    let mut client = crate::conformance::client(&host, RESOURCE).await?;
    allocate(&mut client, &["bench0-0"]).await?;
    let [runner] = *runners(&host)? else { anyhow::bail!("one runner") };
    kill_process(runner, Signal::STOP)?;
    let begun = Instant::now();
    let error = allocate(&mut client, &["bench0-1"]).await.unwrap_err();
    assert!(error.message().contains("exceeded its") && error.message().contains("limits.deadline"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    allocate(&mut client, &["bench0-1"]).await?;
    let [another] = *runners(&host)? else { anyhow::bail!("one runner") };
    assert_ne!(runner, another);
    Ok(())
}

/// Whatever ends the host ends them.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_takes_its_runners_along() -> anyhow::Result<()> {
    let host = good().await?;
    let [runner] = *runners(&host)? else { anyhow::bail!("one runner") };
    host.kill()?;
    let is_there = || Path::new(&format!("/proc/{}", runner.as_raw_nonzero())).exists();
    let until = Instant::now() + Duration::from_secs(10);
    while is_there() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!is_there());
    Ok(())
}

/// Far beyond what is reserved for a memory at first, and as far as its policy lets it.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_may_have_all_the_memory_that_its_policy_gives_it() -> anyhow::Result<()> {
    let grows = |pages: u32| {
        let grow = format!("(if (i32.eq (memory.grow (i32.const {pages})) (i32.const -1)) (then (unreachable)))");
        // Its last page, too, is there.
        let last = "(i32.store (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 4)) (i32.const 1))";
        plugin(&format!("{grow} {last} {NOTHING}"), NOTHING, NOTHING)
    };
    let entry = |name: &str| {
        format!(
            "  {name}:\n    component: {{file: {name}.wasm}}\n    resources: [devgate.dev/{name}]\n    limits: {{memory: 128MiB, cpu: 10s, deadline: 20s}}\n"
        )
    };
    let policy = generic_policy(&[KIND]) + &["large", "larger"].map(entry).concat();
    let host = Setup::new(&policy)
        .on(&recording(&[KIND]))
        .with("large.wasm", grows(1_900))
        .with("larger.wasm", grows(2_048))
        .start()
        .await?;
    let line = host.logged(|line| line.plugin == "larger" && line.level == "ERROR").await?;
    assert!(line.message.contains("exceeded its 128MiB of memory (limits.memory)"), "{}", line.message);
    host.logged(|line| line.plugin == "large" && line.message.contains("loaded")).await?;
    host.allocatable(RESOURCE, 2).await?;
    let complains = host.lines().into_iter().find(|line| line.plugin == "large" && line.level == "ERROR");
    assert!(complains.is_none(), "{complains:?}");
    Ok(())
}

/// What stands for native code in a component's machine code: eight bytes that no other part of it has.
const MARK: u64 = 0x1122_3344_5566_7788;

/// A component that enumerates nothing, with room for native code; each number makes another file.
pub(crate) fn with_room(number: usize) -> Vec<u8> {
    let keep =
        format!("(i64.store (i32.const 2048) (i64.const {MARK})) (i32.store (i32.const 2056) (i32.const {number}))");
    plugin(&format!("{keep} {NOTHING}"), NOTHING, NOTHING)
}

/// Puts native code into the machine code that a host has kept of a component, as one would that could write there.
pub(crate) fn patch(kept: &Path, component: &[u8], native: &[u8]) -> anyhow::Result<()> {
    let begins: String = Sha256::digest(component).iter().map(|byte| format!("{byte:02x}")).collect();
    let files = fs::read_dir(kept)?.flatten();
    let file = files.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains(&begins));
    let file = file.ok_or_else(|| anyhow::anyhow!("its code was not kept"))?;
    let mut all = fs::read(&file)?;
    let mark = MARK.to_le_bytes();
    let at = all.windows(8).position(|part| part == mark);
    // Before its eight bytes, the instruction that loads them has two.
    let at = at.and_then(|at| at.checked_sub(2)).ok_or_else(|| anyhow::anyhow!("there is no room in it"))?;
    all[at..at + native.len()].copy_from_slice(native);
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let digest = Sha256::new().chain_update(name).chain_update(&all[32..]).finalize();
    all[..32].copy_from_slice(&digest);
    Ok(fs::write(&file, all)?)
}

/// `mov eax, NUMBER; syscall; ud2`: what is allowed ends at the third of them.
fn system_call(number: u32) -> Vec<u8> {
    let mut code = vec![0xb8];
    code.extend(number.to_le_bytes());
    code.extend([0x0f, 0x05, 0x0f, 0x0b]);
    code
}

/// Maps 1 MiB that can be written to, with these flags.
fn map(flags: u32) -> Vec<u8> {
    // xor edi, edi; mov esi, 1 MiB; mov edx, PROT_READ | PROT_WRITE; mov r10d, FLAGS; mov r8, -1; xor r9d, r9d
    let mut code = vec![0x31, 0xff, 0xbe, 0, 0, 0x10, 0, 0xba, 3, 0, 0, 0, 0x41, 0xba];
    code.extend(flags.to_le_bytes());
    code.extend([0x49, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff, 0x45, 0x31, 0xc9]);
    code.extend(system_call(9));
    code
}

/// Maps memory and writes to each of its pages, until there is no more; then it goes on without end.
pub(crate) fn take_all_memory() -> Vec<u8> {
    let mut code = map(0x22);
    // Not the `ud2`, but: test rax, rax; js END; mov ecx, 256; PAGE: mov byte [rax], 1; add rax, 4096; dec ecx; jnz PAGE; jmp START; END:
    code.truncate(code.len() - 2);
    code.extend([0x48, 0x85, 0xc0, 0x78, 0x14, 0xb9, 0, 1, 0, 0]);
    code.extend([0xc6, 0, 1, 0x48, 0x05, 0, 0x10, 0, 0, 0xff, 0xc9, 0x75, 0xf3, 0xeb]);
    let back = u8::try_from(code.len() + 1).unwrap_or_default().wrapping_neg();
    code.push(back);
    code.extend([0xeb, 0xfe]);
    code
}

const FORBIDDEN: [(&str, u32); 30] = [
    ("open", 2),
    ("sendto", 44),
    ("sendmsg", 46),
    ("socket", 41),
    ("connect", 42),
    ("clone", 56),
    ("fork", 57),
    ("vfork", 58),
    ("execve", 59),
    ("kill", 62),
    ("ptrace", 101),
    ("prctl", 157),
    ("mount", 165),
    ("setns", 308),
    ("unshare", 272),
    ("keyctl", 250),
    ("perf-event-open", 298),
    ("process-vm-readv", 310),
    ("process-vm-writev", 311),
    ("seccomp", 317),
    ("memfd-create", 319),
    ("bpf", 321),
    ("execveat", 322),
    ("userfaultfd", 323),
    ("io-uring-setup", 425),
    ("pidfd-send-signal", 424),
    ("pidfd-open", 434),
    ("pidfd-getfd", 438),
    ("openat2", 437),
    ("x32-getpid", 0x4000_0000 | 39),
];

/// What a host says of a plugin, after so many lines.
async fn refused(host: &Host, before: usize, name: &str) -> anyhow::Result<devgate_tests::Line> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let lines = host.lines().into_iter().skip(before);
        let mut errors = lines.filter(|line| line.plugin == name && line.level == "ERROR");
        if let Some(line) = errors.next() {
            return Ok(line);
        }
        anyhow::ensure!(Instant::now() < until, "{name}: nothing is said");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The shipped programs, with native code of an attacker where a component's own would be: each system call that is not on the list ends
/// the process, is told apart from a crash, and costs that plugin alone.
#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread")]
async fn native_code_in_a_component_can_call_nothing() -> anyhow::Result<()> {
    // It is killed with int 0x80 too; getpid is on the list, so that what comes after it is what ends it.
    let mut tried: Vec<(String, Vec<u8>, &str)> = FORBIDDEN
        .iter()
        .map(|(name, number)| ((*name).to_owned(), system_call(*number), "tried a system call"))
        .collect();
    tried.push(("int-80".to_owned(), vec![0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x0f, 0x0b], "tried a system call"));
    // Memory that no limit counts: shared with others, and not to be written to any more.
    tried.push(("mmap-shared".to_owned(), map(0x21), "tried a system call"));
    tried.push(("mmap-grows-down".to_owned(), map(0x122), "tried a system call"));
    tried.push(("mprotect-read".to_owned(), [&[0xba, 1, 0, 0, 0], &*system_call(10)].concat(), "tried a system call"));
    tried.push(("mmap-private".to_owned(), map(0x22), "it crashed"));
    tried.push(("getpid".to_owned(), system_call(39), "it crashed"));
    let components: Vec<_> = (0..tried.len()).map(with_room).collect();
    let entries = tried.iter().map(|(name, ..)| {
        format!("  {name}:\n    component: {{file: {name}.wasm}}\n    resources: [devgate.dev/{name}]\n")
    });
    let policy = generic_policy(&[KIND]) + &entries.collect::<String>();
    let mut setup = Setup::new(&policy).on(&recording(&[KIND]));
    for ((name, ..), component) in tried.iter().zip(&components) {
        setup = setup.with(&format!("{name}.wasm"), component.clone());
    }
    let mut host = setup.start().await?;
    for (name, ..) in &tried {
        host.logged(|line| line.plugin == *name && line.message.contains("loaded")).await?;
    }
    host.end(Signal::TERM).await?;
    let kept = host.dir().join("state/compiled");
    for ((_, native, _), component) in tried.iter().zip(&components) {
        patch(&kept, component, native)?;
    }
    let before = host.lines().len();
    host.spawn()?;
    host.allocatable(RESOURCE, 2).await?;
    for (name, _, expected) in &tried {
        let line = refused(&host, before, name).await?;
        assert!(line.message.contains(expected), "{name}: {}", line.message);
        assert_eq!(line.family, "guest", "{name}");
    }
    // The good one beside them is served.
    let mut client = crate::conformance::client(&host, RESOURCE).await?;
    allocate(&mut client, &["bench0-0"]).await?;
    Ok(())
}
