//! What is new since it was told.

use super::WHILE;
use super::note::{LONGEST, bounded, listed};
use devgate_agent_protocol::{Holds, Judged, Unhealthy, User};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use tokio::time::Instant;

/// A condition and whose it is; or a resource and an id.
type Key = (String, String);

/// Since when what holds does.
#[derive(Default)]
pub(super) struct Holding(pub(super) BTreeMap<Key, Instant>);

impl Holding {
    pub(super) fn hear(&mut self, judged: &Judged, now: Instant) {
        let before = std::mem::take(&mut self.0);
        let since = |key: &Key| before.get(key).copied().unwrap_or(now);
        self.0 = judged.conditions.iter().map(key).map(|key| (key.clone(), since(&key))).collect();
    }

    /// Whether it is something to tell.
    pub(super) fn counts(&self, holds: &Holds) -> bool {
        !holds.starting || self.0.get(&key(holds)).is_some_and(|since| since.elapsed() >= WHILE)
    }

    /// Whether all that is so is to be told: before, what is not there may be yet to come.
    pub(super) fn is_settled(&self, judged: &Judged) -> bool {
        judged.conditions.iter().all(|holds| self.counts(holds))
    }
}

fn key(holds: &Holds) -> Key {
    (holds.condition.clone(), holds.of.clone())
}

/// What one Event is about.
/// While one of these holds, what is wrong may not be named.
const HIDING: [&str; 2] = ["plugin-loading", "waits-for-another"];
/// So many devices are remembered as told of, beside those that are unhealthy now.
const REMEMBERED: usize = 4 * Judged::MOST;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    /// Devices of a resource.
    Fail(String),
    Recover(String),
    Begins(Key),
    Ends(Key),
}

/// What was told.
#[derive(Default)]
pub(super) struct Told {
    conditions: BTreeSet<Key>,
    /// With who had them.
    devices: BTreeMap<Key, Vec<User>>,
    /// The topic that had its turn last: what changes all the time keeps nothing else from being told.
    last: Option<Topic>,
}

/// Something new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct News {
    pub(super) warns: bool,
    pub(super) reason: String,
    pub(super) note: String,
    /// What is the same where the same is told again.
    pub(super) subject: String,
    /// Who has a device of it, and what is new for them.
    pub(super) users: BTreeMap<User, News>,
}

impl Told {
    /// Something that is new, which is told with that.
    pub(super) fn next(&mut self, judged: &Judged, holds: &Holding) -> Option<News> {
        let topics = self.topics(judged, holds);
        let after = self.last.as_ref().and_then(|last| topics.range((Excluded(last), Unbounded)).next());
        let topic = after.or_else(|| topics.first())?.clone();
        self.last = Some(topic.clone());
        Some(match topic {
            Topic::Fail(resource) => {
                let is_new =
                    |device: &&Unhealthy| device.resource == resource && !self.devices.contains_key(&of(device));
                let new: Vec<&Unhealthy> = judged.devices.iter().filter(is_new).collect();
                let least = if judged.more > 0 { "at least " } else { "" };
                let news = devices(&resource, &new, least);
                // A component may make up others each time.
                if self.devices.len() > REMEMBERED {
                    let now: BTreeSet<Key> = judged.devices.iter().map(of).collect();
                    self.devices.retain(|key, _| now.contains(key));
                }
                self.devices.extend(new.into_iter().map(|device| (of(device), device.users.clone())));
                news
            }
            Topic::Recover(resource) => {
                let now: BTreeSet<Key> = judged.devices.iter().map(of).collect();
                let is_over = |key: &Key, _: &mut _| key.0 == resource && !now.contains(key);
                let over = self.devices.extract_if(.., is_over);
                let over = over.map(|((resource, id), users)| Unhealthy { resource, id, why: String::new(), users });
                devices(&resource, &over.collect::<Vec<_>>().iter().collect::<Vec<_>>(), "")
            }
            Topic::Begins(key) => {
                let why =
                    judged.conditions.iter().find(|holds| self::key(holds) == key).map(|holds| holds.why.as_str());
                let note = format!("{}: {}", key.1, why.unwrap_or_default());
                let news = condition(true, &key, &note);
                self.conditions.insert(key);
                news
            }
            Topic::Ends(key) => {
                self.conditions.remove(&key);
                condition(false, &key, &format!("{}: no longer {}", key.1, key.0))
            }
        })
    }

