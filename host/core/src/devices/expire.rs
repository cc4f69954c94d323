//! What is over by itself.

use super::AllDevices;
use std::sync::Arc;
use std::time::Duration;

/// The longest time that nothing is looked at: a machine that slept was not counted by timers.
const AT_LEAST_EVERY: Duration = Duration::from_secs(60);
/// What a component may take before the next one's turn.
const BOUND: Duration = Duration::from_secs(60);

/// Releases what is over by itself, for as long as it is polled.
pub(crate) async fn expire(devices: Arc<AllDevices>) {
    loop {
        let (over, next) = devices.allocations.expired();
        for who in over {
            let _turn = devices.busy.lock(std::slice::from_ref(&who)).await;
            // It may have been renewed meanwhile.
            if devices.allocations.expired().0.contains(&who) {
                tracing::info!(target: "audit", event = "expire", consumer = %who, "{who}: its time is over");
                devices.let_go(&who, BOUND).await;
            }
        }
        let pause = next.unwrap_or(AT_LEAST_EVERY).min(AT_LEAST_EVERY);
        // What has just come to its end takes its turn at once.
        let pause = pause.max(Duration::from_millis(1));
        let _ = tokio::time::timeout(pause, devices.allocations.renewed()).await;
    }
}
