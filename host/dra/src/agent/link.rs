//! The connection to the agent, made again for as long as the host runs.

use super::{Agent, Published};
use devgate_agent_protocol::{FromAgent, Judged, LineError, Lines, ToAgent, write};
use devgate_core::Backoff;
use devgate_types::escape;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::time::Instant;

/// The pauses between two attempts, and how long a connection must last for the next one to be the first again.
const SHORTEST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(30);

/// The longest pause before an attempt that a claim waits for.
const WHERE_ASKED: Duration = Duration::from_secs(1);

/// Why a connection is over.
enum End {
    /// There are other drivers, which the first message names.
    Drivers,
    Failed(String),
}

/// Is connected, for as long as it is polled: as soon as there is a driver or something to tell of the host, or at once where claims have
/// something of any.
pub(crate) async fn keep(agent: &Agent, has_claims: bool) {
    tokio::select! {
        () = connected(agent, has_claims) => {}
        () = agent.follow() => {}
    }
}

async fn connected(agent: &Agent, has_claims: bool) {
    let pauses = || Backoff::new(SHORTEST, LONGEST);
    let (mut pause, mut is_said) = (pauses(), false);
    while agent.names().is_empty() && !has_claims && agent.judged.borrow().is_none() {
        agent.wake.notified().await;
    }
    loop {
        let since = Instant::now();
        match talk(agent, &mut is_said).await {
            End::Drivers => continue,
            End::Failed(why) => {
                is_said |= agent.warn(&format!("socket {}: {why}", agent.path.display()));
                *agent.away.lock() = Some(why);
            }
        }
        if since.elapsed() > LONGEST {
            pause = pauses();
        }
        let asked = async {
            is_asked(agent).await;
            tokio::time::sleep(WHERE_ASKED).await;
        };
        tokio::select! {
            () = tokio::time::sleep(pause.pause()) => {}
            () = asked => {}
        }
    }
}

/// Waits until a claim is asked for: one that a connection took with it is still to be.
async fn is_asked(agent: &Agent) {
    while agent.asks.lock().is_empty() {
        agent.wake.notified().await;
    }
}

/// One connection, from its begin to its end. `is_said` is whether it was said that there was none.
async fn talk(agent: &Agent, is_said: &mut bool) -> End {
    let (read, to) = match UnixStream::connect(&agent.path).await {
        Ok(stream) => stream.into_split(),
        Err(error) => return End::Failed(format!("cannot be connected to: {error}")),
    };
    let mut from = Lines::new(BufReader::new(read));
    let hear = async {
        loop {
            match from.next::<FromAgent>().await {
                Ok(Some(message)) => agent.hear(message),
                Ok(None) => return End::Failed("it has hung up".to_owned()),
                Err(error) => return End::Failed(escape(&error.to_string(), 256)),
            }
        }
    };
    tokio::select! {
        end = hear => end,
        end = tell(agent, to, is_said) => end,
    }
}

/// Says what there is to say.
async fn tell(agent: &Agent, mut to: OwnedWriteHalf, is_said: &mut bool) -> End {
    let drivers = agent.names();
    // What another connection was asked, it does not answer.
    agent.asks.lock().values_mut().for_each(|asked| asked.is_sent = false);
    if let Err(end) = send(agent, &mut to, &ToAgent::Drivers(drivers.iter().cloned().collect())).await {
        return end;
    }
    agent.away.lock().take();
    if std::mem::take(is_said) {
        tracing::info!("agent: is connected");
    }
    let (mut sent, mut judged) = (BTreeMap::new(), None);
    loop {
        if agent.names() != drivers {
            return End::Drivers;
        }
        // Who waits comes first.
        let message =
            next_ask(agent).or_else(|| next_list(agent, &mut sent)).or_else(|| next_judged(agent, &mut judged));
        let Some(message) = message else {
            agent.wake.notified().await;
            continue;
        };
        if let Err(end) = send(agent, &mut to, &message).await {
            return end;
        }
    }
}

fn next_ask(agent: &Agent) -> Option<ToAgent> {
    let mut asks = agent.asks.lock();
    let asked = asks.values_mut().find(|asked| !asked.is_sent)?;
    asked.is_sent = true;
    Some(asked.message.clone())
}

/// A driver's devices, where they are others than what was sent.
fn next_list(agent: &Agent, sent: &mut BTreeMap<String, Arc<Published>>) -> Option<ToAgent> {
    let drivers = agent.drivers.lock();
    let mut lists = drivers.iter().filter_map(|(driver, told)| Some((driver, told.published.as_ref()?)));
    let is_sent = |driver: &String, now| sent.get(driver).is_some_and(|sent| Arc::ptr_eq(sent, now));
    let (driver, published) = lists.find(|(driver, now)| !is_sent(driver, now))?;
    let (driver, published) = (driver.clone(), Arc::clone(published));
    drop(drivers);
    sent.insert(driver.clone(), Arc::clone(&published));
    let Published { devices, counters } = (*published).clone();
    Some(ToAgent::Publish { driver, devices, counters })
}

/// How the host is, where that is another than what was sent.
fn next_judged(agent: &Agent, sent: &mut Option<Arc<Judged>>) -> Option<ToAgent> {
    let now = agent.judged.borrow().clone()?;
    let is_sent = sent.replace(Arc::clone(&now)).is_some_and(|sent| Arc::ptr_eq(&sent, &now));
    (!is_sent).then(|| ToAgent::Judged(Judged::clone(&now)))
}

async fn send(agent: &Agent, to: &mut OwnedWriteHalf, message: &ToAgent) -> Result<(), End> {
    match tokio::time::timeout(agent.ask_timeout, write(to, message)).await {
        Ok(Ok(())) => Ok(()),
        // Nothing of it was sent.
        Ok(Err(error @ LineError::TooLong)) => {
            if let ToAgent::Publish { driver, .. } = message
                && let Some(told) = agent.drivers.lock().get_mut(driver)
            {
                told.said.error = Some(format!("its devices are {error}"));
            }
            agent.warn(&format!("cannot be told: {error}"));
            Ok(())
        }
        Ok(Err(error)) => Err(End::Failed(error.to_string())),
        Err(_) => Err(End::Failed(format!("it has not read within {:?}", agent.ask_timeout))),
    }
}
