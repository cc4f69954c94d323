//! The component's own choice, where it exports `preference`: held against the rule, and never waited for for long.

use super::Request;
use crate::calls::Calls;
use crate::units::UnitRecord;
use devgate_types::component::{Call, CallKind};
use devgate_types::{Again, Bucket, LogThrottle, Mutex, ResourceName, escape};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a component may take to choose, whatever its deadline is. A pod waits for it, and all others behind that one.
const TIMEOUT: Duration = Duration::from_millis(500);
/// The most reasons that are logged, each once: some are a component's own words.
const MAX_REASONS: u32 = 16;

/// Why the host chose itself although the component has a preference, each reason once.
pub(crate) struct IgnoredAnswers(Mutex<LogThrottle>);

impl Default for IgnoredAnswers {
    fn default() -> Self {
        let bucket = Bucket::new(MAX_REASONS, Duration::MAX);
        Self(Mutex::new(LogThrottle::new(MAX_REASONS as usize, bucket)))
    }
}

impl Request {
    /// What the component chooses, if it has a preference, keeps to the rule and answers in time. It is not asked about
    /// replicas: it does not know of them, nor what is in use of each unit.
    pub(crate) async fn ask(
        &self,
        calls: &Calls,
        resource: &ResourceName,
        ignored_answers: &IgnoredAnswers,
    ) -> Option<Vec<String>> {
        let component = calls.component().filter(|component| component.profile().preference && self.replicas <= 1)?;
        let units = self.units();
        let must: Vec<String> = self.must().map(str::to_owned).collect();
        if must.len() >= self.size || units.len() <= self.size {
            // There is nothing to choose.
            return None;
        }
        let (lent, named, size) = (units.clone(), resource.clone(), u32::try_from(self.size).ok()?);
        let call = calls.call(component, move |component, host| {
            let call = Call { must_include: &must, size, ..Call::about(CallKind::Choose, named.as_str(), &[]) };
            Ok(host.call(component, call, &lent)?.choice)
        });
        let (reason, now) = match tokio::time::timeout(TIMEOUT, call).await {
            Ok(Ok(ids)) => match self.problem(&units, &ids) {
                None => return Some(ids),
                Some((reason, now)) => (reason.to_owned(), now),
            },
            Ok(Err(error)) => (error.to_string(), error.to_string()),
            Err(_) => ("late".to_owned(), format!("took longer than {TIMEOUT:?}")),
        };
        let name = calls.grants.policy.name.as_str();
        let message = format!("plugin {name}: resource {resource}: choose {now}");
        if ignored_answers.0.lock().line(&reason, Again::Never, Instant::now()).is_some() {
            tracing::warn!(
                plugin = name,
                family = "guest",
                "{message}; the host chose instead, and does so silently from now on"
            );
        } else {
            tracing::debug!(plugin = name, family = "guest", "{message}");
        }
        None
    }

    fn units(&self) -> Vec<Arc<UnitRecord>> {
        let unit = |free: &super::request::Free| self.snapshot.pool.units.get(free.unit).cloned();
        self.free.iter().filter_map(unit).collect()
    }

    fn must(&self) -> impl Iterator<Item = &str> {
        let must = self.free.iter().filter(|free| !free.may_be_left);
        must.filter_map(|free| Some(self.snapshot.pool.units.get(free.unit)?.id.as_str()))
    }

    /// Holds an answer against the rule: what is wrong, if anything, and what it is this time.
    fn problem(&self, units: &[Arc<UnitRecord>], ids: &[String]) -> Option<(&'static str, String)> {
        if ids.len() != self.size {
            let count = ids.len();
            return Some(("size", format!("named {count} units instead of {}", self.size)));
        }
        let mut named: BTreeMap<&str, bool> = units.iter().map(|unit| (unit.id.as_str(), false)).collect();
        for id in ids {
            let shown = escape(id, 80);
            match named.get_mut(id.as_str()) {
                None => return Some(("unavailable", format!("named {shown}, which is not available"))),
                Some(true) => return Some(("twice", format!("named {shown} twice"))),
                Some(once) => *once = true,
            }
        }
        let left = self.must().find(|id| named.get(id) != Some(&true))?;
        Some(("left out", format!("left out {left}, which must be included")))
    }
}

