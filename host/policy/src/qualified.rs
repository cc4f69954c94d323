//! Names as Kubernetes has them for labels and annotations: a domain, `/`, and a name.

/// The longest name behind the `/`, and the longest value of a label.
pub(crate) const MAX_NAME: usize = 63;
/// The longest domain.
const MAX_DOMAIN: usize = 253;
/// The domains that are Kubernetes' own.
const KUBERNETES: [&str; 2] = ["kubernetes.io", "k8s.io"];

/// Whether Kubernetes takes it for what stands behind the `/`, and for a label's value.
pub(crate) fn is_name(name: &str) -> bool {
    let end = |c: char| c.is_ascii_alphanumeric();
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(ok) && name.starts_with(end) && name.ends_with(end)
}

/// Whether it is a domain, in lower case.
pub(crate) fn is_domain(domain: &str) -> bool {
    let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let is_label = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(ok) && !label.starts_with('-') && !label.ends_with('-')
    };
    domain.len() <= MAX_DOMAIN && domain.split('.').all(is_label)
}

/// Whether a domain is another or beneath it.
pub(crate) fn is_within(domain: &str, parent: &str) -> bool {
    let above = domain.strip_suffix(parent);
    above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

/// Whether a domain is Kubernetes' own.
pub(crate) fn is_kubernetes(domain: &str) -> bool {
    KUBERNETES.into_iter().any(|own| is_within(domain, own))
}
