//! The program as its host starts it: what it may, that it goes with its host, and which way it takes to a registry.

use super::*;
use devgate_oci::child::wire::{self, answer::Kind};
use devgate_runner::{BUILD, Socket};
use std::fs;
use std::io::{Read, Seek};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::{Command, Stdio, id};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What the kernel says of a process; nothing of one that is not there.
fn of(process: u32, file: &str) -> String {
    fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default()
}

/// The puller that this process started, once it is there and confined.
fn puller_of(parent: u32) -> u32 {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let mut all = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let its = |process: &u32| {
            let status = of(*process, "status");
            status.starts_with("Name:\tdevgate-pull\n") && status.contains(&format!("\nPPid:\t{parent}\n"))
        };
        if let Some(process) = all.find(its).filter(|process| of(*process, "status").contains("\nSeccomp:\t2\n")) {
            return process;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("process {parent} has no puller");
}

/// A registry that says nothing until it is dropped.
fn deaf() -> (Fake, std::sync::mpsc::Sender<()>) {
    let (held, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let fake = Fake::new(move |_| {
        let _ = gate.lock().unwrap().recv();
        Answer::status(404)
    });
    (fake, held)
}

#[test]
fn what_speaks_to_a_registry_has_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, held) = deaf();
    let (store, reference) = (store(dir.path()), Pushed::new(b"component").at(&fake));
    thread::scope(|scope| {
        let pull = scope.spawn(|| failed(store.get(&reference, WANTED)));
        let puller = puller_of(id());
        while fake.seen().is_empty() {
            thread::yield_now();
        }
        let (status, limits) = (of(puller, "status"), of(puller, "limits"));
        for line in ["NoNewPrivs:\t1\n", "Threads:\t1\n"] {
            assert!(status.contains(line), "{line}: {status}");
        }
        for line in
            ["Max core file size        0                    0", "Max file size             0                    0"]
        {
            assert!(limits.contains(line), "{line}: {limits}");
        }
        assert!(limits.contains("Max open files            64                   64"), "{limits}");
        assert_eq!(of(puller, "environ"), "");
        if of(id(), "oom_score_adj") != "1000\n" && fs::read_to_string("/sys/fs/cgroup/memory.oom.group").is_err() {
            assert_eq!(of(puller, "oom_score_adj"), "1000\n");
        }
        let open = fs::read_dir(format!("/proc/{puller}/fd")).unwrap().flatten();
        let open: Vec<String> =
            open.map(|entry| fs::read_link(entry.path()).unwrap_or_default().display().to_string()).collect();
        let known = ["/memfd:devgate-pull", "pipe:", "/dev/null", "anon_inode:", "socket:"];
        assert!(open.iter().all(|file| known.iter().any(|known| file.starts_with(known))), "{open:?}");
        drop(held);
        assert!(pull.join().unwrap().contains("is not in its registry"));
        let status = of(puller, "status");
        assert!(!status.contains("Name:\tdevgate-pull"), "it has not ended: {status}");
    });
}

#[test]
fn a_host_that_is_killed_takes_its_puller_along() {
    const INNER: &str = "DEVGATE_TEST_PULLS_FROM";
    let dir = tempfile::tempdir().unwrap();
    if let Some(reference) = std::env::var_os(INNER) {
        let reference: Reference = reference.to_str().unwrap().parse().unwrap();
        failed(store(dir.path()).get(&reference.pinned().unwrap(), WANTED));
        return;
    }
    let (fake, held) = deaf();
    let test = "confined::a_host_that_is_killed_takes_its_puller_along";
    let mut host = Command::new(std::env::current_exe().unwrap());
    let reference = Pushed::new(b"component").at(&fake).to_string();
    host.args([test, "--exact"]).env(INNER, reference).stdout(Stdio::null());
    let mut host = host.spawn().unwrap();
    let puller = puller_of(host.id());
    while fake.seen().is_empty() {
        thread::yield_now();
    }
    host.kill().unwrap();
    host.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let goes_on = || {
        let status = of(puller, "status");
        status.contains("Name:\tdevgate-pull") && !status.contains("State:\tZ")
    };
    while goes_on() {
        assert!(Instant::now() < end, "it goes on without its host");
        thread::sleep(Duration::from_millis(5));
    }
    drop(held);
}

