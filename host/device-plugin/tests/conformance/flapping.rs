//! Lines 54 and 55 under stress: restarts and lost connections at any moment of a registration. Nothing here may depend
//! on the wait for a stream that does not come, which is the last resort.

use std::time::Duration;

use devgate_device_plugin::FrontEndConfig;
use devgate_fake_kubelet::{Answer, StandIn, StandInConfig};

use crate::fake::Fake;
use crate::harness::{GPU, Host, LONG, Logged, Pair, eventually, quick, registrations};

/// Pseudo-random numbers, the same each time (Numerical Recipes' constants).
struct Seeded(u32);

impl Seeded {
    fn below(&mut self, bound: u32) -> u64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u64::from((self.0 >> 8) % bound)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c54_a_restart_at_any_moment_of_a_registration_loses_nothing() {
    let runs = (0..4u32).map(|seed| tokio::spawn(flap(seed)));
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
}

async fn flap(seed: u32) {
    let mut seeded = Seeded(seed);
    let pair = Pair::with(
        &[&Fake::new(GPU, &["a"])],
        // A registration that is lost unnoticed is lost for good then.
        |config| {
            config.stream_wait = LONG * 100;
        },
        |_| {},
    )
    .await;
    for round in 0..60 {
        for _ in 0..=seeded.below(3) {
            pair.kubelet.restart().await.unwrap();
            tokio::time::sleep(Duration::from_micros(seeded.below(6_000))).await;
        }
        if let Err(error) = pair.kubelet.wait_for(LONG, served).await {
            let text = error.to_string();
            let lines: Vec<_> = text.lines().collect();
            panic!(
                "seed {seed}, round {round}: lost; the last events:\n{}",
                lines[lines.len().saturating_sub(25)..].join("\n")
            );
        }
    }
}

fn served(kubelet: &StandIn) -> bool {
    kubelet.allocatable(GPU) == Some(1) && kubelet.streams(GPU).len() == 1
}

/// A restart deletes our socket first and makes the kubelet's last: the wait that is meant for those who delete our socket
/// again and again is not for a kubelet, however long it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c49_a_restarted_kubelet_is_not_kept_waiting() {
    let pair = Pair::with(
        &[&Fake::new(GPU, &["a"])],
        |config| (config.retry, config.retry_most) = (LONG * 10, LONG * 10),
        |_| {},
    )
    .await;
    for _ in 0..60 {
        pair.kubelet.restart().await.unwrap();
        pair.kubelet.wait_for(LONG, served).await.unwrap();
    }
}

/// The same, with what the kubelet does in between shown for certain.
#[tokio::test]
async fn c49_a_kubelet_that_comes_while_a_lost_socket_waits_is_not_kept_waiting() {
    let logged = Logged::start();
    let slowly = |config: &mut FrontEndConfig| (config.retry, config.retry_most) = (LONG * 10, LONG * 10);
    let pair = Pair::with(&[&Fake::new(GPU, &["a"])], slowly, |_| {}).await;
    std::fs::remove_file(pair.socket(GPU)).unwrap();
    eventually("noticed", || logged.has("its socket is gone")).await;
    pair.kubelet.restart().await.unwrap();
    pair.kubelet.wait_for(LONG, served).await.unwrap();
}

#[tokio::test]
async fn c55_a_registration_whose_connection_ends_before_its_stream_is_made_again() {
    let temp = tempfile::tempdir().unwrap();
    let kubelet = StandIn::new(StandInConfig::new(temp.path().to_path_buf())).await.unwrap();
    kubelet.answer(Answer::HangUp);
    let mut config = quick(temp.path());
    config.stream_wait = LONG * 100;
    let _host = Host::start(config, &[&Fake::new(GPU, &["a"])]);
    let again = kubelet.wait_for(LONG, |kubelet| registrations(kubelet, GPU) >= 3);
    again.await.unwrap();
    assert_eq!(kubelet.capacity(GPU), None);
    kubelet.answer(Answer::Real);
    kubelet.wait_for(LONG, served).await.unwrap();
}
