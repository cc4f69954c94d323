//! What runtimes call a device: its kind, its name, and the file that says what it is.

use crate::PREFIX;
use crate::spec::is_device_name;
use devgate_core::{AllocationId, Consumer};
use devgate_types::{ResourceName, escape};
use sha2::{Digest, Sha256};
use std::fmt;

/// What the vendor of each kind begins with: a vendor's own kinds (`vendor.com/gpu`) are written by the vendor's own tools.
pub(crate) const OURS: &str = "devgate.";
/// The class of claims' devices, which no resource's is.
const CLAIMS: &str = "claim";
/// What a class begins with that could not stay as it was.
const ALTERED: &str = "r-";
/// How much of it stays: with what comes before and after, a class has at most 63 characters.
const MAX_ALTERED: usize = 54;
/// The longest name of a file that Linux takes, in bytes (`NAME_MAX`).
const LONGEST_FILE: usize = 255;
/// The longest name of a lease, in bytes.
const LONGEST_LEASE: usize = 63;

/// A kind of devices, one per resource: `devgate.vendor.com/gpu` for `vendor.com/gpu`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    vendor: String,
    class: String,
}

impl Kind {
    /// The kind of a resource's devices. No two resources have the same.
    ///
    /// A class has only letters, digits, `_` and `-`, a letter first and two characters at least: dots are for readers of 0.6.0 and
    /// newer, and a class of one letter ends every program with a released library (1.1.0 included). What cannot stay has its digest.
    #[must_use]
    pub fn of(resource: &ResourceName) -> Self {
        let (domain, name) = resource.as_str().split_once('/').unwrap_or_default();
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        let starts = name.len() > 1 && name != CLAIMS && name.starts_with(|first: char| first.is_ascii_alphabetic());
        let class = plain(name, starts, is_plain, MAX_ALTERED);
        let vendor = format!("{OURS}{domain}");
        Self { vendor, class }
    }

    /// The kind of the devices of a driver's claims.
    pub(crate) fn of_claims(driver: &str) -> Self {
        Self { vendor: format!("{OURS}{driver}"), class: CLAIMS.to_owned() }
    }

    /// The name by which a container asks for a device of this kind.
    #[must_use]
    pub fn device(&self, name: &str) -> String {
        format!("{self}={name}")
    }

    /// The name of the file that says what the device is. No two devices have the same: neither `=` nor, in a vendor, `_` can be in
    /// what it is made of.
    #[must_use]
    pub fn file(&self, name: &str) -> String {
        let domain = self.vendor.strip_prefix(OURS).unwrap_or_default();
        file_name(PREFIX, &format!("{domain}_{}={name}", self.class))
    }

    /// The name of a file with all units of a resource. No lease's file has it.
    #[must_use]
    pub fn generated_file(&self) -> String {
        file_name("units-", &format!("{}_{}", self.vendor, self.class))
    }
}

fn file_name(prefix: &str, of: &str) -> String {
    let file = format!("{prefix}{of}.json");
    if file.len() <= LONGEST_FILE {
        return file;
    }
    format!("{prefix}{}.json", digest(&file, 64))
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.vendor, self.class)
    }
}

/// The first hexadecimal digits of a text's SHA-256: what stands for it in names.
#[must_use]
pub fn digest(text: &str, digits: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.chars().take(digits).collect()
}

/// What the names of units begin with, where a file has all of a resource.
const UNIT: &str = "unit:";

/// What the device of a unit is called. No two units have the same name.
pub(crate) fn unit_name(id: &str) -> String {
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    let ends = id.ends_with(|last: char| last.is_ascii_alphanumeric());
    format!("{UNIT}{}", plain(id, ends, is_inner, usize::MAX))
}

/// A name as it is where it may be so; else with what is plain of it and its digest.
fn plain(name: &str, may_stay: bool, is_plain: impl Fn(u8) -> bool, most: usize) -> String {
    if may_stay && name.bytes().all(&is_plain) && !name.starts_with(ALTERED) {
        return name.to_owned();
    }
    let plain = name.bytes().map(|b| if is_plain(b) { char::from(b) } else { '-' });
    let plain: String = plain.take(most).collect();
    format!("{ALTERED}{plain}-{}", digest(name, 6))
}

/// What the names of pods' devices begin with.
const POD: &str = "pod:";

/// What the device of an allocation of pods is called. No two allocations have the same name, also where the record of earlier ones was
/// lost, unless they have the same ids: readers may take what comes back under a name for what it was.
pub(crate) fn pod_name(id: AllocationId, resource: &ResourceName, ids: &[String]) -> String {
    format!("{POD}{id}-{}", digest(&format!("{resource} {}", ids.join(" ")), 8))
}

/// What the names of claims' files begin with, where those of others have their device.
const CLAIM: &str = "claim:";

/// What says in a file's name which allocation of a claim it is of.
pub(crate) fn claim_name(id: AllocationId, uid: &str) -> String {
    format!("{CLAIM}{id}-{uid}")
}

/// Whether a file may be that of a pod's device, by itself or by a claim; one whose name was too long says nothing of that.
pub(crate) fn may_be_pods(file: &str) -> bool {
    file.split_once('=').is_none_or(|(_, device)| device.starts_with(POD) || device.starts_with(CLAIM))
}

/// Whether a file may be of what one who is shown so has.
pub(crate) fn may_be_of(file: &str, id: u64, consumer: &str) -> bool {
    let Some((_, device)) = file.split_once('=') else {
        return true;
    };
    let name = device.strip_suffix(".json").unwrap_or(device).to_owned();
    match device.strip_prefix(POD).or_else(|| device.strip_prefix(CLAIM)) {
        Some(of) => of.split_once('-').is_some_and(|(of, _)| of == id.to_string()),
        None => consumer == Consumer::Lease { name }.to_string(),
    }
}

