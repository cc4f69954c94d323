//! The whole log as `syslog(2)` gives it, read again and again.
//!
//! It numbers nothing, so that lines are told apart by their time: microseconds since the start, which the kernel prints unless
//! `printk.time` is off. Several lines of one record cannot be told from several records of one microsecond; they are taken for
//! one, since what follows a line break in the name of a process must not pass for the kernel's word, and said to be a gap.

use super::KernelLine;
use super::record::plain;

/// A line of the log.
struct Line<'t> {
    priority: u64,
    micros: u64,
    text: &'t str,
}

/// What has been read of the log so far.
#[derive(Debug, Default)]
pub(crate) struct Klog {
    /// The last line's number, of the kernel's or others'.
    last: Option<u64>,
}

/// What is new in the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// The kernel's own new lines, oldest first.
    pub(crate) lines: Vec<KernelLine>,
    /// Whether lines were overwritten before they were read, or more than one of them may have been taken for one.
    pub(crate) gap: bool,
}

/// Numbers for the records of one microsecond that have different levels.
const WITHIN_A_MICROSECOND: u64 = 8;

impl Klog {
    /// What is new in the whole log as it is now. A log without times has no lines that could be told from those read before:
    /// nothing is new in it, ever.
    pub(crate) fn news(&mut self, log: &[u8]) -> News {
        // Byte by byte, as it need not be UTF-8.
        let text: String = log.iter().map(|byte| char::from(*byte)).collect();
        let (mut found, mut last) = (Vec::<(u64, Line<'_>, String)>::new(), 0);
        let mut merged = None;
        for line in text.split('\n').filter_map(line) {
            match found.last_mut() {
                Some((number, before, text)) if before.micros == line.micros && before.priority == line.priority => {
                    if line.priority >> 3 == 0 {
                        merged = Some(*number);
                    }
                    // As `/dev/kmsg` writes it.
                    text.push_str("\\x0a");
                    text.push_str(&escaped(line.text));
                }
                _ => {
                    let number = line.micros.saturating_mul(WITHIN_A_MICROSECOND).max(last + 1);
                    last = number;
                    let text = escaped(line.text);
                    found.push((number, line, text));
                }
            }
        }
        let first = found.first().map(|(number, ..)| *number);
        let gap = matches!((self.last, first), (Some(last), Some(first)) if first > last);
        let before = self.last;
        let gap = gap || merged.is_some_and(|merged| before.is_none_or(|before| merged > before));
        self.last = found.last().map(|(number, ..)| *number).or(before);
        let new = found.into_iter().filter(|(number, ..)| before.is_none_or(|before| *number > before));
        let lines = new.filter(|(_, line, _)| line.priority >> 3 == 0).map(|(sequence, line, text)| KernelLine {
            sequence,
            micros: line.micros,
            text,
        });
        News { lines: lines.collect(), gap }
    }
}

/// `<6>[    1.271491] text`, or with who said it: `<6>[    1.271491][   T70] text`.
fn line(text: &str) -> Option<Line<'_>> {
    let (priority, rest) = text.strip_prefix('<')?.split_once('>')?;
    let (time, rest) = rest.strip_prefix('[')?.split_once(']')?;
    let (seconds, micros) = time.trim_start().split_once('.')?;
    let micros = plain(micros).filter(|_| micros.len() == 6)?;
    let micros = plain::<u64>(seconds)?.checked_mul(1_000_000)?.checked_add(micros)?;
    let rest = match rest.strip_prefix('[').and_then(|caller| caller.split_once(']')) {
        Some((caller, rest)) if is_caller(caller) => rest,
        _ => rest,
    };
    Some(Line { priority: plain(priority)?, micros, text: rest.strip_prefix(' ').unwrap_or(rest) })
}

/// `T70` for a task, `C1` for a processor (`CONFIG_PRINTK_CALLER`).
fn is_caller(text: &str) -> bool {
    let id = text.trim_start();
    id.strip_prefix(['T', 'C']).is_some_and(|number| plain::<u64>(number).is_some())
}

/// The text as `/dev/kmsg` would give it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\x5c"),
            ' '..='~' => escaped.push(c),
            _ => escaped.push_str(&format!("\\x{:02x}", u32::from(c))),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: &str = "\
<5>[    0.000000] Linux version 6.18
<6>[    0.000000] Command line: x
<14>[    1.000001] systemd[1]: ACME: Fault (PCI:0000:05:00): 79, made up
<4>[    1.500000][   T70] ACME: Fault (PCI:0000:05:00): 79, pid=1
";

