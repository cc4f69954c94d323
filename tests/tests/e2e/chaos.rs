//! A minute of the kubelet from hell: one plan that is the same each time, and one that is new each time.

use devgate_fake_kubelet::KubeletVersion;
use devgate_tests::chaos::{Mix, Options, Plan, run};
use std::time::{Duration, SystemTime};

/// How long each plan goes on, calms not counted that begin before.
const TIME: Duration = Duration::from_secs(25);

async fn survives(seed: u64, minor: u32) {
    println!(
        "seed {seed}, kubelet 1.{minor}; the same again: cargo xtask soak --seed {seed} --short --kubelet {minor}"
    );
    let options = Options {
        version: KubeletVersion::minor(minor),
        steps: 1..=usize::MAX,
        time: TIME,
        told: Box::new(|n, step| println!("{n:>5} |{step}")),
        progress: Box::new(|line| println!("{line}")),
    };
    match run(Plan::of_seed(seed, Mix::Short), options).await {
        Ok(report) => println!("{report}"),
        Err(broken) => panic!("seed {seed}, kubelet 1.{minor}: {broken}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_of_a_known_seed_leaves_nothing_broken() {
    survives(1, 36).await;
}

/// The seed is in the output of a test that fails. `DEVGATE_CHAOS_SEED` names it the next time.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_is_new_each_time_leaves_nothing_broken() {
    let seed = match std::env::var("DEVGATE_CHAOS_SEED") {
        Ok(seed) => seed.parse().expect("DEVGATE_CHAOS_SEED is a number"),
        Err(_) => {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            u64::from(now.subsec_nanos())
        }
    };
    survives(seed, [26, 32, 37][usize::try_from(seed % 3).unwrap()]).await;
}
