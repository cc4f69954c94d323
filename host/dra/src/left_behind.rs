//! What a host that was killed has left in the kubelet's directory of plugins.

use crate::paths::{Paths, driver_of_registration, driver_of_service};
use devgate_kubelet::left_behind::{LeftBehind, sockets};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

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
