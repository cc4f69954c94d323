//! What the driver has counted of errors in a GPU (RAS), as text.
//!
//! `ras/<block>_err_count` of the PCI function reads `ue: 0` and `ce: 0`, a line each, newer drivers add `de: 0`: uncorrectable,
//! correctable and deferred errors since the driver was loaded. While a reset is under way it reads "Query currently
//! inaccessible". `ras/gpu_vram_bad_pages` has a line for each page of memory that is lost, `0x00000001 : 0x00001000 : R`: its
//! number, its size, and whether it is reserved (`R`), will be (`P`), or cannot be (`F`) (`amdgpu_ras.c`, "AMDGPU RAS
//! Support" in the kernel's documentation).

/// Ends the name of a block's counters.
pub(crate) const COUNTS: &str = "_err_count";

/// The uncorrectable errors of one block; nothing where the driver does not tell now.
pub(crate) fn uncorrectable(text: &str) -> Option<u64> {
    let count = |line: &str| line.trim().strip_prefix("ue:")?.trim().parse().ok();
    text.lines().find_map(count)
}

/// The pages of memory that a GPU has lost.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadPages {
    pub(crate) all: u64,
    /// Those that are still in use, because they cannot be reserved.
    pub(crate) in_use: u64,
}

impl BadPages {
    /// Counts the lines of `gpu_vram_bad_pages`.
    pub(crate) fn of(text: &str) -> Self {
        let mut pages = Self::default();
        for line in text.lines() {
            let mut parts = line.split(':').map(str::trim);
            let (Some(number), Some(flag)) = (parts.next(), parts.nth(1)) else {
                continue;
            };
            if number.starts_with("0x") {
                pages.all += 1;
                pages.in_use += u64::from(flag == "F");
            }
        }
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncorrectable_errors_are_counted() {
        assert_eq!(uncorrectable("ue: 0\nce: 12"), Some(0));
        assert_eq!(uncorrectable("ue: 3\nce: 0\nde: 1\n"), Some(3));
        assert_eq!(uncorrectable("ue: 18446744073709551615\nce: 0"), Some(u64::MAX));
    }

    #[test]
    fn what_is_no_count_is_none() {
        for text in ["", "Query currently inaccessible", "ce: 1", "ue: many\nce: 0", "ue: -1"] {
            assert_eq!(uncorrectable(text), None, "{text}");
        }
    }

    #[test]
    fn bad_pages_are_lines() {
        let text = "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n0x00000003 : 0x00001000 : F\n";
        assert_eq!(BadPages::of(text), BadPages { all: 3, in_use: 1 });
        assert_eq!(BadPages::of(""), BadPages::default());
        // Cut off where it is read no further.
        assert_eq!(BadPages::of("0x00000001 : 0x00001000 : R\n0x0000").all, 1);
    }
}
