//! How the host is, as the agent hears it.

use crate::world::World;
use devgate_agent_protocol::{Judged, ToAgent};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

#[tokio::test]
async fn the_agent_hears_how_the_host_is_without_a_driver_once_and_again_where_it_is_new() {
    let world = World::idle();
    world.devices.offer(&[]);
    world.agent.begin();
    let judge = watch::Sender::new(None);
    world.start(|config| config.judged = judge.subscribe());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(world.agent.heard.borrow().is_empty(), "nothing is to be told");
    let says = |summary: &str| Judged { summary: summary.to_owned(), ..Judged::default() };
    let judge = |summary| drop(judge.send_replace(Some(Arc::new(says(summary)))));
    let heard = || world.agent.heard.borrow().iter().map(|(_, said)| said.clone()).collect::<Vec<_>>();
    judge("one");
    world.until("it is told", || heard().len() == 2).await;
    assert_eq!(heard(), [ToAgent::Drivers(Vec::new()), ToAgent::Judged(says("one"))]);
    judge("two");
    world.until("it is told anew", || heard().last() == Some(&ToAgent::Judged(says("two")))).await;
    assert_eq!(heard().len(), 3);
    // Another agent knows nothing.
    world.agent.end().await;
    world.agent.begin();
    world.until("it is told again", || heard().len() >= 5).await;
    assert_eq!(heard()[3..], [ToAgent::Drivers(Vec::new()), ToAgent::Judged(says("two"))]);
}
