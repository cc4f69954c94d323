//! The kubelet's device-plugin API: messages, clients and servers, generated from `proto/deviceplugin`.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::allow_attributes_without_reason,
    reason = "the proto file is the documentation, and the generator writes its own attributes"
)]

tonic::include_proto!("v1beta1");

/// The version of the API that a plugin names when it registers.
pub const VERSION: &str = "v1beta1";
/// What [`Device::health`] says of a device that may be given to pods.
pub const HEALTHY: &str = "Healthy";
/// What [`Device::health`] says of a device that may not.
pub const UNHEALTHY: &str = "Unhealthy";
/// The kubelet's socket, in its device-plugin directory.
pub const KUBELET_SOCKET: &str = "kubelet.sock";
/// The largest message that the kubelet receives: grpc-go's default, which the kubelet does not change.
pub const MESSAGE_LIMIT: usize = 4 * 1024 * 1024;

/// The kubelet's pod-resources API, generated from `proto/podresources`.
pub mod pods {
    tonic::include_proto!("v1");

    /// The kubelet's socket, in its pod-resources directory.
    pub const SOCKET: &str = "kubelet.sock";
    /// The largest answer that is taken: some 250,000 devices. grpc-go sends what it has; tonic's default is 4 MiB.
    pub const MESSAGE_LIMIT: usize = 16 * 1024 * 1024;
}

/// How the kubelet finds plugins by their sockets, generated from `proto/pluginregistration`.
pub mod registration {
    tonic::include_proto!("pluginregistration");

    /// What [`PluginInfo::type`] says of a driver of dynamic resource allocation.
    pub const DRA: &str = "DRAPlugin";
}

/// The kubelet's API of drivers of dynamic resource allocation, generated from `proto/dra`.
pub mod dra {
    tonic::include_proto!("k8s.io.kubelet.pkg.apis.dra.v1");

    /// As the older one calls it.
    use super::dra as v1;

    /// The same service by its older name, with the same messages.
    pub mod v1beta1 {
        tonic::include_proto!("k8s.io.kubelet.pkg.apis.dra.v1beta1");
    }

    /// Health of such a driver's devices, generated from `proto/dra-health`.
    pub mod health {
        tonic::include_proto!("v1alpha1");
    }
}
