//! What schedulers are told of devices.

/// The value of an attribute of a device, as `resource.k8s.io/v1` has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    /// A number.
    Int(i64),
    /// Yes or no.
    Bool(bool),
    /// At most 64 bytes.
    Text(String),
    /// Of semver 2.0, at most 64 bytes.
    Version(String),
}
