//! A record as `/dev/kmsg` writes it.

use super::KernelLine;

/// What one record is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    /// The kernel's own.
    Kernel(KernelLine),
    /// Another program's.
    Other,
}

/// One record of `/dev/kmsg`: `priority,sequence,microseconds,flags[,more];text`, and lines that start with a space and say
/// which device it is about (`Documentation/ABI/testing/dev-kmsg`). Nothing if it is not of this form.
pub(crate) fn kmsg_record(bytes: &[u8]) -> Option<Record> {
    let text = String::from_utf8_lossy(bytes);
    let (head, rest) = text.split_once(';')?;
    let mut fields = head.split(',');
    let mut number = || fields.next().and_then(plain);
    let (priority, sequence, micros): (u64, _, _) = (number()?, number()?, number()?);
    // The flags, which say that a fragment is one; the kernel has joined them since 5.10.
    fields.next()?;
    if priority >> 3 != 0 {
        return Some(Record::Other);
    }
    let text = rest.split('\n').next().unwrap_or_default();
    Some(Record::Kernel(KernelLine { sequence, micros, text: text.to_owned() }))
}

/// A number of plain digits: `u64` alone would take a sign.
pub(crate) fn plain<N: std::str::FromStr>(digits: &str) -> Option<N> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(record: &str) -> Option<(u64, u64, String)> {
        match kmsg_record(record.as_bytes())? {
            Record::Kernel(line) => Some((line.sequence, line.micros, line.text)),
            Record::Other => None,
        }
    }

    #[test]
    fn the_kernels_records_are_lines() {
        let said = line(
            "6,339,5140900,-;ACME: Fault (PCI:0000:05:00): 79, pid=1; off the bus\n SUBSYSTEM=pci\n DEVICE=+pci:x\n",
        );
        let text = "ACME: Fault (PCI:0000:05:00): 79, pid=1; off the bus".to_owned();
        assert_eq!(said, Some((339, 5_140_900, text)));
        let with_caller = line("4,1,2,-,caller=T17;x\n");
        assert_eq!(with_caller, Some((1, 2, "x".to_owned())));
        assert_eq!(line("7,160,424069,c;part"), Some((160, 424_069, "part".to_owned())));
        assert_eq!(line("0,1,2,-;\n"), Some((1, 2, String::new())));
    }

    #[test]
    fn what_a_process_wrote_is_not_the_kernels() {
        for priority in [8, 12, 14, 30, 8_000_000_000_u64] {
            let record = format!("{priority},1,2,-;ACME: Fault (PCI:0000:05:00): 79, made up\n");
            assert_eq!(kmsg_record(record.as_bytes()), Some(Record::Other));
        }
    }

    #[test]
    fn a_line_break_in_a_name_begins_no_line() {
        let said = line("6,1,2,-;evil\\x0aACME: Fault (PCI:0000:05:00): 79,[9]: segfault\n").unwrap();
        assert!(said.2.starts_with("evil\\x0aACME"), "{said:?}");
    }

    #[test]
    fn what_is_no_record_is_none() {
        for bad in ["", ";", "6;x", "6,1,2;x", "-6,1,2,-;x", "6,+1,2,-;x", "a,1,2,-;x", "6,1,2,-", "6,,2,-;x"] {
            assert_eq!(kmsg_record(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_it_and_no_line_has_a_break(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut record = b"6,1,2,-;".to_vec();
            record.extend(&bytes);
            let _ = kmsg_record(&bytes);
            if let Some(Record::Kernel(line)) = kmsg_record(&record) {
                prop_assert!(!line.text.contains('\n'));
            }
        }
    }
}
