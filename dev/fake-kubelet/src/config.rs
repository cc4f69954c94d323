//! Which kubelet is played, and how.

use std::path::PathBuf;
use std::time::Duration;

/// Which kubelet is played, where they differ. What a front end sees of older and newer ones than 1.32:
///
/// | from | what |
/// | --- | --- |
/// | 1.26 | the first that a front end on h2 can serve |
/// | 1.29 | CDI device names reach the runtime |
/// | 1.34 | pods that have ended are not listed as holders any more |
/// | 1.37 | two registrations of one resource are kept apart by their sockets |
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KubeletVersion {
    minor: u32,
}

impl KubeletVersion {
    /// The oldest that a front end can serve: before it, the kubelet sends the socket's path as `:authority`, which h2
    /// refuses.
    pub const OLDEST: Self = Self::minor(26);
    /// The last that knows clients by resource name alone.
    pub const CONFUSED: Self = Self::minor(36);
    /// The newest whose behaviour is known here.
    pub const NEWEST: Self = Self::minor(37);

    /// Kubernetes 1.`minor`.
    #[must_use]
    pub const fn minor(minor: u32) -> Self {
        Self { minor }
    }

    /// Whether clients are known by resource name alone, so that the end of an old stream ends the new registration (up
    /// to 1.36, <https://github.com/kubernetes/kubernetes/issues/121994>). Later they are known by resource and socket,
    /// and a new instance takes over.
    pub(super) fn confuses_clients(self) -> bool {
        self <= Self::CONFUSED
    }

    /// Whether pods whose containers have all ended are listed, without devices (up to 1.33).
    pub(super) fn lists_ended_pods(self) -> bool {
        self <= Self::minor(33)
    }

    /// Whether CDI device names reach the runtime: beta and on from 1.29. Before, the field is not known or not used.
    pub(super) fn passes_cdi(self) -> bool {
        self >= Self::minor(29)
    }
}

/// 1.32, which the stand-in was written from.
impl Default for KubeletVersion {
    fn default() -> Self {
        Self::minor(32)
    }
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
    /// The plugin is connected as usual, but the connection is closed before the stream is opened on it. Up to 1.36 the
    /// kubelet does so when it notices the end of an older stream of the resource only now.
    HangUp,
    /// The plugin's socket is not dialled in time. Up to 1.36 the kubelet forgets an older client of the resource with it.
    NoDial,
}

/// What becomes of a question about pods and their devices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PodsAnswer {
    /// What the kubelet does.
    #[default]
    Real,
    /// None at all, until it is another answer.
    Hang,
    /// What the kubelet answers to more than 100 calls a second.
    TooMany,
    /// What a kubelet answers that has just started and has not heard of its pods from the API server yet: none.
    Unsynced,
}

/// How a stand-in is set up.
#[derive(Debug, Clone)]
pub struct StandInConfig {
    /// The device-plugin directory; made if it is not there.
    pub dir: PathBuf,
    /// The directory of the pod-resources socket; made if it is not there. Nothing where that API is not served.
    pub pod_resources_dir: Option<PathBuf>,
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
            pod_resources_dir: None,
            version: KubeletVersion::default(),
            grace: Duration::from_secs(300),
            dial_timeout: Duration::from_secs(10),
            pre_start_timeout: Duration::from_secs(30),
        }
    }
}
