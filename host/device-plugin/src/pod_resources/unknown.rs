//! Why it cannot be said which pods have what.

use std::path::PathBuf;
use std::time::Duration;
use tonic::Code;

/// Why it is not known who has what; the kubelet's own words are escaped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// The kubelet's socket is not there.
    #[error("there is no {}; mount the kubelet's pod-resources directory", .0.display())]
    NoSocket(PathBuf),
    /// No kubelet answers on it, for this reason.
    #[error("the kubelet does not answer: {0}")]
    Silent(String),
    /// It took longer than this.
    #[error("the kubelet did not answer within {0:?}")]
    Late(Duration),
    /// It answered with an error.
    #[error("the kubelet refused: {0:?}: {1}")]
    Refused(Code, String),
    /// Its own record is there and makes no sense.
    #[error("{}: cannot be understood", .0.display())]
    Record(PathBuf),
}
