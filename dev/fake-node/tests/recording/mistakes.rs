//! Recordings that cannot be understood, and the largest.

use super::*;

#[test]
fn what_cannot_be_understood_is_named_with_its_line() {
    let start = "P: /devices/a\nE: SUBSYSTEM=misc\n";
    for (text, expected) in [
        ("hello", "line 1: \"hello\" is not a letter, a colon, a space and a value"),
        ("\n\nA: x=1", "line 3: a description must start with a P: line"),
        ("P: /sys/devices/a", "line 1: path must start with /devices/"),
        ("P: /devices/../a", "line 1: path has a . or .. component"),
        ("P: /devices/a/", "line 1: path has an empty component or a trailing slash"),
        ("P: /devices/a\nA: x=1", "line 1: the description has no E: SUBSYSTEM= line"),
        ("P: /devices/a\nE: SUBSYSTEM=a/b", "line 1: SUBSYSTEM is not a plain name"),
        ("P: /devices/a\nE: SUBSYSTEM=..", "line 1: SUBSYSTEM is not a plain name"),
        ("+P: /devices/b", "line 3: a description must end with an empty line before the next P:"),
        ("+A: x", "line 3: must be a name, \"=\" and a value"),
        ("+A: =x", "line 3: must be a name, \"=\" and a value"),
        ("+A: x=\\", "line 3: value ends in the middle of an escape; write \\\\ for a backslash"),
        ("+A: ../x=1", "line 3: path has a . or .. component"),
        ("+A: x=1\nA: x/y=2", "line 4: sys/devices/a/x is no directory"),
        ("+A: x/y=1\nA: x=2", "line 4: a directory is there already"),
        ("+X: x=BUSY", "line 3: must be the name of an error of the kernel, such as EBUSY, or E and its number"),
        ("+X: x=", "line 3: must be the name of an error of the kernel, such as EBUSY, or E and its number"),
        ("+X: subsystem=EIO", "line 3: subsystem is a link"),
        ("+A: uevent=x", "line 3: uevent is made from the E: lines"),
        ("+H: x=0", "line 3: value must be pairs of hexadecimal digits"),
        ("+H: x=zz", "line 3: value must be pairs of hexadecimal digits"),
        ("+E: SUBSYSTEM=tty", "line 3: SUBSYSTEM is given twice"),
        ("+E: MAJOR=1", "line 1: MAJOR and MINOR must be given together"),
        ("+E: MAJOR=1\nE: MINOR=x", "line 1: MAJOR and MINOR must be numbers"),
        ("+E: MAJOR=1\nE: MINOR=2\nA: dev=1:3\\n", "line 1: A: dev differs from MAJOR and MINOR"),
        ("+A: dev=7\\n", "line 1: A: dev must be major:minor"),
        ("+N: x", "line 3: has no number; add E: MAJOR= and E: MINOR=, or A: dev="),
        ("+N: ../x", "line 3: path has a . or .. component"),
        ("+N: x=0", "line 3: value must be pairs of hexadecimal digits"),
        ("+N: a\nN: b", "line 4: a device has at most one N: line"),
        ("+L: x=", "line 3: a link must lead somewhere"),
        ("+L: subsystem=../../class/tty", "line 1: L: subsystem does not lead to SUBSYSTEM"),
        ("+Q: x=1", "line 3: \"Q:\" is not one of P, N, S, E, A, H, L, R, X, F, D, I, O"),
        ("+\nP: /devices/a\nE: SUBSYSTEM=misc", "line 4: the device is described twice"),
        ("+\nP: /devices/b/a\nE: SUBSYSTEM=misc", "line 4: misc has a device a already"),
        ("+A: dev=1:2\n\nP: /devices/b\nE: SUBSYSTEM=tty\nA: dev=1:2", "line 5: another device has the number c 1:2"),
        ("T: +1", "line 1: must be milliseconds since the start"),
        ("T: 1s", "line 1: must be milliseconds since the start"),
        ("T: 99999999999999999999", "line 1: must be milliseconds since the start"),
        ("D: /dev/x=c 1", "line 1: must be c or b, a space, and major:minor"),
        ("D: /dev/x=p 1:2", "line 1: must be c or b, a space, and major:minor"),
        ("D: /etc/x=c 1:2", "line 1: path must be under /dev"),
        ("D: /dev/x=c 1:2\nD: /dev/x=c 1:3", "line 2: /dev/x is there already as something else"),
        ("D: /dev/../x=c 1:2", "line 1: path has a . or .. component"),
        ("F: x=1", "line 1: path must be absolute"),
        ("F: /sys/devices/x=1", "line 1: what is under /dev is a D: line"),
        ("I: x=d", "line 1: path must be absolute"),
        ("I: /x=f", "line 1: must be d, s, or l, a space, and where the link leads"),
        ("I: /x=l", "line 1: must be d, s, or l, a space, and where the link leads"),
        ("I: /x=d 0755", "line 1: must be d, s, or l, a space, and where the link leads"),
        ("I: /sys/devices/x=d", "line 1: what is under /sys/devices is part of a device"),
        ("I: /x=d\nI: /x=s", "line 2: /x is there already as something else"),
        ("O: /x=0 0755", "line 1: not found"),
        ("I: /x=d\nO: /x=0 0o755", "line 2: must be the owner's number, a space, and the mode as octal digits"),
        ("I: /x=d\nO: /x=+1 755", "line 2: must be the owner's number, a space, and the mode as octal digits"),
        ("I: /x=d\nO: /x=0 10000", "line 2: must be the owner's number, a space, and the mode as octal digits"),
    ] {
        let text = text.strip_prefix('+').map_or_else(|| text.to_owned(), |rest| format!("{start}{rest}"));
        let error = RecordedNode::parse("r\u{1b}", &text).err().unwrap_or_else(|| panic!("{text:?} was understood"));
        let error = error.to_string();
        assert!(error.starts_with(&format!("recording r\\u{{1b}}, {expected}")), "{text:?}: {error}");
    }
}

#[test]
fn a_recording_may_be_large_but_not_endless() {
    let line = |bytes: usize| format!("P: /devices/a\nE: SUBSYSTEM=misc\nA: x={}\n", "y".repeat(bytes));
    assert!(RecordedNode::parse("r", &line((1 << 20) - 5)).is_ok());
    let error = RecordedNode::parse("r", &line((1 << 20) - 4)).err().unwrap().to_string();
    assert_eq!(error, "recording r, line 3: longer than 1048576 bytes");
    let endless = "\n".repeat((64 << 20) + 1);
    assert!(
        matches!(RecordedNode::parse("r", &endless), Err(RecordingError::TooLarge { most, .. }) if most == 64 << 20)
    );
    assert!(RecordedNode::parse("r", "").unwrap().devices("pci").unwrap().is_empty());
}
