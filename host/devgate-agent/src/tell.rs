//! Tells the cluster how the host is: by Events on its node and on pods that have a device that fails, and by a condition of the node.
//!
//! Each look compares what the host says now with what was told. So what comes together is told together, a device that comes and goes
//! costs what the pace allows, and what waited is told as it is by then. It is a task of its own, and nothing waits for it.

mod condition;
mod events;
mod note;
#[cfg(test)]
mod tests;
mod told;

use crate::server::Server;
use condition::NodeCondition;
use devgate_agent_protocol::Judged;
use events::Events;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How often it is looked where the host says nothing new.
const LOOK: Duration = Duration::from_secs(5);

/// How long something must be so that every start has, and the host be away.
const WHILE: Duration = Duration::from_secs(60);

/// What the host has said of itself.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) judged: Option<Arc<Judged>>,
    /// Since when no host says how it is.
    pub(crate) away: Option<Instant>,
}

impl Heard {
    pub(crate) fn nothing() -> Self {
        Self { judged: None, away: Some(Instant::now()) }
    }
}

/// Tells what is wanted of it.
pub(crate) struct Teller {
    events: Option<Events>,
    condition: Option<NodeCondition>,
    heard: watch::Receiver<Heard>,
    holds: told::Holding,
}

impl Teller {
    pub(crate) fn new(
        server: &Server,
        node: &str,
        heard: watch::Receiver<Heard>,
        events: bool,
        condition: bool,
    ) -> Self {
        let (events, condition) = (
            events.then(|| Events::new(server.clone(), node.to_owned())),
            condition.then(|| NodeCondition::new(server.clone(), node.to_owned())),
        );
        Self { events, condition, heard, holds: told::Holding::default() }
    }

    /// Tells until nothing more can be heard.
    pub(crate) async fn run(&mut self) {
        if self.events.is_none() && self.condition.is_none() {
            return std::future::pending().await;
        }
        loop {
            self.look().await;
            tokio::select! {
                changed = self.heard.changed() => if changed.is_err() { return },
                () = sleep(LOOK) => {}
            }
        }
    }

    async fn look(&mut self) {
        let heard = self.heard.borrow_and_update().clone();
        if let (Some(judged), None) = (&heard.judged, heard.away) {
            self.holds.hear(judged, Instant::now());
            if let Some(events) = &mut self.events {
                events.look(judged, &self.holds).await;
            }
            if let Some(condition) = &mut self.condition {
                condition.look(judged, &self.holds).await;
            }
        } else if let (Some(condition), Some(away)) = (&mut self.condition, heard.away)
            && away.elapsed() >= WHILE
        {
            condition.is_unknown("HostAway", "devgate's host has not said for a minute how it is").await;
        }
    }

    /// The last that is told: it is not known from now on.
    pub(crate) async fn end(&mut self) {
        if let Some(condition) = &mut self.condition {
            condition.is_unknown("AgentEnded", "devgate's agent was asked to stop").await;
        }
    }
}
