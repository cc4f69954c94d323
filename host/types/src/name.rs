//! Names that are checked once, when they enter, and trusted from then on.

use std::fmt;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} \"{name}\" {problem}", name = crate::escape(.name, 80))]
pub struct InvalidName {
    what: &'static str,
    name: String,
    problem: &'static str,
}

impl InvalidName {
    fn new(what: &'static str, name: &str, problem: &'static str) -> Self {
        Self { what, name: name.to_owned(), problem }
    }

    /// What is wrong, without the name: `must contain one "/"`.
    #[must_use]
    pub fn problem(&self) -> &'static str {
        self.problem
    }
}

macro_rules! name {
    ($type:ident) => {
        impl $type {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

/// An extended resource's name, such as `vendor.com/gpu`, that the kubelet will accept.
///
/// The rule is the kubelet's `IsExtendedResourceName` (Kubernetes 1.32, `pkg/apis/core/v1/helper/helpers.go`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceName(String);
name!(ResourceName);

impl ResourceName {
    /// Checks a resource name. Fails when the kubelet would refuse it: without exactly one `/`, with a prefix that is not a lower-case DNS
    /// subdomain of at most 244 bytes, with a name part that is empty, longer than 63 bytes or not
    /// `[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?`, in `kubernetes.io/` or with the prefix `requests.`.
    pub fn try_new(name: &str) -> Result<Self, InvalidName> {
        let refuse = |problem| Err(InvalidName::new("resource", name, problem));
        let Some((prefix, last)) = name.split_once('/') else {
            return refuse("must be a vendor's domain and a name, such as vendor.com/gpu");
        };
        if last.contains('/') {
            return refuse("must contain only one \"/\"");
        }
        if name.contains("kubernetes.io/") {
            return refuse("must not be in kubernetes.io, which is Kubernetes' own");
        }
        if name.starts_with("requests.") {
            return refuse("must not start with \"requests.\"");
        }
        if prefix.len() > 244 || !prefix.split('.').all(is_dns_label) {
            return refuse("must start with a lower-case domain name of at most 244 bytes");
        }
        if !is_qualified(last) {
            return refuse(
                "must end with 1 to 63 letters, digits, \"-\", \"_\" or \".\", a letter or digit at both ends",
            );
        }
        Ok(Self(name.to_owned()))
    }

    /// The name in the form of an environment variable: `vendor.com/gpu` becomes `VENDOR_COM_GPU`.
    #[must_use]
    pub fn as_env(&self) -> String {
        let upper = |c: char| {
            if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }
        };
        self.0.chars().map(upper).collect()
    }
}

/// A plugin's name in the policy: a DNS label, so that it can stand in file names, log fields and metrics.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PluginName(String);
name!(PluginName);

impl PluginName {
    /// Checks a plugin's name. Fails when it is not 1 to 63 lower-case letters, digits or `-` with a letter or digit at both ends.
    pub fn try_new(name: &str) -> Result<Self, InvalidName> {
        if is_dns_label(name) {
            return Ok(Self(name.to_owned()));
        }
        let problem = "must be 1 to 63 lower-case letters, digits or \"-\", with a letter or digit at both ends";
        Err(InvalidName::new("plugin", name, problem))
    }
}

/// A unit's id: what the kubelet knows one device by.
///
/// `::` is kept for the host's own replicas (`GPU-1234::3`), and everything that would need quoting in an environment
/// variable's list, a log line or a checkpoint is refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(String);
name!(UnitId);

impl UnitId {
    /// The longest id that the kubelet's API documents, in bytes.
    pub const MAX_BYTES: usize = 63;

    /// Checks a unit's id. Fails when it is empty, longer than 63 bytes, contains `::`, or anything but ASCII letters, digits and
    /// `-_.:+@!`, or does not start with a letter or digit.
    pub fn try_new(id: &str) -> Result<Self, InvalidName> {
        let refuse = |problem| Err(InvalidName::new("id", id, problem));
        if id.is_empty() || id.len() > Self::MAX_BYTES {
            return refuse("must have 1 to 63 bytes; take a serial number or an address");
        }
        if !id.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return refuse("must start with a letter or digit");
        }
        if !id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:+@!".contains(&b)) {
            return refuse("must consist of letters, digits and -_.:+@!; write - for all else");
        }
        if id.contains("::") {
            return refuse("must not contain \"::\", which the host uses for replicas");
        }
        Ok(Self(id.to_owned()))
    }
}

fn is_dns_label(label: &str) -> bool {
    let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=63).contains(&label.len()) && label.bytes().all(ok) && !label.starts_with('-') && !label.ends_with('-')
}

fn is_qualified(name: &str) -> bool {
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let ends = |c: char| c.is_ascii_alphanumeric();
    (1..=63).contains(&name.len()) && name.bytes().all(ok) && name.starts_with(ends) && name.ends_with(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_names_follow_the_kubelets_rule() {
        for good in ["vendor.com/gpu", "a/b", "gpu.example.com/g915", "v.com/A_b-c.9", "example.com/cpx_nps4"] {
            assert!(ResourceName::try_new(good).is_ok(), "{good}");
        }
        let long = format!("{}/gpu", "a.".repeat(121) + "ab");
        let too_long = format!("{}/gpu", "a.".repeat(121) + "abc");
        assert!(ResourceName::try_new(&long).is_ok() && ResourceName::try_new(&too_long).is_err());
        let longest = format!("v.com/{}", "x".repeat(63));
        assert!(ResourceName::try_new(&longest).is_ok() && ResourceName::try_new(&format!("{longest}x")).is_err());
        for bad in [
            "",
            "gpu",
            "/gpu",
            "v.com/",
            "v.com/a/b",
            "V.com/gpu",
            "v_x.com/gpu",
            "v..com/gpu",
            "-v.com/gpu",
            "v.com/-gpu",
            "v.com/gpu.",
            "kubernetes.io/gpu",
            "x.kubernetes.io/gpu",
            "requests.v.com/gpu",
            "v.com/g pu",
            "v.com/gpü",
        ] {
            assert!(ResourceName::try_new(bad).is_err(), "{bad}");
        }
        assert_eq!(ResourceName::try_new("vendor.com/my-gpu").unwrap().as_env(), "VENDOR_COM_MY_GPU");
    }

    #[test]
    fn unit_ids_leave_room_for_replicas_and_need_no_quoting() {
        for good in ["GPU-edfee158-11c1-52b8-0517-92f30e7fac88", "0000:3b:00.0", "0:1", "acmecard!0", "a"] {
            assert!(UnitId::try_new(good).is_ok(), "{good}");
        }
        for bad in ["", "a,b", "a b", "a/b", "../a", "a::0", "a\0", "a\n", "-a", "gpü", "GPU-????????"] {
            assert!(UnitId::try_new(bad).is_err(), "{bad:?}");
        }
        assert!(UnitId::try_new(&"x".repeat(63)).is_ok() && UnitId::try_new(&"x".repeat(64)).is_err());
    }

    #[test]
    fn a_refusal_names_the_name_and_the_rule() {
        let error = ResourceName::try_new("gp\u{1b}u").unwrap_err();
        assert_eq!(
            error.to_string(),
            "resource \"gp\\u{1b}u\" must be a vendor's domain and a name, such as vendor.com/gpu"
        );
        assert!(PluginName::try_new("Acme").unwrap_err().to_string().starts_with("plugin \"Acme\" must be"));
    }
}
