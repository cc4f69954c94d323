//! What holds for every input.

use allocation_counter::{AllocationInfo, measure};

/// The longest message, in bytes.
const MESSAGE: usize = 4 << 10;

/// A message for people is short, and cannot act on a terminal or a log.
pub(crate) fn message(text: &str) {
    lines(text, 1, MESSAGE);
}

/// The same of one with several lines.
pub(crate) fn lines(text: &str, most: usize, bytes: usize) {
    assert!(text.len() <= bytes, "a message of {} bytes: {:.200}…", text.len(), text);
    assert!(text.lines().count() <= most, "a message of {} lines", text.lines().count());
    let odd = text.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(odd, None, "in the message {text:?}");
}

/// What an input of so many bytes may cost.
pub(crate) struct Cost {
    /// All that is allocated for each byte of it, whether or not it is freed at once: work that grows faster is not in proportion.
    pub(crate) per_byte: u64,
    /// What is allocated for any input.
    pub(crate) besides: u64,
}

impl Cost {
    /// Does `work` with an input of so many bytes, on this thread.
    pub(crate) fn holds<T>(&self, length: usize, work: impl FnOnce() -> T) -> T {
        let (done, spent) = spent(work);
        let most = self.besides + self.per_byte * u64::try_from(length).unwrap();
        assert!(
            spent.bytes_total <= most,
            "{} bytes were allocated for an input of {length}, more than {most}",
            spent.bytes_total
        );
        done
    }
}

/// What `work` allocates on this thread.
pub(crate) fn spent<T>(work: impl FnOnce() -> T) -> (T, AllocationInfo) {
    let mut done = None;
    let spent = measure(|| done = Some(work()));
    (done.unwrap(), spent)
}