#[cfg(test)]
mod tests {
    use crate::allocations::Allocations;
    use crate::offer::Offer;
    use crate::plugins::Plugins;
    use crate::testing::*;
    use devgate_types::component::Profile;
    use devgate_types::{CallError, GuestFault};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// The two GPUs of a component that chooses so, and how often it was asked.
    async fn gpus(
        policy: &str,
        choose: impl Fn(&[String], u32) -> Result<Vec<String>, CallError> + Send + Sync + 'static,
    ) -> (Plugins, Arc<dyn Offer>, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let mut fake = Fake::gpus();
        fake.profile = Profile { preference: true, ..Profile::default() };
        let count = Arc::clone(&asked);
        fake.choose = Box::new(move |units, must, size| {
            count.fetch_add(1, Ordering::SeqCst);
            assert!(must.iter().all(|id| units.iter().any(|unit| unit.id == *id)));
            choose(&units.iter().map(|unit| unit.id.clone()).collect::<Vec<_>>(), size)
        });
        let loader = FakeLoader::with([("fake.wasm", fake)]);
        let plugins = Plugins::start(&parse(policy), around(&node(), loader, &Allocations::forgetful()));
        let mut offers = plugins.offers();
        let found = tokio::time::timeout(TIMEOUT, offers.wait_for(|all| !all.is_empty()));
        let offer = Arc::clone(&found.await.unwrap().unwrap()[0]);
        let mut devices = offer.devices();
        let healthy = devices.wait_for(|list| list.devices.iter().all(|device| device.unhealthy.is_none()));
        tokio::time::timeout(TIMEOUT, healthy).await.unwrap().unwrap();
        (plugins, offer, asked)
    }

    async fn one(offer: &Arc<dyn Offer>) -> Vec<String> {
        let both = ["0000:00:01.0".to_owned(), "0000:00:02.0".to_owned()];
        offer.choose(&both, &[], 1).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_component_that_knows_better_is_followed() {
        let (_plugins, offer, asked) = gpus(POLICY, |units, size| {
            assert_eq!((units, size), (["0000:00:01.0".to_owned(), "0000:00:02.0".to_owned()].as_slice(), 1));
            Ok(vec!["0000:00:02.0".into()])
        })
        .await;
        assert_eq!(one(&offer).await, ["0000:00:02.0"]);
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        // Where there is nothing to choose the component is not asked.
        let both = ["0000:00:01.0".to_owned(), "0000:00:02.0".to_owned()];
        assert_eq!(offer.choose(&both, &[], 2).await, both);
        assert_eq!(offer.choose(&both, &both[..1], 1).await, both[..1]);
        assert!(offer.choose(&both, &[], 3).await.is_empty());
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_host_chooses_where_the_component_is_wrong_broken_or_late() {
        static CHOSEN: AtomicBool = AtomicBool::new(false);
        type Answer = fn() -> Result<Vec<String>, CallError>;
        let answers: [Answer; 5] = [
            || Ok(vec![]),
            || Ok(vec!["0000:00:03.0".into()]),
            || Ok(vec!["0000:00:01.0".into(), "0000:00:01.0".into()]),
            || Err(GuestFault::Exited(1).into()),
            || {
                // Until the host has chosen, so that it is late on any machine; and not for ever.
                let begun = Instant::now();
                while !CHOSEN.load(Ordering::SeqCst) && begun.elapsed() < TIMEOUT {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Ok(vec!["0000:00:02.0".into()])
            },
        ];
        // A call may take that long and longer: it is the choice alone that is not waited for.
        let policy = POLICY.replace("    health:", "    limits: {deadline: 60s}\n    health:");
        for answer in answers {
            let (_plugins, offer, asked) = gpus(&policy, move |_, _| answer()).await;
            assert_eq!(one(&offer).await, ["0000:00:01.0"]);
            assert_eq!(asked.load(Ordering::SeqCst), 1);
        }
        CHOSEN.store(true, Ordering::SeqCst);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn replicas_are_the_hosts_own() {
        let policy = POLICY.replace("    health:", "    replicas: 2\n    health:");
        let (_plugins, offer, asked) = gpus(&policy, |_, _| Ok(vec!["0000:00:02.0".into()])).await;
        let both = ["0000:00:01.0::1".to_owned(), "0000:00:02.0::0".to_owned(), "0000:00:02.0::1".to_owned()];
        assert_eq!(offer.choose(&both, &[], 1).await, ["0000:00:02.0::0"], "the least used");
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }
}
