//! How an artifact in a registry is named: `registry.example.com/vendor/gpu:1.2@sha256:9f2c…`.

use std::fmt;
use std::str::FromStr;

/// The longest name of a repository, as registries have it.
const MAX_NAME: usize = 255;
/// The longest tag (OCI distribution specification 1.1, "Pulling manifests").
const MAX_TAG: usize = 128;
/// The longest host with its port.
const MAX_HOST: usize = 255 + 6;

/// The SHA-256 digest of some bytes, by which a registry names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// 64 hexadecimal digits in lower case.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The digest that 64 hexadecimal digits mean, in lower or upper case.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut out = [0; 32];
        for (n, byte) in out.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * n..2 * n + 2)?, 16).ok()?;
        }
        Some(Self(out))
    }
}

impl fmt::Display for Digest {
    /// `sha256:9f2c…`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl FromStr for Digest {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "has no digest of the form sha256: and 64 hexadecimal digits in lower case";
        let hex = text.strip_prefix("sha256:").ok_or(FORM)?;
        if hex.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(FORM);
        }
        Self::from_hex(hex).ok_or(FORM)
    }
}

/// Why a text names nothing in a registry: `names no registry: …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidReference(&'static str);

/// Where versions of one thing are: a registry, and a name in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    /// The host, with its port where one is written.
    pub registry: String,
    /// The name, such as `vendor/gpu`.
    pub name: String,
}

impl fmt::Display for Repository {
    /// `registry.example.com/vendor/gpu`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.name)
    }
}

/// One artifact in a registry, by tag, by digest, or by both; by neither it is the tag `latest`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// Where it is.
    pub repository: Repository,
    /// A name that a pusher can give to something else.
    pub tag: Option<String>,
    /// The digest of its manifest: what it is, whatever the tag says.
    pub digest: Option<Digest>,
}

/// One artifact in a registry, by the digest of its manifest: always the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinnedReference {
    /// Where it is.
    pub repository: Repository,
    /// What it was called when it was pinned; says nothing of what it is.
    pub tag: Option<String>,
    /// The digest of its manifest.
    pub digest: Digest,
}

impl Reference {
    /// The same artifact by its digest, where that is written.
    #[must_use]
    pub fn pinned(self) -> Option<PinnedReference> {
        let digest = self.digest?;
        Some(self.pinned_to(digest))
    }

    /// The same reference with this digest.
    #[must_use]
    pub fn pinned_to(self, digest: Digest) -> PinnedReference {
        PinnedReference { repository: self.repository, tag: self.tag, digest }
    }
}

impl FromStr for Reference {
    type Err = InvalidReference;

    /// Reads `REGISTRY/NAME[:TAG][@sha256:HEX]`. The registry must be written out: what a missing one means differs from tool to tool.
    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        let refuse = |why| Err(InvalidReference(why));
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.parse().map_err(InvalidReference)?)),
            None => (text, None),
        };
        let Some((registry, path)) = rest.split_once('/') else {
            return refuse("must be a registry and a name, such as registry.example.com/vendor/gpu");
        };
        let named = registry == "localhost" || registry.contains(['.', ':']);
        if !named {
            return refuse("names no registry: write its host before the first \"/\", such as registry.example.com");
        }
        if !is_host(registry) {
            return refuse("names a registry that is no host such as registry.example.com or 192.0.2.1:5000");
        }
        let (name, tag) = match path.split_once(':') {
            Some((name, tag)) => (name, Some(tag)),
            None => (path, None),
        };
        if name.len() > MAX_NAME || !name.split('/').all(is_component) {
            return refuse(
                "has a name that no registry knows: lower-case letters and digits, joined by \".\", \"_\" or \"-\", with \"/\" in between",
            );
        }
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return refuse("has a tag that is not 1 to 128 letters, digits, \"_\", \".\" or \"-\"");
        }
        Ok(Self {
            repository: Repository { registry: registry.to_owned(), name: name.to_owned() },
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

/// A name or an address, and a port.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, "")) => (address, None),
            Some((address, port)) => (address, port.strip_prefix(':').or(Some(""))),
            None => return false,
        },
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    if port.is_some_and(|port| !port.bytes().all(|b| b.is_ascii_digit()) || port.parse::<u16>().is_err()) {
        return false;
    }
    if text.starts_with('[') {
        return host.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= MAX_HOST && host.split('.').all(label)
}

/// One part of a repository's name (OCI distribution specification 1.1, "Pulling manifests"):
/// `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`.
fn is_component(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends = bytes.first().is_some_and(|b| word(*b)) && bytes.last().is_some_and(|b| word(*b));
    let separators = text.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    ends && separators
        .into_iter()
        .all(|between| matches!(between, "" | "." | "_" | "__") || between.bytes().all(|b| b == b'-'))
}

fn is_tag(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let bytes = text.as_bytes();
    text.len() <= MAX_TAG
        && bytes.first().is_some_and(|b| word(*b))
        && bytes.iter().all(|b| word(*b) || matches!(b, b'.' | b'-'))
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, &self.repository, self.tag.as_deref(), self.digest.as_ref())
    }
}

