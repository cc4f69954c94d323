use super::*;
use proptest::prelude::*;
use rustix::net::{SendFlags, getsockname, sendto};
use std::cell::RefCell;

const LOOP0: &str = "change@/devices/virtual/block/loop0\0ACTION=change\0DEVPATH=/devices/virtual/block/loop0\0SUBSYSTEM=block\0MAJOR=7\0MINOR=0\0DEVNAME=loop0\0DEVTYPE=disk\0SEQNUM=820\0";

fn device(action: DeviceAction, location: &str, subsystem: &str, node: Option<&str>) -> NodeEvent {
    NodeEvent::Device(DeviceEvent {
        action,
        device: DevicePath::at(&format!("sys/devices/{location}")).unwrap(),
        subsystem: subsystem.to_owned(),
        node: node.map(str::to_owned),
        words: Vec::new(),
    })
}

#[test]
fn the_kernels_words_are_understood() {
    let NodeEvent::Device(change) = device(DeviceAction::Change, "virtual/block/loop0", "block", Some("/dev/loop0"))
    else {
        panic!()
    };
    let words = [("MAJOR", "7"), ("MINOR", "0"), ("DEVNAME", "loop0"), ("DEVTYPE", "disk")];
    let words = words.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    assert_eq!(parse(LOOP0.as_bytes()), [NodeEvent::Device(DeviceEvent { words, ..change })]);
    let moved = "move@/devices/virtual/net/b\0ACTION=move\0DEVPATH_OLD=/devices/virtual/net/a\0SUBSYSTEM=net\0";
    let (gone, here) = ("virtual/net/a", "virtual/net/b");
    assert_eq!(
        parse(moved.as_bytes()),
        [device(DeviceAction::Remove, gone, "net", None), device(DeviceAction::Add, here, "net", None)]
    );
    for (word, action) in [
        ("add", DeviceAction::Add),
        ("remove", DeviceAction::Remove),
        ("bind", DeviceAction::Bind),
        ("unbind", DeviceAction::Unbind),
        ("online", DeviceAction::Online),
        ("offline", DeviceAction::Offline),
        ("surprise", DeviceAction::Change),
    ] {
        let text = format!("{word}@/devices/pci0000:00/0000:00:01.0\0SUBSYSTEM=pci\0");
        assert_eq!(parse(text.as_bytes()), [device(action, "pci0000:00/0000:00:01.0", "pci", None)]);
    }
    let module = "add@/module/acme\0ACTION=add\0SUBSYSTEM=module\0";
    assert_eq!(parse(module.as_bytes()), [NodeEvent::Driver("acme".to_owned())]);
}

#[test]
fn what_is_no_device_or_names_no_plain_path_is_nothing() {
    for bad in [
        "",
        "add",
        "libudev\0\u{fe}",
        "add@/devices/a\0",
        "add@/devices/../etc\0SUBSYSTEM=x\0",
        "add@/devices//a\0SUBSYSTEM=x\0",
        "add@/kernel/slab/x\0SUBSYSTEM=slab\0",
    ] {
        assert_eq!(parse(bad.as_bytes()), [], "{bad}");
    }
    let climbing = "add@/devices/a\0SUBSYSTEM=x\0DEVNAME=../etc/passwd\0";
    assert_eq!(parse(climbing.as_bytes()), [device(DeviceAction::Add, "a", "x", None)]);
}

/// As `drm_dev_wedged_event` sends it, and as `echo "change ID WEDGED=rebind" > uevent` is sent.
#[test]
fn only_a_driver_s_words_are_words() {
    let words = |more: &str, action: &str| {
        let text = format!("{action}@/devices/pci/drm/card0\0ACTION={action}\0SUBSYSTEM=drm\0{more}SEQNUM=9\0");
        match parse(text.as_bytes()).remove(0) {
            NodeEvent::Device(event) => event.words,
            other => panic!("{other:?}"),
        }
    };
    let said = [("WEDGED".to_owned(), "rebind,bus-reset".to_owned()), ("A".to_owned(), String::new())];
    assert_eq!(words("WEDGED=rebind,bus-reset\0A=\0PID=7\0TASK=tenant\0", "change"), said);
    assert_eq!(words("WEDGED=rebind\0", "add"), []);
    assert_eq!(words("SYNTH_UUID=0\0WEDGED=rebind\0", "change"), []);
    assert_eq!(words("SYNTH_ARG_WEDGED=rebind\0", "change"), []);
}

#[test]
fn only_the_kernel_is_believed() {
    let from = SocketAddrNetlink::new;
    assert!(is_kernel(from(0, 1)));
    assert!(!is_kernel(from(4711, 1)) && !is_kernel(from(0, 0)) && !is_kernel(from(0, 2)) && !is_kernel(from(0, 3)));
}

/// A process sends to the socket itself, and to the group where it may; a genuine message that follows arrives.
#[test]
fn what_a_process_sends_does_not_arrive() {
    let uevents = match Uevents::listen() {
        Ok(uevents) => uevents,
        Err(error) => return println!("not tried: this machine has no uevents ({error})"),
    };
    let heard = RefCell::new(Vec::new());
    let forger =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(KOBJECT_UEVENT)).unwrap();
    let mine = SocketAddrNetlink::try_from(getsockname(&uevents.socket).unwrap()).unwrap();
    let forged = LOOP0.replace("loop0", "forged0");
    for (what, to) in
        [("to the socket", SocketAddrNetlink::new(mine.pid(), 0)), ("to the group", SocketAddrNetlink::new(0, 1))]
    {
        match sendto(&forger, forged.as_bytes(), SendFlags::empty(), &to) {
            Ok(_) => println!("forged {what}"),
            Err(error) => println!("this machine does not let a message be forged {what} ({error})"),
        }
    }
    // Messages are queued at once: had they been taken, they would be here.
    uevents.drain(&|event| heard.borrow_mut().push(event)).unwrap();
    let forged = |event: &NodeEvent| matches!(event, NodeEvent::Device(event) if event.device.name() == "forged0");
    assert!(!heard.borrow().iter().any(forged), "{heard:?}");
}

proptest! {
    #[test]
    fn no_message_breaks_it(bytes in prop::collection::vec(any::<u8>(), 0..256), tail in "[a-zA-Z@/=\\.\\x00]{0,64}") {
        let _ = parse(&bytes);
        let _ = parse(format!("add@/devices/{tail}\0SUBSYSTEM=x\0{tail}").as_bytes());
    }
}
