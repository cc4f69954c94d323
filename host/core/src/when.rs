//! A moment of the wall clock, as people and scripts read it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::time::{Duration, SystemTime};

/// A moment, written as `2026-11-21T15:42:17Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct When(pub SystemTime);

impl When {
    /// This moment.
    #[must_use]
    pub fn now() -> Self {
        Self(SystemTime::now())
    }

    /// How long it has been; nothing for what is still to come.
    #[must_use]
    pub fn ago(self, now: Self) -> Duration {
        now.0.duration_since(self.0).unwrap_or_default()
    }
}

impl Default for When {
    fn default() -> Self {
        Self::now()
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A clock beyond the year 9999 can be set by hand; the formatter would fail, and that would be a panic.
        let most = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799);
        let shown = self.0.clamp(SystemTime::UNIX_EPOCH, most);
        write!(f, "{}", humantime::format_rfc3339_seconds(shown))
    }
}

impl Serialize for When {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_rfc3339(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_and_read() {
        let moment = When(SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_275_737));
        assert_eq!(moment.to_string(), "2026-11-21T15:42:17Z");
        let text = serde_json::to_string(&moment).unwrap();
        assert_eq!(serde_json::from_str::<When>(&text).unwrap(), moment);
        assert!(serde_json::from_str::<When>("\"yesterday\"").is_err());
    }

    #[test]
    fn a_clock_that_is_far_off_is_shown_as_far_as_it_goes() {
        let far = When(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 50));
        assert_eq!(far.to_string(), "9999-12-31T23:59:59Z");
        let before = When(SystemTime::UNIX_EPOCH - Duration::from_secs(1));
        assert_eq!(before.to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(far.ago(before), Duration::ZERO);
    }
}
