//! Lines 49 to 60: restarts of either side, and the end.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use devgate_device_plugin::{FrontEndConfig, FrontEndError, FrontEndWatch};
use devgate_fake_kubelet::{KubeletVersion, Pod, StandIn, StandInConfig};

use crate::fake::Fake;
use crate::harness::{
    GPU, Host, LONG, Logged, NIC, Pair, allocate_request, endpoints, eventually, quick, registrations,
};

fn advertised(kubelet: &StandIn) -> bool {
    kubelet.allocatable(GPU) == Some(1) && kubelet.streams(GPU).len() == 1
}

#[tokio::test]
async fn c49_after_a_kubelet_restart_devices_are_advertised_again_within_5_s() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::new(&[&fake]).await;
    pair.kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
    let before = pair.kubelet.start_container("pod", "main").await.unwrap();
    // A machine that stands still for a moment does so now and then, and not each time.
    let mut fastest = LONG;
    for _ in 0..5 {
        pair.kubelet.restart().await.unwrap();
        let start = Instant::now();
        pair.until(advertised).await;
        fastest = fastest.min(start.elapsed());
        if fastest < Duration::from_secs(5) {
            break;
        }
    }
    assert!(fastest < Duration::from_secs(5), "the fastest of five took {fastest:?}");
    // The kubelet remembers who has what, and does not ask again.
    assert_eq!(pair.kubelet.start_container("pod", "main").await.unwrap(), before);
    assert_eq!(fake.calls().len(), 1);
    assert!(pair.kubelet.admit(&Pod::new("other", &[(GPU, 1)])).await.is_err());
    pair.kubelet.remove("pod");
    pair.kubelet.admit(&Pod::new("next", &[(GPU, 1)])).await.unwrap();
}

#[tokio::test]
async fn c50_a_new_kubelet_socket_without_the_wipe_is_noticed() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    pair.kubelet.recreate_socket().await.unwrap();
    pair.until_registered(GPU, 2).await;
    pair.until(advertised).await;
}

#[tokio::test]
async fn c51_its_own_socket_is_made_again_when_it_is_gone() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    std::fs::remove_file(pair.socket(GPU)).unwrap();
    pair.until_registered(GPU, 2).await;
    pair.until(advertised).await;
    assert!(pair.socket(GPU).exists());
}

