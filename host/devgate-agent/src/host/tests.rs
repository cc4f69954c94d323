//! Connections, and claims.

use super::Host;
use crate::tell::Heard;
use crate::tests::fake::Fake;
use devgate_agent_protocol::{Claim, FromAgent, Judged, Lines, ToAgent, write};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

struct Agent {
    _dir: tempfile::TempDir,
    path: PathBuf,
    inputs: Receiver<super::Input>,
    heard: watch::Receiver<Heard>,
}

fn agent(fake: &Fake) -> Agent {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (publisher, inputs) = channel(64);
    let (say, heard) = watch::channel(Heard::nothing());
    let host = Host { server: fake.server(), node: "node-1".into(), publisher, heard: say.into() };
    tokio::spawn(host.serve(listener));
    Agent { _dir: dir, path, inputs, heard }
}

struct Connection {
    lines: Lines<BufReader<OwnedReadHalf>>,
    to: OwnedWriteHalf,
}

impl Connection {
    async fn to(agent: &Agent) -> Self {
        let (from, to) = UnixStream::connect(&agent.path).await.unwrap().into_split();
        Self { lines: Lines::new(BufReader::new(from)), to }
    }

    async fn greeted(agent: &Agent) -> Self {
        let mut connection = Self::to(agent).await;
        write(&mut connection.to, &ToAgent::Drivers(vec!["gpu.example.com".to_owned()])).await.unwrap();
        connection
    }

    async fn ask(&mut self, ask: u64, namespace: &str, name: &str) {
        let [driver, namespace, name, uid] = ["gpu.example.com", namespace, name, "u1"].map(str::to_owned);
        write(&mut self.to, &ToAgent::Claim { ask, driver, namespace, name, uid }).await.unwrap();
    }

    async fn hear(&mut self) -> Option<FromAgent> {
        timeout(Duration::from_secs(10), self.lines.next()).await.expect("an answer or an end").unwrap_or(None)
    }
}

fn claim(name: &str) -> serde_json::Value {
    let result = json!({"driver": "gpu.example.com", "pool": "node-1", "device": name, "request": "gpu"});
    json!({"metadata": {"name": name, "uid": "u1"}, "spec": {}, "status": {"allocation": {"devices": {"results": [result]}}}})
}

#[tokio::test]
async fn claims_are_asked_for_side_by_side_and_not_all_at_once() {
    let fake = Fake::new();
    fake.with(|state| {
        state.claims = (0..40).map(|n| (format!("c{n}"), claim(&format!("c{n}")))).collect();
        state.claims_take = Duration::from_millis(100);
    });
    let mut agent = agent(&fake);
    let mut host = Connection::greeted(&agent).await;
    // The publisher's part: it keeps what answers go by.
    let kept = agent.inputs.recv().await;
    let start = Instant::now();
    for n in 0..40 {
        host.ask(n, "default", &format!("c{n}")).await;
    }
    let mut answers = BTreeMap::new();
    while answers.len() < 40 {
        let Some(FromAgent::Claim { ask, claim: Claim::Allocated { devices, .. } }) = host.hear().await else {
            panic!()
        };
        answers.insert(ask, devices[0].device.clone());
    }
    assert!((0..40).all(|n| answers[&n] == format!("c{n}")));
    assert_eq!(fake.with(|state| state.claims_now), (0, 16));
    assert!(start.elapsed() < Duration::from_millis(3500));
    host.ask(40, "default", "none").await;
    assert_eq!(host.hear().await, Some(FromAgent::Claim { ask: 40, claim: Claim::Gone }));
    for (ask, namespace, name) in [(41, "..", "c1"), (42, "default", "../c1"), (43, "default", "C?1")] {
        host.ask(ask, namespace, name).await;
        let Some(FromAgent::Claim { ask: said, claim: Claim::Unknown(_) }) = host.hear().await else { panic!() };
        assert_eq!(said, ask);
    }
    fake.with(|state| state.is_away = true);
    host.ask(44, "default", "c1").await;
    let Some(FromAgent::Claim { claim: Claim::Unknown(why), .. }) = host.hear().await else { panic!() };
    assert!(why.contains("read claim: ") && why.contains("connection refused"), "{why}");
    drop(kept);
}

#[tokio::test]
async fn what_is_no_message_or_comes_too_early_ends_the_connection_alone() {
    let fake = Fake::new();
    let mut agent = agent(&fake);
    let long = vec![b'x'; devgate_agent_protocol::MAX_LINE + 2];
    let driver = b"{\"drivers\":[\"Not.A.Driver\"]}\n".as_slice();
    let unnamed = b"{\"drivers\":[\"a\"]}\n{\"publish\":{\"driver\":\"b\",\"devices\":[]}}\n".as_slice();
    let early = b"{\"publish\":{\"driver\":\"gpu.example.com\",\"devices\":[]}}\n".as_slice();
    for bytes in [b"garbage\n".as_slice(), b"{\"drivers\":[]}\n\xff\n", &long, early, driver, unnamed, b"[[[[[[[[[[\n"]
    {
        let mut host = Connection::to(&agent).await;
        // It may end in the middle.
        let _ = host.to.write_all(bytes).await;
        assert_eq!(host.hear().await, None);
        while agent.inputs.try_recv().is_ok() {}
    }
    let mut host = Connection::greeted(&agent).await;
    let kept = agent.inputs.recv().await;
    host.ask(1, "default", "none").await;
    assert_eq!(host.hear().await, Some(FromAgent::Claim { ask: 1, claim: Claim::Gone }));
    // The next one ends it.
    let mut next = Connection::greeted(&agent).await;
    assert_eq!(host.hear().await, None);
    drop(kept);
    let mut kept = Vec::new();
    while kept.len() < 3 {
        kept.push(agent.inputs.recv().await);
    }
    next.ask(2, "default", "none").await;
    assert_eq!(next.hear().await, Some(FromAgent::Claim { ask: 2, claim: Claim::Gone }));
}

#[tokio::test]
async fn how_the_host_is_stands_while_it_is_away_and_until_it_says_otherwise() {
    let fake = Fake::new();
    let mut agent = agent(&fake);
    let heard = async |agent: &mut Agent, is: fn(&Heard) -> bool| {
        let heard = timeout(Duration::from_secs(10), agent.heard.wait_for(is)).await.expect("it is heard").unwrap();
        heard.judged.as_ref().map(|judged| judged.summary.clone())
    };
    let mut host = Connection::greeted(&agent).await;
    let kept = agent.inputs.recv().await;
    for summary in ["one", "two"] {
        let judged = Judged { summary: summary.to_owned(), ..Judged::default() };
        write(&mut host.to, &ToAgent::Judged(judged)).await.unwrap();
    }
    let two = |heard: &Heard| heard.judged.as_ref().is_some_and(|judged| judged.summary == "two");
    assert_eq!(heard(&mut agent, two).await.as_deref(), Some("two"));
    assert!(agent.heard.borrow().away.is_none());
    drop(host);
    assert_eq!(heard(&mut agent, |heard| heard.away.is_some()).await.as_deref(), Some("two"));
    drop(kept);
}
