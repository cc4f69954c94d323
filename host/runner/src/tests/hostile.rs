//! What a runner may say, and what comes of it: a process that a component has taken over gets nothing by it, and costs the host no more
//! than the call's limits.

use super::fake::Fake;
use crate::message::wire::{self, FromRunner, Function, from_runner, item};
use crate::runner::{Ended, Interfaces, Lane, Wanted};
use crate::socket::Socket;
use devgate_types::component::{Call, CallKind};
use devgate_types::{ByteSize, Limits};
use prost::Message;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

fn limits() -> Limits {
    Limits {
        deadline: Duration::from_millis(100),
        host_calls: 2,
        log: ByteSize::kib(4),
        transfer: ByteSize::kib(64),
        ..Limits::default()
    }
}

fn frame(kind: from_runner::Kind) -> Vec<u8> {
    let message = FromRunner { kind: Some(kind) };
    let mut frame = u32::try_from(message.encoded_len()).unwrap().to_le_bytes().to_vec();
    frame.extend(message.encode_to_vec());
    frame
}

fn part(item: item::Item) -> Vec<u8> {
    frame(from_runner::Kind::Item(wire::Item { item: Some(item) }))
}

fn ask(function: Function, handle: u32) -> Vec<u8> {
    frame(from_runner::Kind::Ask(wire::Ask {
        function: function.into(),
        handle,
        name: "pci".into(),
        ..wire::Ask::default()
    }))
}

fn done() -> Vec<u8> {
    frame(from_runner::Kind::Done(wire::Done::default()))
}

/// How a call of this kind ends whose runner says this, whatever it is asked, and then says no more, or ends.
fn ended(kind: CallKind, said: Vec<u8>, stays: bool) -> String {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let runner = std::thread::spawn(move || {
        let mut asked = [0; 4];
        theirs.read_exact(&mut asked).unwrap();
        let mut reader = theirs.try_clone().unwrap();
        // It takes what it is told, so that nothing else than what it says matters.
        let reads = std::thread::spawn(move || while reader.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {});
        let _ = theirs.write_all(&said);
        if !stays {
            let _ = theirs.shutdown(std::net::Shutdown::Both);
        }
        reads.join().unwrap();
    });
    let begun = Instant::now();
    let ended = {
        let mut lane = Lane::new(Socket::patient(ours.into()).unwrap());
        let call = Call { kind, ..Call::default() };
        let imports = ["devgate:plugin/hardware@0.1.0".to_owned()];
        let wanted = Wanted::new(&call, Interfaces::of(&imports), Fake::new(limits()).as_mut());
        match lane.call(&wanted, Fake::new(limits()).as_mut()) {
            Ok((output, _)) => format!("answered: {} pools", output.pools.len()),
            Err(Ended::Fault(fault)) => format!("fault: {fault}"),
            Err(Ended::NotBegun) => "not begun".to_owned(),
            Err(Ended::Lost) => "lost".to_owned(),
            Err(Ended::Late(limit)) => format!("late: exceeded {limit}"),
            Err(Ended::Broke(what)) => format!("broke: {what}"),
        }
    };
    assert!(begun.elapsed() < Duration::from_secs(20), "{ended}");
    runner.join().unwrap();
    ended
}

#[test]
fn what_is_not_in_the_protocol_ends_the_call_and_the_runner() {
    let none = "broke: it says something that is not in the protocol: not a message";
    let long = "broke: it says something that is not in the protocol: too long";
    let other = "broke: its answer has a part that belongs to nothing";
    let unit = || item::Item::Unit(wire::UnitHead::default());
    for (kind, said, expected) in [
        (CallKind::Enumerate, vec![3, 0, 0, 0, 0xff, 0xff, 0xff], none),
        (CallKind::Enumerate, vec![0xff; 64], long),
        (CallKind::Enumerate, vec![0, 0, 2, 0], long),
        (CallKind::Enumerate, vec![0; 4], "broke: it says something that is not in the protocol"),
        (
            CallKind::Enumerate,
            frame(from_runner::Kind::Ready(wire::Ready {})),
            "broke: it says something that is not in the protocol",
        ),
        (CallKind::Enumerate, part(unit()), other),
        (CallKind::Enumerate, part(item::Item::Choice("a".into())), other),
        (CallKind::Allocate, part(item::Item::Pool("a".into())), other),
        (CallKind::Health, part(item::Item::Env(wire::Property::default())), other),
        (CallKind::Prepare, part(item::Item::Mount(1)), other),
        (CallKind::Enumerate, [done(), done()].concat(), "broke: it goes on after its answer"),
        (CallKind::Enumerate, ask(Function::StateLoad, 0), "broke: it asks what its component does not import"),
        (CallKind::Enumerate, ask(Function::ControlWrite, 0), "broke: it asks what its component does not import"),
    ] {
        assert_eq!(ended(kind, said, true), expected);
    }
    let unknown = wire::Ask { function: 99, ..wire::Ask::default() };
    let unknown = frame(from_runner::Kind::Ask(unknown));
    assert_eq!(ended(CallKind::Health, unknown, true), "broke: it asks what is not in the contract");
}