/// A program that deletes it again and again makes no host spin: each time, it takes twice as long.
#[tokio::test]
async fn c51_its_own_socket_is_made_again_ever_later_where_it_goes_again_and_again() {
    let first = Duration::from_millis(10);
    let slowly = |config: &mut FrontEndConfig| (config.retry, config.retry_most) = (first, LONG * 10);
    let pair = Pair::with(&[&Fake::new(GPU, &["a"])], slowly, |_| {}).await;
    let begun = Instant::now();
    for times in 2..=8 {
        std::fs::remove_file(pair.socket(GPU)).unwrap();
        pair.until_registered(GPU, times).await;
    }
    // 10 ms, 20 ms, 40 ms, … seven times, and more by chance.
    assert!(begun.elapsed() >= first * 127, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn c52_without_inotify_and_with_the_directory_made_anew() {
    for inotify in [true, false] {
        let pair = Pair::with(&[&Fake::new(GPU, &["a"])], |config| config.inotify = inotify, |_| {}).await;
        pair.kubelet.restart().await.unwrap();
        pair.until_registered(GPU, 2).await;
        std::fs::remove_file(pair.socket(GPU)).unwrap();
        pair.until_registered(GPU, 3).await;
        pair.kubelet.crash().await;
        // Away in one step: the host may make a socket between a removal's.
        std::fs::rename(&pair.dir, pair.dir.with_extension("away")).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        pair.kubelet.start().await.unwrap();
        pair.until_registered(GPU, 4).await;
        pair.until(advertised).await;
    }
}

#[tokio::test]
async fn c53_a_kubelet_that_stays_away_is_neither_stormed_nor_mourned() {
    let logged = Logged::start();
    let watch = FrontEndWatch::default();
    let watched = |config: &mut FrontEndConfig| config.watch = watch.clone();
    let pair = Pair::with(&[&Fake::new(GPU, &["a"])], watched, |_| {}).await;
    pair.kubelet.crash().await;
    let before = logged.lines().len();
    // Delays of 5 to 200 ms: dozens of attempts, in place of an hour's. Each begins and ends a phase.
    let (begun, mut phases) = (Instant::now(), BTreeSet::new());
    while begun.elapsed() < Duration::from_millis(1_500) {
        phases.insert(watch.status()[0].since);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let most = 2 * (15 + begun.elapsed().as_millis() / 100);
    assert!(phases.len() as u128 <= most, "{} in {:?}", phases.len(), begun.elapsed());
    let lines = logged.lines().split_off(before);
    assert!(lines.len() <= 4, "{lines:#?}");
    assert!(logged.has("kubelet does not answer: connection refused"), "{:#?}", logged.lines());
    pair.kubelet.start().await.unwrap();
    pair.until(advertised).await;
}

/// However many resources notice that it went and is back.
#[tokio::test]
async fn c53_a_kubelets_restart_is_one_line_that_it_went_and_one_that_it_is_back() {
    let logged = Logged::start();
    let pair = Pair::new(&[&Fake::new(GPU, &["a"]), &Fake::new(NIC, &["b"])]).await;
    for n in 2..5 {
        let before = logged.lines().len();
        pair.kubelet.restart().await.unwrap();
        pair.until_registered(GPU, n).await;
        pair.until_registered(NIC, n).await;
        // The kubelet has its stream before the answer to the registration is read.
        eventually("both are said", || logged.lines().len() >= before + 2).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let lines = logged.lines().split_off(before);
        assert_eq!(lines.len(), 2, "{lines:#?}");
        let quiet = |line: &String| line.contains(" INFO ") && line.contains("kubelet: ");
        assert!(lines.iter().all(quiet), "{lines:#?}");
    }
}

#[tokio::test]
async fn c54_a_flapping_kubelet_ends_with_one_registration_for_each_resource() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"]), &Fake::new(NIC, &["b"])]).await;
    for n in 0..10 {
        pair.kubelet.restart().await.unwrap();
        tokio::time::sleep(Duration::from_millis(n * 7)).await;
    }
    let one_each = |kubelet: &StandIn| {
        let live = |name: &str| kubelet.streams(name).len() == 1 && kubelet.allocatable(name) == Some(1);
        live(GPU) && live(NIC)
    };
    pair.until(one_each).await;
    let settled = (registrations(&pair.kubelet, GPU), registrations(&pair.kubelet, NIC));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(one_each(&pair.kubelet));
    assert_eq!((registrations(&pair.kubelet, GPU), registrations(&pair.kubelet, NIC)), settled);
    let sockets = pair.kubelet.files().into_iter().filter(|name| name.starts_with("devgate-"));
    assert_eq!(sockets.count(), 2);
}

#[tokio::test]
async fn c55_a_registration_that_the_kubelet_drops_by_mistake_is_made_again_and_stays() {
    // An older plugin of the same resource: when its stream ends, this kubelet ends the newer one's.
    let Pair { kubelet, host: old, dir, temp: _temp } = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    let _new = Host::start(quick(&dir), &[&Fake::new(GPU, &["a"])]);
    let registered = |times| move |kubelet: &StandIn| registrations(kubelet, GPU) >= times;
    kubelet.wait_for(LONG, registered(2)).await.unwrap();
    old.stop().await.unwrap();
    kubelet.wait_for(LONG, registered(3)).await.unwrap();
    // And once more without any reason.
    kubelet.drop_streams(GPU);
    kubelet.wait_for(LONG, registered(4)).await.unwrap();
    kubelet.wait_for(LONG, advertised).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(advertised(&kubelet));
    assert_eq!(registrations(&kubelet, GPU), 4);
}

#[tokio::test]
async fn c56_a_call_in_flight_finishes_at_shutdown_and_everything_is_cleaned_up() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::new(&[&fake]).await;
    fake.close_gate();
    let kubelet = pair.kubelet.clone();
    let admitted = tokio::spawn(async move { kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await });
    eventually("call in flight", || fake.inside() == 1).await;
    let socket = pair.socket(GPU);
    pair.host.terminate();
    eventually("no new connections", || std::os::unix::net::UnixStream::connect(&socket).is_err()).await;
    fake.open_gate();
    admitted.await.unwrap().unwrap();
    assert_eq!(pair.host.stop().await, Ok(()));
    assert!(!socket.exists());
}

#[tokio::test]
async fn c56_a_call_that_does_not_end_holds_shutdown_up_only_so_long() {
    let fake = Fake::new(GPU, &["a"]);
    let short = |config: &mut FrontEndConfig| {
        config.drain = Duration::from_millis(200);
        config.allocate_timeout = LONG * 10;
    };
    let pair = Pair::with(&[&fake], short, |_| {}).await;
    fake.close_gate();
    let mut client = pair.client(GPU).await;
    let hung = tokio::spawn(async move { client.allocate(allocate_request(&[&["a"]])).await });
    eventually("call in flight", || fake.inside() == 1).await;
    assert_eq!(pair.host.stop().await, Ok(()));
    assert!(tokio::time::timeout(LONG, hung).await.unwrap().unwrap().is_err());
}

#[tokio::test]
async fn c57_a_socket_left_by_a_crash_is_no_obstacle() {
    let temp = tempfile::tempdir().unwrap();
    let kubelet = StandIn::new(StandInConfig::new(temp.path().to_path_buf())).await.unwrap();
    let left = "devgate-vendor.com_gpu-0123456789abcdef.sock";
    drop(UnixListener::bind(temp.path().join(left)).unwrap());
    let _host = Host::start(quick(temp.path()), &[&Fake::new(GPU, &["a"])]);
    kubelet.wait_for(LONG, advertised).await.unwrap();
    assert!(!kubelet.files().contains(&left.to_owned()));
}

#[tokio::test]
async fn c58_in_a_rolling_update_the_new_instance_ends_up_serving() {
    for version in [KubeletVersion::OLDEST, KubeletVersion::CONFUSED, KubeletVersion::NEWEST] {
        let pair = Pair::with(&[&Fake::new(GPU, &["a"])], |_| {}, |config| config.version = version).await;
        let fake = Fake::new(GPU, &["a"]);
        let new = Host::start(quick(&pair.dir), &[&fake]);
        pair.until_registered_at_least(GPU, 2).await;
        let Pair { kubelet, host, dir: _dir, temp: _temp } = pair;
        host.stop().await.unwrap();
        kubelet.wait_for(LONG, advertised).await.unwrap();
        kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
        assert_eq!(fake.calls().len(), 1, "{version:?}");
        if version == KubeletVersion::NEWEST {
            assert_eq!(registrations(&kubelet, GPU), 2, "taken over without a gap");
        }
        new.stop().await.unwrap();
    }
}

/// The one that registered last leaves: its stream's end is not the end of the other's, and the other is not told.
#[tokio::test]
async fn c58_the_old_instance_serves_again_when_the_new_one_leaves() {
    for version in [KubeletVersion::OLDEST, KubeletVersion::CONFUSED, KubeletVersion::NEWEST] {
        let fake = Fake::new(GPU, &["a"]);
        let pair = Pair::with(&[&fake], |_| {}, |config| config.version = version).await;
        let new = Host::start(quick(&pair.dir), &[&Fake::new(GPU, &["a"])]);
        pair.until_registered_at_least(GPU, 2).await;
        new.stop().await.unwrap();
        let before = registrations(&pair.kubelet, GPU);
        pair.until_registered(GPU, before.max(3)).await;
        pair.until(advertised).await;
        pair.kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
        assert_eq!(fake.calls().len(), 1, "{version:?}");
        pair.host.stop().await.unwrap();
    }
}

/// The same where it was killed: its socket stays, and no process listens on it.
#[tokio::test]
async fn c58_the_socket_of_a_killed_instance_is_removed_and_its_place_taken() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    let left_behind = pair.dir.join("devgate-vendor.com_gpu-ffffffffffff0000.sock");
    drop(std::os::unix::net::UnixListener::bind(&left_behind).unwrap());
    pair.until_registered(GPU, 2).await;
    pair.until(advertised).await;
    assert!(!left_behind.exists());
}

#[tokio::test]
async fn c59_the_directory_may_be_anywhere_that_a_socket_fits() {
    let temp = tempfile::tempdir().unwrap();
    let longest = temp.path().join("d".repeat(77 - temp.path().as_os_str().len() - 1));
    let kubelet = StandIn::new(StandInConfig::new(longest.clone())).await.unwrap();
    let host = Host::start(quick(&longest), &[&Fake::new(GPU, &["a"])]);
    kubelet.wait_for(LONG, advertised).await.unwrap();
    let socket = longest.join(endpoints(&kubelet, GPU).pop().unwrap());
    assert!(socket.as_os_str().len() <= 107, "{}", socket.display());
    host.stop().await.unwrap();
    let too_long = PathBuf::from(format!("{}d", longest.display()));
    let host = Host::start(quick(&too_long), &[]);
    assert_eq!(host.stop().await, Err(FrontEndError::PathTooLong(too_long)));
}

#[tokio::test]
async fn c60_the_socket_is_for_its_user_alone() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    let mode = std::fs::metadata(pair.socket(GPU)).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    std::os::unix::net::UnixStream::connect(pair.socket(GPU)).unwrap();
}
