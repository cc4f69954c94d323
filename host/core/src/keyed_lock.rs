//! A lock for each key: what is done to different keys runs side by side, to the same one in turn.

use devgate_types::Mutex;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;
use tokio::sync::Notify;

/// The keys that something is being done to. Clones share them.
#[derive(Clone)]
pub struct KeyedLock<K: Eq + Hash>(Arc<Inner<K>>);

struct Inner<K> {
    held: Mutex<HashSet<K>>,
    let_go: Notify,
}

impl<K: Eq + Hash> Default for KeyedLock<K> {
    fn default() -> Self {
        let (held, let_go) = (Mutex::default(), Notify::new());
        Self(Arc::new(Inner { held, let_go }))
    }
}

/// Locked keys; let go when dropped.
pub struct Held<K: Eq + Hash>(KeyedLock<K>, Vec<K>);

impl<K: Eq + Hash + Clone> KeyedLock<K> {
    /// Waits until none of these is held.
    pub async fn lock(&self, keys: &[K]) -> Held<K> {
        loop {
            let let_go = self.0.let_go.notified();
            if let Some(held) = self.try_lock(keys) {
                return held;
            }
            let_go.await;
        }
    }

    /// `None` if one of these is held.
    pub fn try_lock(&self, keys: &[K]) -> Option<Held<K>> {
        let mut held = self.0.held.lock();
        if keys.iter().any(|key| held.contains(key)) {
            return None;
        }
        held.extend(keys.iter().cloned());
        Some(Held(self.clone(), keys.to_vec()))
    }
}

impl<K: Eq + Hash> Drop for Held<K> {
    fn drop(&mut self) {
        let Self(lock, keys) = self;
        let mut held = lock.0.held.lock();
        keys.iter().for_each(|key| _ = held.remove(key));
        drop(held);
        lock.0.let_go.notify_waiters();
    }
}
