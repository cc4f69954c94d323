use super::*;
use crate::testing::{plugin_policy, policy_of};

const BOOT: &str = "3a862986-6127-4a76-bcba-d4cf2e55b45f";

fn patterns(list: &str) -> Vec<KernelPattern> {
    plugin_policy(&policy_of(&format!("    kernel-log: [{list}]\n"))).kernel_log.clone()
}

fn faults() -> Vec<KernelPattern> {
    patterns(r"'^ACME: Fault \((?:PCI:)?([0-9a-f:.]+)\): ([0-9]+)', '^ACME: (Fault)'")
}

fn on(boot: &str) -> MatchedLines {
    let lines = MatchedLines::new(faults(), Some(boot.to_owned()));
    lines.is_read();
    lines
}

fn line(sequence: u64, text: &str) -> KernelLine {
    KernelLine { sequence, micros: sequence * 1_000, text: text.to_owned() }
}

fn fault(sequence: u64, code: u32) -> KernelLine {
    line(sequence, &format!("ACME: Fault (PCI:0000:05:00): {code}, pid='<unknown>', name=evil"))
}

fn codes(batch: &LogBatch) -> Vec<&str> {
    let of_first = batch.events.iter().filter(|event| event.pattern == 0);
    of_first.map(|event| event.captures[1].as_str()).collect()
}

#[test]
fn captures_are_told_and_nothing_else_of_a_line() {
    let lines = on(BOOT);
    assert!(lines.record(&fault(3, 79)));
    assert!(!lines.record(&line(4, "usb 1-1: ACME: Fault (PCI:0000:05:00): 79, not the kernel's")));
    let batch = lines.since("", 10).unwrap();
    assert_eq!(
        batch.events,
        [
            LogEvent { pattern: 0, captures: vec!["0000:05:00".into(), "79".into()], micros: 3_000 },
            LogEvent { pattern: 1, captures: vec!["Fault".into()], micros: 3_000 }
        ]
    );
    assert_eq!(batch.cursor, format!("{BOOT}.4.999"));
    assert!(!batch.gap);
}

/// What a process writes into a name that the kernel prints stays one capture of one line.
#[test]
fn a_line_that_a_tenant_made_up_is_one_event() {
    let lines = on(BOOT);
    lines.record(&line(1, r"ACME: Fault (PCI:0000:05:00): 13, name=x\x0aACME: Fault (PCI:0000:06:00): 79,"));
    assert_eq!(codes(&lines.since("", 10).unwrap()), ["13"]);
}

#[test]
fn a_cursor_goes_on_where_it_was_and_nothing_comes_twice() {
    let lines = on(BOOT);
    lines.record(&fault(1, 13));
    lines.record(&fault(2, 31));
    let mut seen = Vec::new();
    let mut cursor = String::new();
    // One event at a time: the two patterns of one line are two events.
    for n in 0..4 {
        let batch = lines.since(&cursor, 1).unwrap();
        assert!(!batch.gap && batch.cursor.len() <= 64, "{n}");
        seen.extend(batch.events.iter().map(|event| (event.micros, event.pattern)));
        cursor = batch.cursor;
    }
    assert_eq!(seen, [(1_000, 0), (1_000, 1), (2_000, 0), (2_000, 1)]);
    assert_eq!(lines.since(&cursor, 1).unwrap().events, []);
    // A line that is handed in again, as after a look at the whole log, is no news.
    assert!(!lines.record(&fault(2, 31)));
    lines.record(&fault(9, 94));
    let batch = lines.since(&cursor, 10).unwrap();
    assert_eq!((codes(&batch), batch.gap), (vec!["94"], false));
    assert_eq!(lines.since(&batch.cursor, 0).unwrap().events, []);
}

#[test]
fn a_cursor_survives_a_restart_of_the_host_but_not_one_of_the_computer() {
    let before = on(BOOT);
    before.record(&fault(1, 13));
    let cursor = before.since("", 10).unwrap().cursor;
    let again = on(BOOT);
    (0..=2).for_each(|n| _ = again.record(&fault(n, 40 + u32::try_from(n).unwrap())));
    let batch = again.since(&cursor, 10).unwrap();
    assert_eq!((codes(&batch), batch.gap), (vec!["42"], false));
    let rebooted = on("00000000-6127-4a76-bcba-d4cf2e55b45f");
    (0..=2).for_each(|n| _ = rebooted.record(&fault(n, 50)));
    let batch = rebooted.since(&cursor, 10).unwrap();
    assert_eq!((codes(&batch).len(), batch.gap), (3, true));
    // Where the boot has no id, a cursor is worth nothing after a restart, and says so.
    let nameless = MatchedLines::new(faults(), None);
    nameless.is_read();
    nameless.record(&fault(1, 13));
    let batch = nameless.since("", 10).unwrap();
    assert!(batch.cursor.len() <= 64 && !nameless.since(&batch.cursor, 1).unwrap().gap);
    assert!(again.since(&batch.cursor, 1).unwrap().gap);
}

#[test]
fn whoever_watches_the_host_is_told_of_gaps_and_why_nothing_is_heard() {
    let lines = on(BOOT);
    lines.record(&fault(1, 1));
    lines.record_gap();
    lines.kept.lock().off = Some("no CAP_SYSLOG".to_owned());
    lines.replace(&patterns("'^ACME: (Other)'"));
    let expected = KernelLogStatus { off: Some("no CAP_SYSLOG".to_owned()), gaps: 1 };
    assert_eq!(lines.status(), Some(expected));
    lines.replace(&[]);
    assert_eq!(lines.status(), None, "nothing is granted of it");
}

