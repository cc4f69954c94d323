//! Amounts as the API server writes them: what it wrote otherwise would seem changed.

const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [&str; 6] = ["k", "M", "G", "T", "P", "E"];

/// As short as it can be said exactly: of memory by 1024, else by 1000.
pub(crate) fn amount(of: u64) -> String {
    let binary = of >= 1 << 20 && of.is_multiple_of(1 << 20);
    let (step, suffixes) = if binary { (1024, BINARY) } else { (1000, DECIMAL) };
    let (mut left, mut suffix) = (of, "");
    for next in suffixes {
        if left == 0 || !left.is_multiple_of(step) {
            break;
        }
        (left, suffix) = (left / step, next);
    }
    format!("{left}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn an_amount_is_written_in_its_greatest_unit() {
        for (of, is) in [
            (0, "0"),
            (1, "1"),
            (1000, "1k"),
            (1024, "1024"),
            (1 << 20, "1Mi"),
            (80 << 30, "80Gi"),
            (80_000_000_000, "80G"),
            (1_500_000, "1500k"),
            (u64::MAX, "18446744073709551615"),
            (1 << 60, "1Ei"),
        ] {
            assert_eq!(amount(of), is);
        }
    }
}