/// What it answers to an order to resolve a reference, the last answer last.
fn ordered(reference: &str, access: wire::Access) -> Vec<Kind> {
    let order = wire::Order {
        build: BUILD.to_owned(),
        reference: reference.to_owned(),
        access: Some(wire::Access { authorities: include_bytes!("authority.pem").to_vec(), ..access }),
        ..wire::Order::default()
    };
    let mut child = puller().unwrap().start([536_870_912, 134_217_728], &order, &[]).unwrap();
    let mut output = Socket::blocking(child.stdout.take().unwrap().into());
    let mut answers = Vec::new();
    while let Ok(answer) = output.receive::<wire::Answer>(1 << 20) {
        answers.extend(answer.kind);
    }
    assert!(child.wait().unwrap().success(), "{answers:?}");
    answers
}

/// What the first who connects here says first; then he is hung up on.
fn heard() -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut said = [0; 4096];
        let length = stream.read(&mut said).unwrap();
        String::from_utf8_lossy(&said[..length]).into_owned()
    });
    (port, heard)
}

/// Over TLS the name is in the first message.
#[test]
fn a_registry_that_the_hosts_file_names_is_found_there() {
    let (port, heard) = heard();
    let hosts = "# of this node\n127.0.0.1 localhost\n127.0.0.1\tother registry.internal # ours\n";
    let access = wire::Access {
        hosts: hosts.as_bytes().to_vec(),
        // No server answers there, and the name is in no search domain either.
        resolv_conf: b"nameserver 127.0.77.2\nsearch example.com\n".to_vec(),
        ..wire::Access::default()
    };
    let answers = ordered(&format!("registry.internal:{port}/vendor/gpu"), access);
    assert!(heard.join().unwrap().contains("registry.internal"));
    assert!(matches!(answers.last(), Some(Kind::Failed(failure)) if !failure.refused), "{answers:?}");
    assert!(matches!(&answers[0], Kind::Note(text) if text.contains("tried again after")), "{answers:?}");
}

/// A server of names that knows one name alone; it says which it was asked for until the test ends.
fn names(known: &'static str) -> Option<std::sync::mpsc::Receiver<String>> {
    let server = UdpSocket::bind((Ipv4Addr::new(127, 0, 77, 1), 53)).ok()?;
    let (send, asked) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, from)) = server.recv_from(&mut question) {
            let question = &question[..length];
            // RFC 1035, 4.1: a head of 12 bytes, then labels with their lengths, and the type and class.
            let (mut name, mut at) = (String::new(), 12);
            while question[at] > 0 {
                let label = &question[at + 1..=at + usize::from(question[at])];
                name += &format!("{}.", String::from_utf8_lossy(label));
                at += 1 + label.len();
            }
            let is_address = question[at + 1..at + 3] == [0, 1];
            let found = name == known && is_address;
            let code = if name == known { 0 } else { 3 };
            let mut answer = question[..2].to_vec();
            answer.extend([0x81, 0x80 | code, 0, 1, 0, u8::from(found), 0, 0, 0, 0]);
            answer.extend(&question[12..at + 5]);
            if found {
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
            }
            let _ = server.send_to(&answer, from);
            let _ = send.send(name);
        }
    });
    Some(asked)
}