#[test]
fn a_gap_is_told_to_those_who_have_not_seen_what_was_lost() {
    let lines = on(BOOT);
    lines.record(&fault(1, 13));
    let old = lines.since("", 10).unwrap().cursor;
    lines.record_gap();
    lines.record(&fault(500, 13));
    let batch = lines.since(&old, 10).unwrap();
    assert!(batch.gap);
    assert!(!lines.since(&batch.cursor, 10).unwrap().gap);
    // The ring had gone round before the host read it.
    let late = on(BOOT);
    late.record(&fault(400, 13));
    assert!(late.since(&old, 10).unwrap().gap);
    assert!(!late.since("", 10).unwrap().gap);
    // A cursor from the future is no cursor of this log.
    assert!(late.since(&format!("{BOOT}.4000.0"), 10).unwrap().gap);
}

#[test]
fn what_is_kept_is_bounded() {
    let lines = on(BOOT);
    lines.record(&fault(0, 1));
    let first = lines.since("", 10).unwrap().cursor;
    let half = MAX_EVENTS as u64 / 2;
    (1..half).for_each(|n| _ = lines.record(&fault(n, 2)));
    let batch = lines.since(&first, u32::MAX).unwrap();
    assert_eq!((batch.events.len(), batch.gap), (MAX_EVENTS - 2, false));
    (half..=half + 2).for_each(|n| _ = lines.record(&fault(n, 2)));
    let batch = lines.since(&first, u32::MAX).unwrap();
    assert_eq!((batch.events.len(), batch.gap), (MAX_EVENTS, true));
    // Long captures are cut, and count.
    let long = MatchedLines::new(patterns("'^(.*)'"), Some(BOOT.to_owned()));
    long.is_read();
    (0..500).for_each(|n| _ = long.record(&line(n, &"é".repeat(1_000))));
    let kept = long.since("", u32::MAX).unwrap().events;
    assert_eq!(kept[0].captures[0], "é".repeat(MAX_CAPTURE / 2));
    assert!(kept.len() > 100 && kept.len() * MAX_CAPTURE <= MAX_BYTES, "{}", kept.len());
}

#[test]
fn other_patterns_start_anew_and_say_so() {
    let lines = on(BOOT);
    lines.record(&fault(5, 13));
    let cursor = lines.since("", 10).unwrap().cursor;
    lines.replace(&faults());
    assert_eq!(lines.since("", 10).unwrap().events.len(), 2, "the same patterns change nothing");
    lines.record(&fault(6, 13));
    lines.replace(&patterns("'^(never)'"));
    let batch = lines.since(&cursor, 10).unwrap();
    assert_eq!((batch.events.len(), batch.gap), (0, true));
    assert!(lines.record(&line(7, "never")));
}

/// A reload that moves lines of the policy, or names another file, changes no pattern.
#[test]
fn patterns_that_only_moved_are_the_same() {
    let lines = Arc::new(on(BOOT));
    lines.record(&fault(5, 13));
    let texts = faults().iter().map(|one| format!("'{}'", one.as_str())).collect::<Vec<_>>();
    let moved =
        plugin_policy(&policy_of(&format!("    # Here.\n\n    kernel-log:\n    - {}\n", texts.join("\n    - "))));
    assert_ne!(moved.kernel_log, faults(), "they are elsewhere");
    lines.replace(&moved.kernel_log);
    assert_eq!(codes(&lines.since("", 10).unwrap()), ["13"]);
    assert_eq!(codes(&lines.on_trial(&moved.kernel_log).since("", 10).unwrap()), ["13"]);
}

#[test]
fn a_trial_sees_what_its_own_patterns_will() {
    let lines = Arc::new(on(BOOT));
    lines.record(&fault(5, 13));
    let cursor = lines.since("", 10).unwrap().cursor;
    lines.record(&fault(6, 79));
    let other = patterns("'^(never)'");
    let trial = lines.on_trial(&other).since(&cursor, 10).unwrap();
    assert_eq!((codes(&trial).len(), trial.gap), (0, true), "nothing by another's numbers");
    assert_eq!(codes(&lines.since(&cursor, 10).unwrap()), ["79"], "nothing is lost by a trial");
    lines.replace(&other);
    assert_eq!(lines.since(&cursor, 10).unwrap(), trial, "and then it is so");
    // A log that is not asked for is not read yet; one that cannot be read cannot be after the reload either.
    let none = Arc::new(MatchedLines::new(vec![], None));
    assert_eq!(none.on_trial(&faults()).since("", 10).unwrap().events, []);
    none.kept.lock().off = Some("refused".to_owned());
    assert!(none.on_trial(&faults()).since("", 10).is_err());
}

#[test]
fn a_log_that_is_not_read_is_no_empty_log() {
    let lines = MatchedLines::new(faults(), Some(BOOT.to_owned()));
    let refused = |lines: &MatchedLines| lines.since("", 1).unwrap_err();
    assert_eq!(refused(&lines).kind, FailureKind::Unsupported);
    lines.kept.lock().off = Some("neither /dev/kmsg nor syslog(2) may be read".to_owned());
    insta::assert_snapshot!(refused(&lines), @"the kernel's log: neither /dev/kmsg nor syslog(2) may be read");
    lines.is_read();
    assert!(lines.since("", 1).is_ok());
    assert!(lines.wants_lines() && !MatchedLines::new(vec![], None).wants_lines());
}

#[test]
fn what_is_no_cursor_is_refused() {
    let lines = on(BOOT);
    let long = format!("{}.1.1", "x".repeat(64));
    for bad in ["x", "..", "a.b.c", "1.2", long.as_str(), "a.1.-1"] {
        assert_eq!(lines.since(bad, 1).unwrap_err().kind, FailureKind::Invalid, "{bad}");
    }
}
