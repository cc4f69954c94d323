//! Durations as the policy writes them: a whole number and a unit.

use std::time::Duration;

/// Reads `500ms`; nothing where it is not a whole number and one of the units, or more than a [`Duration`] can be.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let number = number.parse::<u64>().ok()?;
    match unit {
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3_600).map(Duration::from_secs),
        _ => None,
    }
}

/// Writes a duration so that it can be read again, in the largest unit that fits. What is below a microsecond is lost.
#[must_use]
pub(crate) fn show(duration: Duration) -> String {
    let micros = duration.as_micros();
    match micros {
        0 => "0s".to_owned(),
        n if n.is_multiple_of(3_600_000_000) => format!("{}h", n / 3_600_000_000),
        n if n.is_multiple_of(60_000_000) => format!("{}m", n / 60_000_000),
        n if n.is_multiple_of(1_000_000) => format!("{}s", n / 1_000_000),
        n if n.is_multiple_of(1_000) => format!("{}ms", n / 1_000),
        n => format!("{n}us"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_one_unit() {
        for text in ["0s", "250us", "500ms", "2s", "61s", "5m", "24h"] {
            assert_eq!(show(parse(text).unwrap()), text);
        }
        for bad in
            ["", "2", "s", "1.5s", "-1s", "1m30s", "2 s", "2sec", "99999999999999999999s", "9999999999999999999h", "é"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
