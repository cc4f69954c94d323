use super::*;

const ALLOWED: Allowance = Allowance::of(0);

fn ended(raw: i32) -> ExitStatus {
    ExitStatus::from_raw(raw)
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
    assert_eq!(
        said(bytes(b"\x02no room"), 0),
        "host fault: the compiler failed: no room"
    );
    let time = "component takes too long to compile, more than 20 s of the processor";
    assert_eq!(said(bytes(&[]), Signal::XCPU.as_raw()), time);
    let memory = "component takes too much memory to compile, more than 128MiB";
    assert_eq!(said(bytes(&[]), Signal::ABORT.as_raw()), memory);
    let code = "component becomes too much machine code, more than 16777216 bytes";
    assert_eq!(said(Err(ErrorKind::FileTooLarge.into()), Signal::KILL.as_raw()), code);
    let crash = "component is not valid: the compiler crashes on it";
    for raw in [Signal::SEGV.as_raw(), Signal::BUS.as_raw(), PANICKED << 8] {
        assert_eq!(said(bytes(&[]), raw), crash);
    }
    // None of these is the component's fault. One that ends before it has said all is not believed.
    for (answer, raw, why) in [
        (Err(ErrorKind::TimedOut.into()), Signal::KILL.as_raw(), "too busy"),
        (bytes(&[]), Signal::KILL.as_raw(), "short of memory"),
        (bytes(&[]), Signal::TERM.as_raw(), "was ended"),
        (bytes(&[]), 0, "without an answer"),
        (bytes(&[DONE, 1]), 1 << 8, "without an answer"),
        (bytes(&[7]), 0, "without an answer"),
    ] {
        let said = said(answer, raw);
        assert!(
            said.starts_with("host fault: the compiler ") && said.contains(why),
            "{said}"
        );
    }
}
