//! Events: made where something is new, and counted where the same comes again soon.

use super::note::bounded;
use super::told::{Holding, News, Told};
use crate::server::{Failure, Kind, Server};
use crate::slices::{is_label, is_subdomain};
use devgate_agent_protocol::{Judged, User};
use devgate_types::{Again, Bucket, LogThrottle};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// So many writes at once, and then two in a minute.
const BURST: u32 = 16;
const EACH: Duration = Duration::from_secs(30);
/// How long after it was told what is told again is counted, and of how many that is known.
const SAME: Duration = Duration::from_secs(360);
const KNOWN: usize = 64;
/// Pods of one claim.
const PODS: usize = 8;
/// How often it is said at most that Events are lost.
const SAID: Duration = Duration::from_secs(60);

pub(super) struct Events {
    server: Server,
    node: String,
    told: Told,
    pub(super) turns: Bucket,
    /// One was taken, and not needed yet.
    has_turn: bool,
    /// The API server said so.
    pause: Instant,
    /// The last ones, the oldest first.
    pub(super) known: VecDeque<Known>,
    pub(super) lost: u64,
    lines: LogThrottle,
}

/// An Event that was made.
pub(super) struct Known {
    of: (Value, String, String),
    namespace: String,
    name: String,
    count: u32,
    pub(super) last: Instant,
}

impl Events {
    pub(super) fn new(server: Server, node: String) -> Self {
        Self {
            server,
            node,
            told: Told::default(),
            turns: Bucket::new(BURST, EACH),
            has_turn: false,
            pause: Instant::now(),
            known: VecDeque::new(),
            lost: 0,
            lines: LogThrottle::new(8, Bucket::new(4, SAID)),
        }
    }

    /// Tells what is new, as far as there are turns for it: the rest as it is when there are.
    pub(super) async fn look(&mut self, judged: &Judged, holds: &Holding) {
        while self.turn() {
            let Some(news) = self.told.next(judged, holds) else { return };
            self.has_turn = false;
            // As the kubelet names it, by which `kubectl describe node` finds it.
            let node = json!({"apiVersion": "v1", "kind": "Node", "name": self.node, "uid": self.node});
            self.tell(node, "default", &news).await;
            for (user, news) in &news.users {
                self.tell_user(user, news).await;
            }
        }
    }

    fn turn(&mut self) -> bool {
        self.has_turn = self.has_turn || self.turns.line(Instant::now().into_std()).is_some();
        self.has_turn && self.pause <= Instant::now()
    }

    /// Pods hear of what is theirs where there is a turn for it, and else not: the node's Event has it.
    async fn tell_user(&mut self, user: &User, news: &News) {
        if !self.turn() {
            self.lost += 1;
            return;
        }
        match user {
            User::Pod { namespace, name, uid } => self.tell_pod(namespace, name, uid.as_deref(), news).await,
            User::Claim { namespace, name, uid } => {
                if !is_label(namespace) || !is_subdomain(name, 253) {
                    return;
                }
                self.has_turn = false;
                let claim = match self.server.claim(namespace, name).await {
                    Ok(claim) if claim.metadata.uid.as_ref() == Some(uid) => claim,
                    Ok(_) => return,
                    Err(failure) => return self.lose(&failure),
                };
                let users = claim.status.and_then(|status| status.reserved_for).unwrap_or_default();
                for pod in users.iter().filter(|user| user.resource == "pods").take(PODS) {
                    if !self.turn() {
                        self.lost += 1;
                        continue;
                    }
                    self.tell_pod(namespace, &pod.name, Some(&pod.uid), news).await;
                }
            }
        }
    }

    /// With a turn that was taken.
    async fn tell_pod(&mut self, namespace: &str, name: &str, uid: Option<&str>, news: &News) {
        if is_label(namespace) && is_subdomain(name, 253) {
            self.has_turn = false;
            let uid = uid.map(|uid| bounded(uid, 128)).unwrap_or_default();
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name, "uid": uid});
            self.tell(pod, namespace, news).await;
        }
    }

    async fn tell(&mut self, regarding: Value, namespace: &str, news: &News) {
        let now = Instant::now();
        self.known.retain(|known| now.duration_since(known.last) < SAME);
        let of = (regarding, news.reason.clone(), news.subject.clone());
        let told = match self.known.iter().position(|known| known.of == of) {
            Some(at) => self.count(at).await,
            None => self.create(of, namespace, news).await,
        };
        if let Err(failure) = told {
            self.lose(&failure);
        }
    }

    async fn count(&mut self, at: usize) -> Result<(), Failure> {
        let Some(known) = self.known.get_mut(at) else { return Ok(()) };
        known.count = known.count.saturating_add(1);
        let series = json!({"series": {"count": known.count, "lastObservedTime": MicroTime(Timestamp::now())}});
        let counted = self.server.change_event(&known.namespace, &known.name, &series).await;
        match &counted {
            Ok(()) => known.last = Instant::now(),
            // It was deleted: the next one is made anew.
            Err(failure) if failure.kind == Kind::Missing => drop(self.known.remove(at)),
            Err(_) => {}
        }
        counted
    }

    async fn create(&mut self, of: (Value, String, String), namespace: &str, news: &News) -> Result<(), Failure> {
        let object = of.0.get("name").and_then(Value::as_str).unwrap_or_default();
        let cut = object.get(..object.len().min(200)).unwrap_or_default().trim_end_matches(['.', '-']);
        let name = format!("{cut}.{:016x}", fastrand::u64(..));
        let event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": MicroTime(Timestamp::now()),
            "type": if news.warns { "Warning" } else { "Normal" },
            "reason": news.reason,
            "action": "Judged",
            "note": news.note,
            "regarding": of.0,
            "reportingController": "devgate.dev/agent",
            "reportingInstance": self.node.get(..self.node.len().min(128)),
        });
        self.server.create_event(namespace, &event).await?;
        if self.known.len() >= KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(Known { of, namespace: namespace.to_owned(), name, count: 1, last: Instant::now() });
        Ok(())
    }

    fn lose(&mut self, failure: &Failure) {
        self.lost += 1;
        self.pause = self.pause.max(Instant::now() + failure.after.unwrap_or_default());
        let what = failure.to_string();
        if let Some(more) = self.lines.line(&what, Again::After(SAID), Instant::now().into_std()) {
            tracing::warn!(family = "events", more, "events: {} are lost by now: {what}", self.lost);
        }
    }
}
