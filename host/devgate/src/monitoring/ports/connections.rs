//! Who is connected, and who has to go when there are too many: a newcomer is served, so that those who connect and say
//! nothing keep no other out, least of all the kubelet's probes.

use std::collections::VecDeque;
use tokio::task::AbortHandle;

/// The most connections at once.
const MAX_CONNECTIONS: usize = 32;
/// The most of one peer.
const MAX_OF_ONE: usize = 8;

/// The connections that are open, the oldest first.
pub(super) struct Connections<P> {
    taken: VecDeque<(P, AbortHandle)>,
}

impl<P: Copy + PartialEq> Connections<P> {
    pub(super) fn new() -> Self {
        Self { taken: VecDeque::new() }
    }

    /// Gives a connection of `peer` a place. Where there are too many of his, his oldest is closed; where there are too many of
    /// all, the oldest of the peer that has the most.
    pub(super) fn take(&mut self, peer: P, connection: AbortHandle) {
        self.taken.retain(|(_, open)| !open.is_finished());
        if self.count(peer) >= MAX_OF_ONE {
            self.close_oldest_of(peer);
        } else if self.taken.len() >= MAX_CONNECTIONS {
            // Of equals the last one: one that has been here for long may be about to be answered.
            let most = self.taken.iter().map(|(peer, _)| *peer).max_by_key(|peer| self.count(*peer));
            most.into_iter().for_each(|peer| self.close_oldest_of(peer));
        }
        self.taken.push_back((peer, connection));
    }

    fn count(&self, peer: P) -> usize {
        self.taken.iter().filter(|(of, _)| *of == peer).count()
    }

    fn close_oldest_of(&mut self, peer: P) {
        let oldest = self.taken.iter().position(|(of, _)| *of == peer);
        if let Some((_, open)) = oldest.and_then(|n| self.taken.remove(n)) {
            open.abort();
        }
    }
}

impl<P> Drop for Connections<P> {
    /// What serves no more leaves no connection open.
    fn drop(&mut self) {
        self.taken.iter().for_each(|(_, open)| open.abort());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::JoinHandle;

    /// Connects, and stays until it is closed.
    fn connect(places: &mut Connections<u8>, peer: u8) -> JoinHandle<()> {
        let open = tokio::spawn(std::future::pending());
        places.take(peer, open.abort_handle());
        open
    }

    async fn is_closed(open: JoinHandle<()>) -> bool {
        tokio::task::yield_now().await;
        open.is_finished()
    }

    #[tokio::test]
    async fn one_peer_pushes_out_nobody_but_himself() {
        let mut places = Connections::new();
        let other = connect(&mut places, 0);
        let first = connect(&mut places, 1);
        let more: Vec<_> = (0..100).map(|_| connect(&mut places, 1)).collect();
        assert_eq!((places.count(0), places.count(1)), (1, MAX_OF_ONE));
        assert!(is_closed(first).await && !is_closed(other).await);
        assert!(!more.last().unwrap().is_finished());
    }

    #[tokio::test]
    async fn where_all_are_too_many_whoever_has_the_most_gives_way() {
        let mut places = Connections::new();
        let alone = connect(&mut places, 0);
        for peer in 1..=40 {
            connect(&mut places, peer);
            connect(&mut places, peer);
        }
        assert_eq!(places.taken.len(), MAX_CONNECTIONS);
        assert!(!is_closed(alone).await, "who has one place keeps it while others have two");
        let last = connect(&mut places, 99);
        assert!(!is_closed(last).await, "a newcomer is served");
    }

    #[tokio::test]
    async fn whoever_has_gone_has_no_place() {
        let mut places = Connections::new();
        for _ in 0..MAX_OF_ONE - 1 {
            connect(&mut places, 1).abort();
            tokio::task::yield_now().await;
        }
        let stays = connect(&mut places, 1);
        connect(&mut places, 1);
        assert_eq!(places.count(1), 2);
        assert!(!is_closed(stays).await);
    }
}
