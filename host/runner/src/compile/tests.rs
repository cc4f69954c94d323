use super::*;

const ALLOWED: Allowance = Allowance::of(0);

fn ended(raw: i32) -> ExitStatus {
    ExitStatus::from_raw(raw)
}

#[test]
fn what_may_be_taken_grows_with_the_component() {
    let small = Allowance::of(43 << 10);
    assert_eq!((small.seconds, small.memory.0 >> 20), (20, 131));
    let python = Allowance::of(18 << 20);
    assert_eq!((python.seconds, python.memory.0 >> 20), (164, 1_280));
    assert!(python.patience() > Duration::from_secs(python.seconds));
}

#[test]
fn each_end_is_told_apart() {
    let said = |answer: io::Result<Vec<u8>>, raw| match judge(answer, ended(raw), ALLOWED) {
        Ok(code) => format!("{} bytes", code.len()),
        Err(why) => why.to_string(),
    };
    let bytes = |bytes: &[u8]| Ok(bytes.to_vec());
    assert_eq!(said(bytes(&[DONE, 1, 2]), 0), "2 bytes");
    assert_eq!(said(bytes(b"\x01is odd\n"), 0), "component is not valid: is odd\\n");
    let time = "component's compilation takes too long, more than 20 s of the processor";
    assert_eq!(said(bytes(&[]), Signal::XCPU.as_raw()), time);
    let memory = "component's compilation takes too much memory, more than 128MiB";
    assert_eq!(said(bytes(&[]), Signal::ABORT.as_raw()), memory);
    // Neither is the component's fault.
    let busy = said(Err(io::ErrorKind::TimedOut.into()), Signal::KILL.as_raw());
    assert!(busy.starts_with("host fault: ") && busy.contains("too busy"), "{busy}");
    let killed = said(bytes(&[]), Signal::KILL.as_raw());
    assert!(
        killed.starts_with("host fault: ") && killed.contains("short of memory"),
        "{killed}"
    );
    // One that ends before it has said all is not believed.
    for (answer, raw) in [
        (vec![], 0),
        (vec![DONE, 1], 1 << 8),
        (vec![7], 0),
        (vec![DONE, 1], Signal::SEGV.as_raw()),
    ] {
        let said = said(Ok(answer), raw);
        assert!(
            said.starts_with("host fault: the compiler ended without an answer"),
            "{said}"
        );
    }
}