impl fmt::Display for PinnedReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, &self.repository, self.tag.as_deref(), Some(&self.digest))
    }
}

fn show(f: &mut fmt::Formatter<'_>, at: &Repository, tag: Option<&str>, digest: Option<&Digest>) -> fmt::Result {
    write!(f, "{at}")?;
    if let Some(tag) = tag {
        write!(f, ":{tag}")?;
    }
    match digest {
        Some(digest) => write!(f, "@{digest}"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    fn read(text: &str) -> Result<Reference, String> {
        text.parse().map_err(|error: InvalidReference| error.to_string())
    }

    #[test]
    fn every_form_is_read_and_written_as_it_was() {
        let pinned = format!("registry.example.com/vendor/gpu:1.2@sha256:{HEX}");
        let reference = read(&pinned).unwrap();
        assert_eq!(reference.repository.registry, "registry.example.com");
        assert_eq!(reference.repository.name, "vendor/gpu");
        assert_eq!(reference.tag.as_deref(), Some("1.2"));
        assert_eq!(reference.digest.unwrap().hex(), HEX);
        for text in [
            pinned.as_str(),
            &format!("localhost:5000/a@sha256:{HEX}"),
            "localhost/a",
            "192.0.2.1:5000/a_b/c__d/e-f/g---h/i.j:A_1.2-3",
            "[2001:db8::1]:5000/a",
            "[::1]/a",
            "my-host:443/0",
        ] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        let pin = read(&pinned).unwrap().pinned().unwrap();
        assert_eq!(pin.to_string(), pinned);
        assert_eq!(read("localhost/a:1").unwrap().pinned(), None);
    }

    #[test]
    fn what_names_nothing_is_refused_with_the_reason() {
        let cases = [
            ("", "must be a registry and a name"),
            ("gpu", "must be a registry and a name"),
            ("vendor/gpu", "names no registry"),
            ("https://example.com/a", "names a registry that is no host"),
            ("example..com/a", "names a registry that is no host"),
            ("-example.com/a", "names a registry that is no host"),
            ("example.com:/a", "names a registry that is no host"),
            ("example.com:65536/a", "names a registry that is no host"),
            ("example.com:+1/a", "names a registry that is no host"),
            ("user:word@example.com/a", "has no digest of the form"),
            ("[::1/a:b", "names a registry that is no host"),
            ("[::1]5000/a:b", "names a registry that is no host"),
            ("[nonsense]:1/a", "names a registry that is no host"),
            ("example.com/", "has a name that no registry knows"),
            ("example.com/A", "has a name that no registry knows"),
            ("example.com/a//b", "has a name that no registry knows"),
            ("example.com/../a", "has a name that no registry knows"),
            ("example.com/a..b", "has a name that no registry knows"),
            ("example.com/a___b", "has a name that no registry knows"),
            ("example.com/a-", "has a name that no registry knows"),
            ("example.com/a?b=c", "has a name that no registry knows"),
            ("example.com/a%2f", "has a name that no registry knows"),
            ("example.com/ä", "has a name that no registry knows"),
            ("example.com/a:", "has a tag that is not"),
            ("example.com/a:.1", "has a tag that is not"),
            ("example.com/a:1:2", "has a tag that is not"),
            ("example.com/a:1\n", "has a tag that is not"),
            ("example.com/a@sha256:12", "has no digest of the form"),
            ("example.com/a@sha512:12", "has no digest of the form"),
            ("example.com/a@", "has no digest of the form"),
        ];
        for (text, expected) in cases {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let (long_name, long_tag) = ("a".repeat(256), "a".repeat(129));
        assert!(read(&format!("example.com/{long_name}")).is_err());
        assert!(read(&format!("example.com/{}", &long_name[1..])).is_ok());
        assert!(read(&format!("example.com/a:{long_tag}")).is_err());
        assert!(read(&format!("example.com/a:{}", &long_tag[1..])).is_ok());
        assert!(read(&format!("example.com/a@sha256:{}", HEX.to_uppercase())).is_err());
    }
}
