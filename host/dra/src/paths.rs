//! Where a driver's sockets are: always the same, so that what a host that was killed has left is found, and kubelets that are connected
//! find a host that comes back.

use crate::config::DraError;
use devgate_cdi::digest;
use devgate_kubelet::left_behind::{LeftBehind, sockets};
use devgate_kubelet::transport::LONGEST_SOCKET_PATH;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// What the name of a registration socket ends with.
///
/// The `@` is what lets the kubelet in: it sends the whole path as `:authority`, with `%2F` for each `/`. What stands before an `@` is a
/// user's name there, where a `%` may be; without it h2 resets the call.
const REGISTRATION: &str = "@reg.sock";
/// What the name of a service socket begins with: the kubelet takes what begins with a dot for no registration socket, so that one directory
/// is enough.
const HIDDEN: &str = ".";
const SERVICE: &str = ".sock";
/// How much of a digest stands for a driver whose name does not fit.
const DIGITS: usize = 16;

/// The longest path of the kubelet's directory in which sockets have room.
const LONGEST_DIR: usize = LONGEST_SOCKET_PATH - 1 - DIGITS - REGISTRATION.len();

/// A driver's sockets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths {
    pub(crate) registration: PathBuf,
    pub(crate) service: PathBuf,
}

/// Whether every driver's sockets have room in this.
pub(crate) fn check(dir: &Path) -> Result<(), DraError> {
    let fits = dir.as_os_str().len() <= LONGEST_DIR;
    fits.then_some(()).ok_or_else(|| DraError::PathTooLong(dir.to_owned(), LONGEST_DIR))
}

impl Paths {
    pub(crate) fn new(dir: &Path, driver: &str) -> Self {
        let of = |name: &str| Self {
            registration: dir.join(format!("{name}{REGISTRATION}")),
            service: dir.join(format!("{HIDDEN}{name}{SERVICE}")),
        };
        let paths = of(driver);
        let fits = |path: &PathBuf| path.as_os_str().len() <= LONGEST_SOCKET_PATH;
        if fits(&paths.registration) && fits(&paths.service) {
            return paths;
        }
        let [_, digest] = Self::names(driver);
        of(&digest)
    }

    /// What may stand for a driver in the names of its sockets: its own name, and where that does not fit.
    fn names(driver: &str) -> [String; 2] {
        [driver.to_owned(), digest(driver, DIGITS)]
    }
}

/// What stands for a driver in this name of a registration socket, if it is one.
fn driver_of_registration(name: &str) -> Option<&str> {
    name.strip_suffix(REGISTRATION).filter(|driver| is_driver(driver))
}

/// What stands for a driver in this name of a service socket, if it is one.
fn driver_of_service(name: &str) -> Option<&str> {
    name.strip_prefix(HIDDEN)?.strip_suffix(SERVICE).filter(|driver| is_driver(driver))
}

/// Whether it has the letters that a driver's name may have.
fn is_driver(name: &str) -> bool {
    let is_alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    name.bytes().next().is_some_and(is_alphanumeric) && name.bytes().all(|b| is_alphanumeric(b) || b"-.".contains(&b))
}

/// The sockets of drivers in the kubelet's directory of plugins that hosts have made. Nothing is changed. Fails where the directory cannot
/// be read. One that is not there has none.
///
/// The directory is for drivers of all vendors, whose sockets are not touched. A registration socket is a host's by its name: others end
/// in `-reg.sock`, or in `.sock` alone, and have no `@`. The hidden socket of that name is its other half. A hidden socket alone could be
/// anybody's: it is a host's where the state directory has claims of that driver.
pub async fn left_behind(dir: &Path, drivers: &BTreeSet<String>) -> io::Result<LeftBehind> {
    let mut found = sockets(dir)?;
    let name = |path: &Path| path.file_name().and_then(OsStr::to_str).map(str::to_owned);
    let registered = found.iter().filter_map(|path| driver_of_registration(&name(path)?).map(str::to_owned));
    let known = drivers.iter().flat_map(|driver| Paths::names(driver));
    let halves: BTreeSet<String> = registered.chain(known).collect();
    found.retain(|path| {
        let Some(name) = name(path) else { return false };
        driver_of_registration(&name).is_some() || driver_of_service(&name).is_some_and(|half| halves.contains(half))
    });
    Ok(LeftBehind::of(found).await)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn root(len: usize) -> PathBuf {
        PathBuf::from(format!("/{}", "d".repeat(len - 1)))
    }

    #[test]
    fn any_driver_fits_where_the_kubelet_usually_is() {
        let longest = "d".repeat(63);
        let paths = Paths::new(Path::new("/var/lib/kubelet/plugins_registry"), &longest);
        assert_eq!(
            paths.registration.to_str().unwrap(),
            format!("/var/lib/kubelet/plugins_registry/{longest}@reg.sock")
        );
        assert_eq!(paths.service.to_str().unwrap(), format!("/var/lib/kubelet/plugins_registry/.{longest}.sock"));
    }

    #[test]
    fn dra10_what_does_not_fit_has_a_digest_and_where_that_does_not_it_is_said() {
        let (root, other) = (root(LONGEST_DIR), root(LONGEST_DIR + 1));
        assert_eq!(check(&root), Ok(()));
        let of = |n: usize| Paths::new(&root, &format!("{}{n}.example.com", "d".repeat(40)));
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_eq!(of(1).registration.as_os_str().len(), LONGEST_SOCKET_PATH);
        assert!(of(1).service.as_os_str().len() <= LONGEST_SOCKET_PATH);
        let error = check(&other).unwrap_err().to_string();
        assert!(error.ends_with("mount it at a path of at most 81 bytes"), "{error}");
    }

    #[tokio::test]
    async fn only_what_is_surely_a_host_s_and_dead_is_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let longest = "d".repeat(63);
        let digest = Paths::names(&longest)[1].clone();
        let (registration, service, known) =
            ("gpu.vendor.com@reg.sock", ".gpu.vendor.com.sock", ".known.example.com.sock");
        let lone = "nic.vendor.com@reg.sock";
        let by_digest = format!(".{digest}.sock");
        for name in [registration, service, lone, known, &by_digest] {
            drop(UnixListener::bind(at(name)).unwrap());
        }
        let others = [
            ".other.example.com.sock",
            "other.example.com-reg.sock",
            "csi.sock",
            "@reg.sock",
            "A b@reg.sock",
            "..sock",
        ];
        for name in others {
            drop(UnixListener::bind(at(name)).unwrap());
        }
        std::fs::write(at("file@reg.sock"), "").unwrap();
        std::os::unix::fs::symlink(at("csi.sock"), at("link@reg.sock")).unwrap();
        let drivers = ["known.example.com".to_owned(), longest].into();
        let found = left_behind(dir.path(), &drivers).await.unwrap();
        let mut dead = [registration, service, known, lone, &by_digest].map(at);
        dead.sort();
        assert_eq!(found, LeftBehind { dead: dead.to_vec(), alive: Vec::new() });

        // Either half that is alive is a host's that serves.
        std::fs::remove_file(at(service)).unwrap();
        let _alive = UnixListener::bind(at(service)).unwrap();
        let found = left_behind(dir.path(), &BTreeSet::new()).await.unwrap();
        assert_eq!(found, LeftBehind { dead: vec![at(registration), at(lone)], alive: vec![at(service)] });
        assert_eq!(left_behind(&at("not-there"), &drivers).await.unwrap(), LeftBehind::default());
        assert!(left_behind(&at("csi.sock"), &drivers).await.is_err());
    }
}
