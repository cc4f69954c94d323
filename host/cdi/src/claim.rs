//! What a claim has of one request: what is noted with it, what its devices are called, and why there is none.

use crate::files::Unwritten;
use crate::name::digest;
use crate::named::Named;
use crate::spec::is_name;
use devgate_core::offer::{AllocateError, Reply};
use devgate_core::{AllocationId, Consumer, Gone};
use devgate_types::ResourceName;
use std::fmt;

/// The longest uid of a claim, in bytes. The API server's have 36.
const LONGEST_UID: usize = 64;
/// The longest word of a tag, in bytes: a name of a pool or a claim has at most 253.
const LONGEST_WORD: usize = 253;

/// What is noted of a claim's request beside its devices: what answers of later days need of it, when the agent is away.
///
/// As text, which is the tag of its allocation, it is words with a space between: the request, the pool, the claim's namespace and
/// name, and the share, where it is one. No name of the API's has a space.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimTag {
    /// The request, without the subrequest that was taken.
    pub request: String,
    /// The pool of its devices.
    pub pool: String,
    /// The claim's namespace.
    pub namespace: String,
    /// The claim's name.
    pub name: String,
    /// Which share of its devices it has, where they have several.
    pub share: Option<String>,
}

impl ClaimTag {
    /// The tag that was written so, if it is one.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let (first, share) = match words.as_slice() {
            [first @ .., share] if first.len() == 4 => (first, Some((*share).to_owned())),
            first => (first, None),
        };
        let [request, pool, namespace, name] = first else {
            return None;
        };
        let tag = Self {
            request: (*request).to_owned(),
            pool: (*pool).to_owned(),
            namespace: (*namespace).to_owned(),
            name: (*name).to_owned(),
            share,
        };
        tag.is_good().then_some(tag)
    }

    /// Whether it is read as it is written, and can be in the names of devices.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let is_word = |word: &str| {
            let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-./".contains(&b);
            (1..=LONGEST_WORD).contains(&word.len()) && word.bytes().all(is_plain)
        };
        let in_names = [Some(&self.request), self.share.as_ref()];
        let all = [&self.request, &self.pool, &self.namespace, &self.name].into_iter().chain(&self.share);
        all.into_iter().all(|word| is_word(word)) && !in_names.into_iter().flatten().any(|word| word.contains('/'))
    }
}

impl fmt::Display for ClaimTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.request, self.pool, self.namespace, self.name)?;
        self.share.iter().try_for_each(|share| write!(f, " {share}"))
    }
}

/// Whether a claim can have this uid: it is in the names of devices and files.
#[must_use]
pub fn is_claim_uid(uid: &str) -> bool {
    uid.len() <= LONGEST_UID && is_name(uid, "-")
}

/// What a device of a claim is called for a runtime: the same for as long as the claim has it. What is between has no `_`, so that no two
/// are called the same.
pub(crate) fn claim_device(uid: &str, tag: Option<&ClaimTag>, id: AllocationId, device: &str) -> String {
    let device = device_name(device);
    match tag {
        Some(ClaimTag { request, share: Some(share), .. }) => format!("{uid}_{request}_{share}_{device}"),
        Some(ClaimTag { request, .. }) => format!("{uid}_{request}_{device}"),
        // Of another version, perhaps.
        None => format!("{uid}_{id}_{device}"),
    }
}

/// How many characters of an id's digest a name has, where the id cannot stay.
const DIGITS: usize = 6;
/// The longest name of a device, as the API has it; and how much of an altered id fits.
const LONGEST: usize = 63;
const LONGEST_ALTERED: usize = LONGEST - 1 - DIGITS;
/// Separates a unit's id from the number of one of its replicas, in an id as it is offered and in a name.
const REPLICA: [&str; 2] = ["::", "-r"];

/// What a device is called in the API, by its id: always the same, and never as another, but for one of sixteen million that have to be
/// altered and look alike. A label stays as it is, unless it looks like an altered one or a replica.
#[must_use]
pub fn device_name(id: &str) -> String {
    let [in_id, in_name] = REPLICA;
    if let Some((unit, number)) = id.rsplit_once(in_id)
        && number.parse::<u32>().is_ok_and(|parsed| parsed.to_string() == number)
    {
        let name = format!("{}{in_name}{number}", device_name(unit));
        if name.len() <= LONGEST {
            return name;
        }
    } else if is_label(id) && !looks_made(id) {
        return id.to_owned();
    }
    let plain = |b: u8| if b.is_ascii_alphanumeric() { char::from(b.to_ascii_lowercase()) } else { '-' };
    let plain: String = id.bytes().map(plain).take(LONGEST_ALTERED).collect();
    let plain = plain.trim_matches('-');
    let plain = if plain.is_empty() { "device" } else { plain };
    format!("{plain}-{}", digest(id, DIGITS))
}

fn is_label(id: &str) -> bool {
    id.len() <= LONGEST && is_name(id, "-") && !id.contains(|c: char| c.is_ascii_uppercase())
}

/// Whether an id ends as names do that are made of others.
fn looks_made(id: &str) -> bool {
    let Some((_, end)) = id.rsplit_once('-') else { return false };
    let is_digest = end.len() == DIGITS && end.bytes().all(|b| b.is_ascii_hexdigit());
    let number = end.strip_prefix('r').unwrap_or_default();
    is_digest || (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// A device that a claim has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenDevice {
    /// What it is called in the API.
    pub name: String,
    /// Its id, as it is offered.
    pub id: String,
    /// What a runtime is to be told, its own first; nothing where a container gets nothing by it.
    pub cdi: Vec<String>,
}

/// What a claim has of one request and resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What was noted with it; nothing where that is of another version.
    pub tag: Option<ClaimTag>,
    /// Of which resource.
    pub resource: ResourceName,
    /// Its devices.
    pub devices: Vec<GivenDevice>,
    /// Whether the kubelet was told.
    pub told: bool,
    /// Whether it was given in a boot before this one, and not told again since this host runs.
    pub earlier_boot: bool,
}

impl Claim {
    /// With what stands for it today.
    pub(crate) fn new(named: &Named, reply: &Reply) -> Self {
        let own = named.names(reply);
        let cdi = |n: usize| own.get(n).into_iter().chain(&reply.cdi).cloned().collect();
        let device = |(n, id): (usize, &String)| GivenDevice { name: device_name(id), id: id.clone(), cdi: cdi(n) };
        Self {
            tag: ClaimTag::read(&named.granted.tag),
            resource: named.granted.resource.clone(),
            devices: named.granted.ids.iter().enumerate().map(device).collect(),
            told: named.granted.told,
            earlier_boot: named.granted.earlier_boot,
        }
    }
}

/// Why a claim does not get what it asks for.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// It was not given.
    #[error(transparent)]
    Allocate(#[from] AllocateError),
    /// It was given, and is not there any more.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// There is no way for what devices of this resource come with.
    #[error(
        "resource {0}: its devices come with annotations, which a claim cannot pass on; it cannot be offered by a driver"
    )]
    Annotations(ResourceName),
    /// The file could not be made.
    #[error(transparent)]
    File(#[from] Unwritten),
    /// What it has is not in a file today.
    #[error("{0}: {1}")]
    NoFile(Consumer, String),
}

#[cfg(test)]
mod tests;