#[test]
fn a_name_is_looked_up_in_the_domains_that_are_searched() {
    let Some(asked) = names("registry.internal.example.com.") else {
        return println!("skipped: this user cannot serve names on port 53");
    };
    let (port, heard) = heard();
    let access = wire::Access {
        resolv_conf: b"nameserver 127.0.77.1\nsearch example.org example.com\noptions ndots:5 timeout:1\n".to_vec(),
        ..wire::Access::default()
    };
    let answers = ordered(&format!("registry.internal:{port}/vendor/gpu"), access);
    assert!(heard.join().unwrap().contains("registry.internal"), "{answers:?}");
    let asked: Vec<String> = asked.try_iter().collect();
    assert!(asked[0].starts_with("registry.internal.example.org."), "{asked:?}");
    let none = ordered(
        "registry.nowhere/vendor/gpu",
        wire::Access { resolv_conf: b"nameserver 127.0.77.1\n".to_vec(), ..wire::Access::default() },
    );
    assert!(
        matches!(none.last(), Some(Kind::Failed(failure)) if failure.text.contains("registry.nowhere")),
        "{none:?}"
    );
}

#[test]
fn a_proxy_is_asked_for_a_registry_elsewhere_and_told_its_name() {
    let (port, heard) = heard();
    let access = wire::Access {
        proxy: format!("http://anna:secret@127.0.0.1:{port}"),
        no_proxy: "internal.example.com,10.0.0.0/8".to_owned(),
        ..wire::Access::default()
    };
    ordered("registry.example.com/vendor/gpu", access);
    let said = heard.join().unwrap();
    assert!(said.starts_with("CONNECT registry.example.com:443 HTTP/1.1\r\n"), "{said}");
    assert!(said.to_lowercase().contains("proxy-authorization: basic yw5uytpzzwnyzxq="), "{said}");
}

#[test]
fn it_does_nothing_for_people_and_for_a_host_of_another_build() {
    let said = |args: &[&str], order: &wire::Order| {
        let mut input = tempfile::tempfile().unwrap();
        Socket::blocking(input.try_clone().unwrap().into()).send(order).unwrap();
        input.rewind().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_devgate-pull"));
        let output = command.args(args).stdin(input).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let none = wire::Order::default();
    assert!(said(&[], &none).contains("is devgate's own, and not called by people"));
    assert!(said(&["1", "536870912", "134217728"], &none).contains("parent 1: has ended"));
    let own = id().to_string();
    assert!(said(&[&own, "536870912", "134217728"], &none).contains("is of another build than devgate"));
}

#[test]
fn without_the_program_that_is_said_where_a_registry_is_needed_and_nowhere_else() {
    let (dir, artifact) = (tempfile::tempdir().unwrap(), Pushed::new(b"component"));
    let fake = artifact.serve();
    let reference = artifact.at(&fake);
    store(dir.path()).get(&reference, WANTED).unwrap();
    let without = Store::new(StoreSettings {
        cache: dir.path().join("components"),
        most: ByteSize::mib(1),
        pull: true,
        registries: Registries::default(),
        puller: Program::at(&dir.path().join("devgate-pull"), devgate_pull::NAME),
    });
    assert_eq!(without.get(&reference, WANTED).unwrap(), b"component");
    let why = failed(without.get(&Pushed::new(b"other").at(&fake), WANTED));
    assert!(
        why.contains("devgate-pull: No such file")
            && why.ends_with("devgate needs it beside itself, from the same release"),
        "{why}"
    );
}

/// What is no puller costs one pull, and does not stay.
#[test]
fn what_says_something_else_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let with = |program: &str| {
        Store::new(StoreSettings {
            cache: dir.path().join("components"),
            most: ByteSize::mib(1),
            pull: true,
            registries: Registries::default(),
            puller: Program::at(Path::new(program), devgate_pull::NAME),
        })
    };
    let reference = Pushed::new(b"component").at(&Fake::new(|_| Answer::status(404)));
    let why = failed(with("/bin/true").get(&reference, WANTED));
    assert!(why.contains("was ended, or ended without an answer"), "{why}");
    let why = failed(with("/usr/bin/yes").get(&reference, WANTED));
    assert!(why.contains("says something that is not in the protocol"), "{why}");
}