    fn topics(&self, judged: &Judged, holds: &Holding) -> BTreeSet<Topic> {
        // Devices have Events of their own.
        let told = judged.conditions.iter().filter(|found| found.condition != Judged::DEVICES && holds.counts(found));
        let told: BTreeSet<Key> = told.map(key).collect();
        let mut topics: BTreeSet<Topic> = told.difference(&self.conditions).cloned().map(Topic::Begins).collect();
        if holds.is_settled(judged) {
            let new = judged.devices.iter().filter(|device| !self.devices.contains_key(&of(device)));
            topics.extend(new.map(|device| Topic::Fail(device.resource.clone())));
        }
        // A plugin that is loading may find it as it was, and a device that is not named may be among those that are left out.
        if !judged.conditions.iter().any(|found| HIDING.contains(&found.condition.as_str())) {
            topics.extend(self.conditions.difference(&told).cloned().map(Topic::Ends));
            let now: BTreeSet<Key> = judged.devices.iter().map(of).filter(|_| judged.more == 0).collect();
            let over = self.devices.keys().filter(|key| judged.more == 0 && !now.contains(*key));
            topics.extend(over.map(|(resource, _)| Topic::Recover(resource.clone())));
        }
        topics
    }
}

fn of(device: &Unhealthy) -> Key {
    (device.resource.clone(), device.id.clone())
}

fn condition(warns: bool, (condition, of): &Key, note: &str) -> News {
    News {
        warns,
        reason: if warns { camel(condition) } else { "Recovered".to_owned() },
        note: bounded(note, LONGEST),
        subject: format!("{condition} {of}"),
        users: BTreeMap::new(),
    }
}

/// Devices that fail for a reason, or that do not any more.
fn devices(resource: &str, all: &[&Unhealthy], least: &str) -> News {
    let mut users = BTreeMap::<&User, Vec<&Unhealthy>>::new();
    for device in all {
        for user in &device.users {
            users.entry(user).or_default().push(device);
        }
    }
    let news = |all: &[&Unhealthy], whose: &str| {
        let warns = all.iter().any(|device| !device.why.is_empty());
        let is = if warns { "unhealthy" } else { "not unhealthy any more" };
        let note = match all {
            [one] if warns => bounded(&format!("device {} of {resource}{whose} is {is}: {}", one.id, one.why), LONGEST),
            [one] => bounded(&format!("device {} of {resource}{whose} is {is}", one.id), LONGEST),
            all => {
                let part = |one: &&Unhealthy| if warns { format!("{} ({})", one.id, one.why) } else { one.id.clone() };
                let begin = format!("{least}{} devices of {resource}{whose} are {is}: ", all.len());
                listed(&begin, &all.iter().map(part).collect::<Vec<_>>())
            }
        };
        let ids: Vec<String> = all.iter().map(|device| device.id.clone()).collect();
        News {
            warns,
            reason: if warns { "DeviceUnhealthy" } else { "DeviceHealthy" }.to_owned(),
            note,
            subject: listed(&format!("{} {resource} ", all.len()), &ids),
            users: BTreeMap::new(),
        }
    };
    let of_users = users.iter().map(|(user, all)| ((*user).clone(), news(all, ", which this pod has,")));
    News { users: of_users.collect(), ..news(all, "") }
}

/// `plugin-failing` as Kubernetes writes reasons: `PluginFailing`.
pub(super) fn camel(word: &str) -> String {
    let upper = |part: &str| {
        part.chars().take(1).map(|c| c.to_ascii_uppercase()).chain(part.chars().skip(1)).collect::<String>()
    };
    bounded(&word.split('-').map(upper).collect::<String>(), 128)
}