/// A text that cannot be a lease's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "lease \"{}\": must have 1 to {LONGEST_LEASE} letters, digits, \"_\", \"-\", \".\" or \":\", a letter or digit at both ends, and begin with none of \"{UNIT}\", \"{POD}\" and \"{CLAIM}\"",
    escape(.0, 80)
)]
pub struct InvalidLeaseName(String);

/// The lease that is called so; its device is, too. Fails where a device cannot be called so, or it is longer than 63 bytes.
pub(crate) fn lease_consumer(name: &str) -> Result<Consumer, InvalidLeaseName> {
    let is_ours = [UNIT, POD, CLAIM].iter().any(|ours| name.starts_with(ours));
    let name = name.to_owned();
    match is_device_name(&name) && name.len() <= LONGEST_LEASE && !is_ours {
        true => Ok(Consumer::Lease { name }),
        false => Err(InvalidLeaseName(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{LEASES, RESOURCES};
    use proptest::prelude::*;

    fn kind(resource: &str) -> Kind {
        Kind::of(&ResourceName::try_new(resource).unwrap())
    }

    #[test]
    fn a_class_stays_as_it_is_where_all_readers_take_it() {
        assert_eq!(kind("vendor.com/gpu").to_string(), "devgate.vendor.com/gpu");
        assert_eq!(kind("vendor.com/gpu").device("job1"), "devgate.vendor.com/gpu=job1");
        for (resource, class) in [
            ("vendor.com/a", "r-a-ca978112"),
            ("vendor.com/1g.5gb", "r-1g-5gb-"),
            ("vendor.com/mig-1g.5gb", "r-mig-1g-5gb-"),
            ("vendor.com/r-gpu", "r-r-gpu-"),
            ("vendor.com/claim", "r-claim-"),
        ] {
            let class = class.get(..class.len().min(10)).unwrap();
            let altered = kind(resource);
            assert!(altered.class.starts_with(class.get(..4).unwrap()), "{altered}");
            assert_eq!(altered.class.rsplit('-').next().unwrap().len(), 6, "{altered}");
        }
    }

    proptest! {
        #[test]
        fn every_resource_has_a_kind_of_its_own_that_all_readers_take(
            a in RESOURCES,
            b in "[a-z]{1,2}(\\.[ab]){0,1}/[ar]([-ar_.]{0,2}[ar])?",
            c in "[a-z]{1,2}(\\.[ab]){0,1}/[ar]([-ar_.]{0,2}[ar])?",
            lease in LEASES,
        ) {
            let Ok(a) = ResourceName::try_new(&a) else { return Ok(()) };
            let a = Kind::of(&a);
            prop_assert!(a.vendor.len() <= 253 && (2..=63).contains(&a.class.len()), "{}", a);
            prop_assert!(a.class.starts_with(|c: char| c.is_ascii_alphabetic()));
            prop_assert!(a.class.ends_with(|c: char| c.is_ascii_alphanumeric()));
            prop_assert!(a.class.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
            prop_assert!(crate::spec::problem_of_kind(&a.to_string()).is_none());
            prop_assert!(lease_consumer(&lease).is_ok());
            prop_assert!(a.file(&lease).len() <= 255 && !a.file(&lease).contains('/'));
            let (b, c) = (ResourceName::try_new(&b).unwrap(), ResourceName::try_new(&c).unwrap());
            prop_assert_eq!(b == c, Kind::of(&b) == Kind::of(&c));
            prop_assert_eq!(b == c, Kind::of(&b).file("a_b") == Kind::of(&c).file("a_b"));
        }
    }

    #[test]
    fn a_name_too_long_for_a_file_has_its_digest_in_it() {
        let long = format!("{}.com/gpu", vec!["a".repeat(50); 4].join("."));
        let (file, other) = (kind(&long).file("job1"), kind(&long).file("job2"));
        assert_eq!(file.len(), kind(&long).file("job1").len());
        let long = format!("{}.com/{}", vec!["a".repeat(50); 4].join("."), "g".repeat(60));
        let hashed = kind(&long).file("job1");
        assert_eq!(hashed.len(), PREFIX.len() + 64 + ".json".len());
        assert!(file != other && hashed != kind(&long).file("job2"));
    }

    #[test]
    fn cdi23_a_unit_is_called_as_its_id_where_that_can_be() {
        for plain in ["GPU-1234", "0000_3b.00", "a"] {
            assert_eq!(unit_name(plain), format!("unit:{plain}"));
        }
        let odd = ["0000:3b:00.0", "a@b", "a@b!", "a+b", "a-", "r-a"];
        let names: std::collections::BTreeSet<_> = odd.iter().map(|id| unit_name(id)).collect();
        assert_eq!(names.len(), odd.len(), "{names:?}");
        assert!(names.iter().all(|name| name.starts_with("unit:r-")), "{names:?}");
    }

    #[test]
    fn a_lease_is_called_as_a_device_can_be() {
        for good in ["a", "1", "job-1", "a.b:c_d", &"a".repeat(63)] {
            assert_eq!(lease_consumer(good).unwrap(), Consumer::Lease { name: good.to_owned() });
        }
        for bad in ["", "unit:a", "pod:1-a", "claim:1-a", "-a", "a-", "a b", "a/b", "a=b", "ä", "..", &"a".repeat(64)]
        {
            let error = lease_consumer(bad).unwrap_err();
            assert!(error.to_string().starts_with("lease \""), "{error}");
        }
    }
}