#[test]
fn floods_end_at_the_calls_limits() {
    let much = |part: Vec<u8>, most: usize| part.repeat(most / part.len());
    let units = || {
        let mut said = part(item::Item::Pool("a".into()));
        said.extend(much(part(item::Item::Unit(wire::UnitHead::default())), 64 << 20));
        said
    };
    let longer = "broke: its answer is longer than limits.transfer lets any be";
    assert_eq!(ended(CallKind::Enumerate, units(), true), longer);
    let handles = wire::UnitHead { backing: vec![1; 60_000], ..wire::UnitHead::default() };
    let handles = [part(item::Item::Pool("a".into())), much(part(item::Item::Unit(handles)), 8 << 20)].concat();
    assert_eq!(ended(CallKind::Enumerate, handles, true), longer);
    let line = frame(from_runner::Kind::Log(wire::Log { line: "x".repeat(900), level: 3 }));
    assert_eq!(ended(CallKind::Enumerate, much(line, 1 << 20), true), "broke: it logs more than it may");
    let questions = much(ask(Function::DeviceName, 1), 1 << 20);
    let questions = ended(CallKind::Enumerate, questions, true);
    // Whichever comes first.
    let late = "late: exceeded its 100ms deadline (limits.deadline)";
    assert!(["broke: it asks more than it may", late].contains(&questions.as_str()), "{questions}");
}

#[test]
fn one_that_says_nothing_is_late_and_one_that_ends_is_lost() {
    let late = "late: exceeded its 100ms deadline (limits.deadline)";
    let whole = done();
    for half in [&[][..], &whole[..3], &whole[..whole.len() - 1], &ask(Function::Devices, 0)] {
        assert_eq!(ended(CallKind::Enumerate, half.to_vec(), true), late);
        assert_eq!(ended(CallKind::Enumerate, half.to_vec(), false), "lost");
    }
    assert_eq!(ended(CallKind::Enumerate, whole, true), "answered: 0 pools");
}

#[test]
fn a_fault_is_what_it_says_of_itself_and_no_more() {
    let fault = |fault| {
        let done = wire::Done { fault: Some(fault), ..wire::Done::default() };
        ended(CallKind::Enumerate, frame(from_runner::Kind::Done(done)), true)
    };
    let text = |text: &str| wire::Fault { fault: Some(wire::fault::Fault::Trap(text.into())), most: 0 };
    assert_eq!(fault(wire::Fault::default()), "fault: broke the contract: it failed and does not say why");
    assert_eq!(fault(text("\x1b[2J\n")), "fault: trapped: \\u{1b}[2J\\n");
    assert!(fault(text(&"x".repeat(60_000))).len() < 1_100);
    let limit = wire::Fault { fault: Some(wire::fault::Fault::Limit(77)), most: u64::MAX };
    assert!(fault(limit).starts_with("fault: exceeded its "));
}

#[test]
fn one_that_answers_before_it_is_asked_is_not_asked() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(&[done(), done()].concat()).unwrap();
    let mut lane = Lane::new(Socket::patient(ours.into()).unwrap());
    let wanted = || Wanted::new(&Call::default(), Interfaces::default(), Fake::new(limits()).as_mut());
    let mut host = Fake::new(limits());
    let first = lane.call(&wanted(), host.as_mut());
    assert!(matches!(first, Err(Ended::Broke(_))), "there is more than its answer");
    assert!(matches!(lane.call(&wanted(), host.as_mut()), Err(Ended::NotBegun)));
}

/// One that is slow answers when it is not waited for any more: the next call must not take that for its own.
#[test]
fn an_answer_that_is_late_is_not_the_next_calls() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut lane = Lane::new(Socket::patient(ours.into()).unwrap());
    let wanted = || Wanted::new(&Call::default(), Interfaces::default(), Fake::new(limits()).as_mut());
    let mut host = Fake::new(limits());
    assert!(matches!(lane.call(&wanted(), host.as_mut()), Err(Ended::Late(_))));
    theirs.write_all(&done()).unwrap();
    assert!(matches!(lane.call(&wanted(), host.as_mut()), Err(Ended::NotBegun)));
}

/// Questions that it has prepared cost it nothing, and the host some time each: no more of them are answered once that is over.
#[test]
fn a_host_does_not_answer_for_longer_than_a_call_may_take() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut reader = theirs.try_clone().unwrap();
    let reads = std::thread::spawn(move || while reader.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {});
    let writes = std::thread::spawn(move || theirs.write_all(&ask(Function::Devices, 0).repeat(10_000)));
    let mut host = Fake::new(limits());
    host.slow = Duration::from_millis(20);
    let begun = Instant::now();
    let ended = {
        let mut lane = Lane::new(Socket::patient(ours.into()).unwrap());
        let imports = ["devgate:plugin/hardware@0.1.0".to_owned()];
        let call = Call::default();
        lane.call(&Wanted::new(&call, Interfaces::of(&imports), Fake::new(limits()).as_mut()), host.as_mut())
    };
    assert!(matches!(ended, Err(Ended::Late(_))));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    reads.join().unwrap();
    let _ = writes.join().unwrap();
}
