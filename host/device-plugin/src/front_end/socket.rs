//! Names of the front end's sockets: a new one for every incarnation, and recognisable after a crash.
//!
//! The kubelet up to 1.36 confuses two registrations of one resource, and from 1.37 tells them apart by their sockets'
//! paths; so no path is ever used twice. Other files in the directory are not touched.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use devgate_kubelet::left_behind::{self, LeftBehind, is_dead};
use devgate_kubelet::transport::LONGEST_SOCKET_PATH;
use devgate_types::ResourceName;

const PREFIX: &str = "devgate-";
const SUFFIX: &str = ".sock";
/// The longest file name that fits beside the kubelet's own directory.
const LONGEST_NAME: usize = 75;
/// Prefix, suffix and the incarnation's 16 digits: what a name needs at least.
const SHORTEST_NAME: usize = PREFIX.len() + 16 + SUFFIX.len();
static INCARNATION: AtomicU64 = AtomicU64::new(0);

/// A path for the next incarnation of a resource: `<dir>/devgate-vendor.com_gpu-<16 hex digits>.sock`, the resource cut
/// to what fits, in `[A-Za-z0-9._-]` and at most 75 bytes, because the kubelet parses the path as a URL. `None` where
/// the directory's path leaves no room.
pub(crate) fn next_path(dir: &Path, resource: &ResourceName) -> Option<PathBuf> {
    let room = room(dir)?;
    let slug: String = resource.as_str().replace('/', "_");
    let slug = slug.get(..slug.len().min((room - SHORTEST_NAME).saturating_sub(1))).unwrap_or_default();
    let dash = if slug.is_empty() { "" } else { "-" };
    // The time tells apart processes (a container's process id is the same each time), the counter incarnations.
    let micros = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros();
    let time = micros & 0xffff_ffff_ffff;
    let count = INCARNATION.fetch_add(1, Ordering::Relaxed) & 0xffff;
    Some(dir.join(format!("{PREFIX}{slug}{dash}{time:012x}{count:04x}{SUFFIX}")))
}

/// A socket of another devgate for the same resource.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sibling {
    pub(crate) path: PathBuf,
    /// Whether it was made after ours, so that the kubelet took it in our place.
    pub(crate) newer: bool,
}

/// The sockets in `dir` for `resource` beside the one with the name `own`. None where the directory's path leaves no room
/// for the whole resource in a name, so that those of two resources look the same.
pub(crate) fn siblings(dir: &Path, resource: &ResourceName, own: &str) -> Vec<Sibling> {
    let prefix = format!("{PREFIX}{}-", resource.as_str().replace('/', "_"));
    let Some(ours) = own.strip_prefix(&prefix).and_then(incarnation) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let others = entries.filter_map(|entry| {
        let name = entry.file_name();
        let theirs = incarnation(name.to_str()?.strip_prefix(&prefix)?)?;
        (theirs != ours).then(|| Sibling { path: entry.path(), newer: theirs > ours })
    });
    others.collect()
}

/// How long a socket's name may be in `dir`, or nothing where it would be too short.
pub(crate) fn room(dir: &Path) -> Option<usize> {
    let room = LONGEST_SOCKET_PATH.checked_sub(dir.as_os_str().len() + 1)?;
    (room >= SHORTEST_NAME).then_some(room.min(LONGEST_NAME))
}

/// The longest path of a kubelet directory in which sockets have room.
pub(crate) const LONGEST_DIR: usize = LONGEST_SOCKET_PATH - 1 - SHORTEST_NAME;

/// Removes the sockets that earlier runs left behind: those with a name of ours that no process listens on. One that
/// answers belongs to another devgate, such as the old one of a rolling update.
pub(crate) async fn sweep(dir: &Path) {
    for path in sockets(dir, is_ours).unwrap_or_default() {
        if is_dead(&path).await {
            let shown = path.display();
            match std::fs::remove_file(&path) {
                Ok(()) => tracing::info!("socket {shown}: left behind by an earlier run, removed"),
                Err(error) => tracing::warn!("socket {shown}: left behind by an earlier run, not removed: {error}"),
            }
        }
    }
}

/// The sockets in a directory that have such a name, sorted.
fn sockets(dir: &Path, is_named: fn(&OsStr) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = left_behind::sockets(dir)?;
    found.retain(|path| path.file_name().is_some_and(is_named));
    Ok(found)
}

/// The sockets in the kubelet's directory that this program made, by their names. Nothing is changed. Fails where the directory cannot be
/// read. One that is not there has none.
pub async fn left_behind(dir: &Path) -> io::Result<LeftBehind> {
    Ok(LeftBehind::of(sockets(dir, is_of_incarnation)?).await)
}

/// Whether a file's name is exactly one that [`next_path`] makes.
fn is_of_incarnation(name: &OsStr) -> bool {
    let name = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    name.is_some_and(|name| incarnation(name.rsplit('-').next().unwrap_or_default()).is_some())
}

