//! The one call that the front end makes of the kubelet, and what its failures mean.

use std::io;
use std::path::Path;
use std::time::Duration;

use devgate_types::{ResourceName, escape};

use devgate_kubelet::api::registration_client::RegistrationClient;
use devgate_kubelet::{api, transport};

/// The most characters of the kubelet's answer that are logged.
const MAX_TEXT: usize = 512;

/// Why a resource is not registered. The text is the kubelet's or the system's, escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RegisterError {
    /// No process listens: the kubelet is not up yet. It has not heard of our socket.
    #[error("kubelet does not answer: {0}")]
    Away(String),
    /// No answer in time. The kubelet may still come to our socket.
    #[error("kubelet did not answer within {0:?}")]
    Late(Duration),
    /// The kubelet said no, and will say so again.
    #[error("kubelet refused for good: {0}")]
    Permanent(String),
    /// The kubelet said no; another time it may not.
    #[error("kubelet refused: {0}")]
    Transient(String),
}

/// Registers `resource`, served on the socket `file` beside the kubelet's own. Fails when the kubelet cannot be reached, does not answer
/// within `timeout`, or refuses.
pub(crate) async fn register(
    kubelet_socket: &Path,
    resource: &ResourceName,
    file: &str,
    options: api::DevicePluginOptions,
    timeout: Duration,
) -> Result<(), RegisterError> {
    let call = async {
        let channel = transport::connect(kubelet_socket.to_path_buf(), timeout)
            .await
            .map_err(|error| RegisterError::Away(cause(&error)))?;
        let request = api::RegisterRequest {
            version: api::VERSION.to_owned(),
            endpoint: file.to_owned(),
            resource_name: resource.as_str().to_owned(),
            options: Some(options),
        };
        RegistrationClient::new(channel).register(request).await.map_err(|status| classify(&status))
    };
    match tokio::time::timeout(timeout, call).await {
        Ok(result) => result.map(drop),
        Err(_) => Err(RegisterError::Late(timeout)),
    }
}

/// The kubelet gives every refusal the code `Unknown`, so its text decides (Kubernetes 1.32,
/// `pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go`).
fn classify(status: &tonic::Status) -> RegisterError {
    let text = escape(status.message(), MAX_TEXT);
    let permanent = text.contains("is not supported by kubelet")
        || (text.contains("the ResourceName") && text.ends_with("is invalid"))
        || status.code() == tonic::Code::Unimplemented;
    if permanent { RegisterError::Permanent(text) } else { RegisterError::Transient(text) }
}

/// The innermost cause, which is the only part that says something.
pub(crate) fn cause(error: &tonic::transport::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match cause.downcast_ref::<io::Error>() {
        Some(error) if error.kind() == io::ErrorKind::NotFound => "no socket".to_owned(),
        Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => escape(&cause.to_string(), MAX_TEXT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubelets_own_texts_decide_what_is_permanent() {
        let of = |text: &str| classify(&tonic::Status::unknown(text));
        let version = "requested API version \"v9\" is not supported by kubelet. Supported version is [\"v1beta1\"]";
        assert!(matches!(of(version), RegisterError::Permanent(_)));
        assert!(matches!(of("the ResourceName \"gpu\" is invalid"), RegisterError::Permanent(_)));
        let dial = "failed to dial device plugin: context deadline exceeded";
        assert_eq!(of(dial), RegisterError::Transient(dial.to_owned()));
        assert!(matches!(classify(&tonic::Status::unimplemented("")), RegisterError::Permanent(_)));
    }

    #[tokio::test]
    async fn a_missing_socket_and_a_dead_one_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("kubelet.sock");
        let resource = ResourceName::try_new("vendor.com/gpu").unwrap();
        let options = api::DevicePluginOptions::default();
        let call = async || register(&socket, &resource, "x.sock", options, Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(call().await, RegisterError::Away("no socket".to_owned()));
        drop(transport::bind(&socket).unwrap());
        assert_eq!(call().await, RegisterError::Away("connection refused".to_owned()));
    }
}
