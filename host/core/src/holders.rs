//! Who has which device, as the source outside knows it that runs the pods. No word of that source's protocol in here.

use devgate_types::ResourceName;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// How long after an allocation a look may not show who has it.
const GRACE: Duration = Duration::from_secs(30);

/// How long the source may be away, as a kubelet that restarts.
const SILENCE: Duration = Duration::from_secs(10);

/// A container that has a device. Names are as they were told: any text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
}

/// A resource and an id of it as it is offered: with the replica's number, where there are replicas.
pub type Offered = (ResourceName, String);

/// What containers had at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holders {
    /// Who has an id; what is not in here no container was seen to have.
    pub seen: BTreeMap<Offered, Vec<Holder>>,
    /// The ids that the source has given away by its own records, whether it shows who has them or not. It may be older than
    /// `seen`: what is gone may still be in here. Nothing where the records cannot be read.
    pub recorded: Option<BTreeSet<Offered>>,
    /// The uid of the pod that has an id by these records, where they say so.
    pub uids: BTreeMap<Offered, String>,
    /// Counts the looks.
    pub poll: u64,
    /// Which process of the source said so. A new one may not know its pods yet: what was seen before, and is not seen now,
    /// says little until its records say so as well.
    pub process: u64,
    /// When this look began: what was handed out since then may be missing.
    pub begun: Instant,
}

/// What the source has given away by its own records, and the paths of the nodes that went with it, where they say which: those of all
/// ids of one container together, which are as many as there are ids, so that all of these have one set.
pub type Records = BTreeMap<Offered, Arc<BTreeSet<String>>>;

/// A source of [`Holders`], and its reader.
#[must_use]
pub fn holders() -> (HoldersSource, HoldersFeed) {
    let (asked, sender) = (Arc::new(Notify::new()), watch::Sender::new(None));
    let records = watch::Sender::new(None);
    let feed = HoldersFeed {
        newest: sender.subscribe(),
        records: records.subscribe(),
        asked: Arc::clone(&asked),
        grace: GRACE,
    };
    let source = HoldersSource { asked, sender, records };
    (source, feed)
}

/// Where a front end puts what was seen.
pub struct HoldersSource {
    asked: Arc<Notify>,
    sender: watch::Sender<Option<Arc<Holders>>>,
    records: watch::Sender<Option<Arc<Records>>>,
}

impl HoldersSource {
    /// Tells what was seen.
    pub fn tell(&self, holders: Holders) {
        self.sender.send_replace(Some(Arc::new(holders)));
    }

    /// Tells what the records say, before the first look: a host that has lost its own gives nothing until it knows. Not told where
    /// they cannot be read; without any, nothing was given away.
    pub fn tell_records(&self, records: Records) {
        self.records.send_replace(Some(Arc::new(records)));
    }

    /// Waits until a plugin wants to know more than the last look tells.
    pub async fn asked(&self) {
        self.asked.notified().await;
    }
}

/// What was seen last, and a way to ask for another look. Cheap to clone.
#[derive(Clone)]
pub struct HoldersFeed {
    newest: watch::Receiver<Option<Arc<Holders>>>,
    records: watch::Receiver<Option<Arc<Records>>>,
    asked: Arc<Notify>,
    grace: Duration,
}

impl HoldersFeed {
    /// There is no source: then no device is ever known to be free.
    #[must_use]
    pub fn none() -> Self {
        holders().1
    }

    /// The same with another time, instead of 30 s, in which what was handed out is not taken for free, whatever is seen.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// How long what was handed out is not taken for free.
    pub(crate) fn grace(&self) -> Duration {
        self.grace
    }

    /// What was seen last, if anything.
    #[must_use]
    pub fn newest(&self) -> Option<Arc<Holders>> {
        self.newest.borrow().clone()
    }

    /// How long the source has been silent, where that is longer than it may be; `start` is when it was first asked.
    #[must_use]
    pub fn silent(&self, start: Instant) -> Option<Duration> {
        let newest = self.newest.borrow().as_ref().map_or(start, |holders| holders.begun);
        Some(newest.elapsed()).filter(|silent| *silent > self.grace.max(SILENCE))
    }

    /// To be told of each look.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Option<Arc<Holders>>> {
        self.newest.clone()
    }

    /// To be told what the source's records say.
    pub(crate) fn records(&self) -> watch::Receiver<Option<Arc<Records>>> {
        self.records.clone()
    }

    /// Asks for another look, and does not wait for it.
    pub(crate) fn ask(&self) {
        self.asked.notify_one();
    }

    /// A look that begins from now on, if there is one within `patience`.
    pub async fn look(&self, patience: Duration) -> Option<Arc<Holders>> {
        let (now, mut newest) = (Instant::now(), self.newest.clone());
        self.ask();
        let fresh = newest.wait_for(|holders| holders.as_ref().is_some_and(|holders| holders.begun >= now));
        tokio::time::timeout(patience, fresh).await.ok()?.ok()?.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(begun: Instant) -> Holders {
        Holders { seen: BTreeMap::new(), recorded: None, uids: BTreeMap::new(), poll: 1, process: 1, begun }
    }

    #[test]
    fn whoever_tells_nothing_for_long_is_silent() {
        let (source, feed) = holders();
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        assert_eq!(feed.silent(ago(29)), None, "it may take that long");
        assert!(feed.silent(ago(31)) >= Some(Duration::from_secs(31)));
        source.tell(at(ago(0)));
        assert_eq!(feed.silent(ago(31)), None);
        source.tell(at(ago(40)));
        assert!(feed.silent(ago(50)) < Some(Duration::from_secs(45)));
        let quick = feed.with_grace(Duration::from_millis(600));
        source.tell(at(ago(9)));
        assert_eq!(quick.silent(ago(50)), None, "a kubelet that restarts");
    }

    #[tokio::test]
    async fn only_a_look_that_began_after_the_question_answers_it() {
        let (source, feed) = holders();
        let before = Instant::now();
        let short = Duration::from_millis(20);
        assert_eq!(HoldersFeed::none().look(short).await, None);
        let asking = tokio::spawn({
            let feed = feed.clone();
            async move { feed.look(Duration::from_secs(30)).await }
        });
        source.asked().await;
        source.tell(at(before));
        assert_eq!(feed.newest().unwrap().begun, before);
        let after = Instant::now();
        source.tell(at(after));
        assert_eq!(asking.await.unwrap().unwrap().begun, after);
    }
}