    fn texts(news: &News) -> Vec<&str> {
        news.lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn each_line_is_new_once() {
        let mut klog = Klog::default();
        let news = klog.news(START.as_bytes());
        assert_eq!(texts(&news), ["Linux version 6.18", "Command line: x", "ACME: Fault (PCI:0000:05:00): 79, pid=1"]);
        assert!(!news.gap);
        assert_eq!(news.lines.last().map(|line| line.micros), Some(1_500_000));
        assert_eq!(klog.news(START.as_bytes()).lines, []);
        let more = format!("{START}<3>[12345.678901] loop0: detected capacity change\n");
        let news = klog.news(more.as_bytes());
        assert_eq!(texts(&news), ["loop0: detected capacity change"]);
        assert!(news.lines[0].sequence > 1_500_000 * WITHIN_A_MICROSECOND);
        // A host that starts anew gives the same line the same number.
        assert_eq!(Klog::default().news(more.as_bytes()).lines.last(), news.lines.last());
    }

    #[test]
    fn lines_that_were_overwritten_are_a_gap() {
        let mut klog = Klog::default();
        klog.news(START.as_bytes());
        let news = klog.news(b"<3>[    9.000000] later\n");
        assert!(news.gap);
        assert_eq!(texts(&news), ["later"]);
        assert_eq!(klog.news(b""), News { lines: vec![], gap: false });
        assert!(!klog.news(b"<3>[    9.000000] later\n").gap);
    }

    #[test]
    fn what_follows_a_line_break_is_not_a_line() {
        let log = b"<6>[    2.000000] evil\n<6>[    2.000000] ACME: Fault (PCI:0000:05:00): 79,[9]: segfault\n";
        let news = Klog::default().news(log);
        assert_eq!(texts(&news), ["evil\\x0aACME: Fault (PCI:0000:05:00): 79,[9]: segfault"]);
    }

    /// They may have been records of their own, of which the second matches a pattern.
    #[test]
    fn lines_that_are_taken_for_one_are_a_gap() {
        let mut klog = Klog::default();
        assert!(!klog.news(b"<6>[    2.000000] a\n").gap);
        let log = b"<6>[    2.000000] a\n<14>[    3.000000] x\n<14>[    3.000000] y\n<6>[    4.000000] b\n<4>[    4.000000] c\n";
        assert!(!klog.news(log).gap, "a process's, and those of several levels");
        let log = [log.as_slice(), b"<6>[    5.000000] d\n<6>[    5.000000] e\n"].concat();
        assert!(klog.news(&log).gap);
        assert!(!klog.news(&log).gap, "once");
    }

    #[test]
    fn bytes_are_written_as_the_kernel_does_elsewhere() {
        let news = Klog::default().news(b"<6>[    2.000000] na\xc3\xafve \xff \\ \t\r\n");
        assert_eq!(texts(&news), ["na\\xc3\\xafve \\xff \\x5c \\x09\\x0d"]);
    }

    #[test]
    fn a_log_without_times_has_no_lines() {
        assert_eq!(Klog::default().news(b"<6>ACME: Fault\nplain\n<6>[x] y\n").lines, []);
    }

    proptest! {
        #[test]
        fn no_log_breaks_it(log in "(<[0-9]{1,3}>\\[ {0,4}[0-9]{1,4}\\.[0-9]{6}\\] [ -~]{0,12}\n){0,12}\\PC{0,16}") {
            let mut klog = Klog::default();
            let lines = klog.news(log.as_bytes()).lines;
            prop_assert!(lines.windows(2).all(|pair| pair[0].sequence < pair[1].sequence));
            prop_assert_eq!(klog.news(log.as_bytes()).lines, vec![]);
        }
    }
}
