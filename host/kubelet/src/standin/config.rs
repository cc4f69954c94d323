//! Which kubelet is played, and how.

use std::path::PathBuf;
use std::time::Duration;

/// Which kubelet is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KubeletVersion {
    /// Up to 1.36: clients are known by resource name alone, so the end of an old stream ends the new registration
    /// (<https://github.com/kubernetes/kubernetes/issues/121994>).
    #[default]
    UpTo1_36,
    /// From 1.37: clients are known by resource and socket, so a new instance takes over.
    From1_37,
}

/// What becomes of a call of `Register`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Answer {
    /// What the kubelet does.
    #[default]
    Real,
    /// None at all, ever.
    Hang,
    /// This error.
    Refuse(String),
    /// The plugin is connected as usual, but hears of it only after this time.
    Late(Duration),
}

/// How a stand-in is set up.
#[derive(Debug, Clone)]
pub struct StandInConfig {
    /// The device-plugin directory; made if it is not there.
    pub dir: PathBuf,
    /// Which kubelet is played.
    pub version: KubeletVersion,
    /// How long a resource without a plugin keeps its capacity. 5 min.
    pub grace: Duration,
    /// How long a plugin may take to be connected to. 10 s.
    pub dial_timeout: Duration,
    /// How long `PreStartContainer` may take. 30 s.
    pub pre_start_timeout: Duration,
}

impl StandInConfig {
    /// The kubelet's own times, in `dir`.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            version: KubeletVersion::default(),
            grace: Duration::from_secs(300),
            dial_timeout: Duration::from_secs(10),
            pre_start_timeout: Duration::from_secs(30),
        }
    }
}
