//! Whether the kubelet is just having devices allocated.
//!
//! It must not be asked for pods' devices then. Each `List` lets it forget the pods that have ended, for which it makes its set of allocated
//! devices anew from what it has noted of pods; what an `Allocate` that is under way is about has not been noted yet, and the kubelet gives it
//! to the next pod as well ([kubernetes#137534](https://github.com/kubernetes/kubernetes/pull/137534), in all versions up to 1.36).

use devgate_kubelet::gauge::{Count, Counted, Gauge};
use std::time::Duration;
use tokio::time::timeout;

/// How long after an answer the kubelet may take to note it: it has the answer at once, and holds nothing else up meanwhile.
const NOTED: Duration = Duration::from_millis(50);

/// The calls of `Allocate`, of all resources. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Allocating(Gauge);

impl Allocating {
    /// One more, until it is dropped.
    pub(crate) fn begin(&self) -> Counted {
        self.0.count()
    }

    /// Waits until none is under way and the last one is noted, but no longer than `most`: a reclaimer that never knows what has ended frees
    /// nothing. `known` is how many there had been when it was so before.
    pub(crate) async fn pause(&self, known: &mut u64, most: Duration) {
        let mut calls = self.0.subscribe();
        let none = async {
            loop {
                let Ok(now) = calls.wait_for(|count| count.live == 0).await.map(|count| *count) else {
                    return;
                };
                let another = calls.wait_for(|count: &Count| count.opened != now.opened);
                if *known == now.opened || timeout(NOTED, another).await.is_err() {
                    *known = now.opened;
                    return;
                }
            }
        };
        let _it_goes_on_anyway = timeout(most, none).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[tokio::test]
    async fn it_waits_for_what_is_under_way_and_a_little_longer_and_not_for_ever() {
        let (calls, mut known, long) = (Allocating::default(), 0, Duration::from_secs(60));
        let begun = Instant::now();
        calls.pause(&mut known, long).await;
        assert!(begun.elapsed() < NOTED, "nothing was ever allocated");

        let call = calls.begin();
        tokio::spawn(async move {
            tokio::time::sleep(NOTED * 2).await;
            drop(call);
        });
        calls.pause(&mut known, long).await;
        assert!(begun.elapsed() >= NOTED * 3, "{:?}", begun.elapsed());
        assert_eq!(known, 1);

        // One that began and ended meanwhile has to be noted as well.
        let begun = Instant::now();
        drop(calls.begin());
        calls.pause(&mut known, long).await;
        assert!(begun.elapsed() >= NOTED && known == 2);

        let (begun, _hangs) = (Instant::now(), calls.begin());
        calls.pause(&mut known, NOTED * 2).await;
        assert!(begun.elapsed() >= NOTED * 2 && known == 2);
    }
}
