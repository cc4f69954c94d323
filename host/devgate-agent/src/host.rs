//! The host: who may be it, and what it says and hears.

#[cfg(test)]
mod tests;

use crate::claims::{Asked, look};
use crate::publisher::Input;
use crate::server::Server;
use crate::slices::is_driver;
use crate::tell::Heard;
use devgate_agent_protocol::{Claim, FromAgent, LineError, Lines, ToAgent, write};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::{Receiver, Sender, WeakSender, channel};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep};

/// Claims that are asked for at once, and that wait for it.
const AT_ONCE: usize = 16;
const WAITING: usize = 1024;
/// Answers that the host has not read.
const UNREAD: usize = 2048;

/// All that a connection needs.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) server: Server,
    pub(crate) node: Arc<str>,
    pub(crate) publisher: Sender<Input>,
    pub(crate) heard: Arc<watch::Sender<Heard>>,
}

impl Host {
    /// Takes one connection after the other: a new one ends the one before, whose host may be gone without having said so.
    pub(crate) async fn serve(self, listener: UnixListener) {
        let mut connection = JoinSet::new();
        let mut id = 0_u64;
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(why) => {
                    tracing::warn!("socket: {why}");
                    sleep(Duration::from_secs(1)).await;
                    continue;
                }
            };
            if let Some(why) = not_the_host(&stream) {
                tracing::warn!("socket: a connection is refused: {why}");
                continue;
            }
            connection.shutdown().await;
            id += 1;
            tracing::info!("host: is connected");
            connection.spawn(self.clone().speak(id, stream));
        }
    }

    async fn speak(self, id: u64, stream: UnixStream) {
        let (from, to) = stream.into_split();
        let (say, said) = channel(UNREAD);
        // It may be another, or of another mind.
        self.heard.send_modify(|heard| heard.away = heard.away.or_else(|| Some(Instant::now())));
        let mut tasks = JoinSet::new();
        // The publisher's and those of claims that are asked for are the only ones: with the last of them the answers end.
        let answers = say.downgrade();
        if self.publisher.send(Input::Host(id, say)).await.is_err() {
            return;
        }
        let tell = tell(to, said);
        let why = tokio::select! {
            why = self.listen(id, from, answers, &mut tasks) => why,
            why = tell => why,
        };
        match why {
            None => tracing::info!("host: has disconnected; what is published stands"),
            Some(why) => tracing::warn!("host: {}; it is disconnected", devgate_types::escape(&why, 320)),
        }
        self.heard.send_modify(|heard| heard.away = heard.away.or_else(|| Some(Instant::now())));
        let _ = self.publisher.send(Input::Left(id)).await;
    }

    /// Hears what the host says, until it is gone or says what cannot be.
    async fn listen(
        &self,
        id: u64,
        from: OwnedReadHalf,
        say: WeakSender<FromAgent>,
        tasks: &mut JoinSet<()>,
    ) -> Option<String> {
        let mut lines = Lines::new(BufReader::new(from));
        let (turns, mut drivers) = (Arc::new(Semaphore::new(AT_ONCE)), None::<BTreeSet<String>>);
        loop {
            let message = match lines.next().await {
                Ok(Some(message)) => message,
                Ok(None) => return None,
                Err(LineError::Io(why)) if why.kind() == std::io::ErrorKind::UnexpectedEof => return None,
                Err(why) => return Some(why.to_string()),
            };
            while tasks.try_join_next().is_some() {}
            match message {
                ToAgent::Drivers(names) => {
                    if let Some(wrong) = names.iter().find(|name| !is_driver(name)) {
                        return Some(format!("{wrong:?} is no driver's name"));
                    }
                    let names = drivers.insert(names.into_iter().collect()).clone();
                    self.publisher.send(Input::Drivers(id, names)).await.ok()?;
                }
                _ if drivers.is_none() => return Some("has not said first which drivers there are".to_owned()),
                ToAgent::Publish { driver, devices, counters } => {
                    if !drivers.as_ref().is_some_and(|drivers| drivers.contains(&driver)) {
                        return Some(format!("publishes for {driver:?}, which is none of its drivers"));
                    }
                    self.publisher.send(Input::Publish(id, driver, devices, counters)).await.ok()?;
                }
                ToAgent::Judged(judged) => {
                    let _ = self.heard.send_replace(Heard { judged: Some(Arc::new(judged)), away: None });
                }
                ToAgent::Claim { ask, driver, namespace, name, uid } => {
                    let say = say.upgrade()?;
                    if tasks.len() >= WAITING {
                        let claim = Claim::Unknown(format!("claim: {WAITING} are asked for already"));
                        say.send(FromAgent::Claim { ask, claim }).await.ok()?;
                        continue;
                    }
                    let asked = Asked { driver, namespace, name, uid };
                    let (server, node, turns) = (self.server.clone(), Arc::clone(&self.node), Arc::clone(&turns));
                    tasks.spawn(async move {
                        // It is never closed.
                        let _turn = turns.acquire().await;
                        let claim = look(&server, &node, &asked).await;
                        if let Claim::Unknown(why) = &claim {
                            let (namespace, name) = (escape(&asked.namespace), escape(&asked.name));
                            tracing::warn!(family = "claims", "claim {namespace}/{name}: {why}");
                        }
                        let _ = say.send(FromAgent::Claim { ask, claim }).await;
                    });
                }
            }
        }
    }
}

fn escape(text: &str) -> String {
    devgate_types::escape(text, 128)
}

/// Says what there is to be said.
async fn tell(mut to: OwnedWriteHalf, mut said: Receiver<FromAgent>) -> Option<String> {
    while let Some(message) = said.recv().await {
        match write(&mut to, &message).await {
            Ok(()) => {}
            // It is gone.
            Err(LineError::Io(_)) => return None,
            // Of a claim alone: what is published is of a bounded length.
            Err(why) => return Some(why.to_string()),
        }
    }
    Some("does not read what it is told".to_owned())
}

/// The socket can be connected to by anybody who reaches its directory, which only this pod has. What is neither root nor of this process's
/// own user is no host.
fn not_the_host(stream: &UnixStream) -> Option<String> {
    match stream.peer_cred() {
        Ok(peer) if [0, rustix::process::geteuid().as_raw()].contains(&peer.uid()) => None,
        Ok(peer) => Some(format!("it is of user {}, and the host is root's", peer.uid())),
        Err(why) => Some(why.to_string()),
    }
}