/// The incarnation's digits, where these and the end are all that a name has.
fn incarnation(rest: &str) -> Option<&str> {
    let digits = rest.strip_suffix(SUFFIX)?;
    (digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit())).then_some(digits)
}

/// Whether a file's name is one that this program gives.
pub(crate) fn is_ours(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_kubelet::transport::bind;

    fn resource(name: &str) -> ResourceName {
        ResourceName::try_new(name).unwrap()
    }

    #[test]
    fn names_are_new_each_time_and_safe_in_a_url() {
        let dir = Path::new("/var/lib/kubelet/device-plugins");
        let long = format!("{}.com/{}", "v".repeat(60), "x".repeat(63));
        for name in ["vendor.com/gpu", long.as_str()] {
            let (a, b) = (next_path(dir, &resource(name)).unwrap(), next_path(dir, &resource(name)).unwrap());
            assert_ne!(a, b);
            let file = a.file_name().unwrap().to_str().unwrap();
            assert!(file.len() <= LONGEST_NAME && a.as_os_str().len() <= LONGEST_SOCKET_PATH, "{file}");
            assert!(file.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)), "{file}");
        }
        let file = next_path(dir, &resource("vendor.com/gpu")).unwrap();
        assert!(file.file_name().unwrap().to_str().unwrap().starts_with("devgate-vendor.com_gpu-"));
    }

    #[test]
    fn siblings_are_of_the_same_resource_and_older_or_newer() {
        let dir = tempfile::tempdir().unwrap();
        let gpu = resource("vendor.com/gpu");
        let name = |slug: &str, n: u64| format!("devgate-{slug}-{n:016x}.sock");
        let (older, own, newer) = (name("vendor.com_gpu", 1), name("vendor.com_gpu", 2), name("vendor.com_gpu", 3));
        let others = [name("vendor.com_gpu-x", 4), name("vendor.com_nic", 4), "kubelet.sock".to_owned()];
        for file in [&older, &own, &newer].into_iter().chain(&others) {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let mut found = siblings(dir.path(), &gpu, &own);
        found.sort_by_key(|sibling| sibling.newer);
        let sibling = |file: &str, newer| Sibling { path: dir.path().join(file), newer };
        assert_eq!(found, [sibling(&older, false), sibling(&newer, true)]);
        assert_eq!(siblings(dir.path(), &gpu, "devgate-vendor.com_g-0000000000000002.sock"), []);
    }

    #[test]
    fn a_directory_is_short_enough_or_has_no_room() {
        let dir = |n: usize| PathBuf::from("/".to_owned() + &"d".repeat(n - 1));
        let longest = next_path(&dir(LONGEST_DIR), &resource("vendor.com/gpu")).unwrap();
        assert_eq!(longest.as_os_str().len(), LONGEST_SOCKET_PATH);
        assert_eq!(next_path(&dir(LONGEST_DIR + 1), &resource("vendor.com/gpu")), None);
        assert_eq!(room(&dir(200)), None);
    }

    #[tokio::test]
    async fn what_is_left_behind_has_our_name_whole_and_is_a_socket() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let own = |slug: &str| next_path(dir.path(), &resource(slug)).unwrap();
        let (dead, alive, file) = (own("a.com/dead"), own("a.com/alive"), own("a.com/file"));
        drop(bind(&dead).unwrap());
        let _alive = bind(&alive).unwrap();
        std::fs::write(file, "a file").unwrap();
        for other in ["devgate-a-1.sock", "devgate-x-0123456789abcde.sock", "x.sock", "kubelet.sock"] {
            drop(bind(&at(other)).unwrap());
        }
        std::os::unix::fs::symlink(at("x.sock"), own("a.com/link")).unwrap();
        let found = left_behind(dir.path()).await.unwrap();
        assert_eq!(found, LeftBehind { dead: vec![dead], alive: vec![alive] });
        assert_eq!(left_behind(&at("not-there")).await.unwrap(), LeftBehind::default());
        assert!(left_behind(&at("x.sock")).await.is_err());
    }

    #[tokio::test]
    async fn only_our_own_dead_sockets_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for dead in ["devgate-a-1.sock", "other.sock", "kubelet.sock"] {
            drop(bind(&at(dead)).unwrap());
        }
        let _alive = bind(&at("devgate-b-2.sock")).unwrap();
        std::fs::write(at("devgate-c-3.sock"), "a file").unwrap();
        std::fs::write(at("kubelet_internal_checkpoint"), "{}").unwrap();
        sweep(dir.path()).await;
        let mut left: Vec<_> =
            std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(
            left,
            ["devgate-b-2.sock", "devgate-c-3.sock", "kubelet.sock", "kubelet_internal_checkpoint", "other.sock"]
        );
    }
}
