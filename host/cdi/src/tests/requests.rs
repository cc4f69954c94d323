//! Requests of the protocol of 2017, as the host answers them.

use super::*;
use crate::exec::{Answer, Request, Requests, Served, leave_note};
use serde_json::{Value, json};
use tempfile::TempDir;

struct World {
    fake: Arc<Fake>,
    requests: Requests,
    state: TempDir,
}

impl World {
    /// Devices that are each on a NUMA node of their own.
    fn new(nodes_only: bool) -> Self {
        let fake = Fake::on(&[("acme0", Some(0)), ("acme1", Some(1))]);
        let (resource, state) = (resource(), tempfile::tempdir().unwrap());
        let served = Served { resource, nodes_only };
        let types = ["acme", "bolt"].map(|kind| (kind.to_owned(), served.clone()));
        Self {
            requests: Requests {
                devices: Arc::clone(&fake) as Arc<dyn Devices>,
                types: watch::Sender::new(Arc::new(types.into())).subscribe(),
                state_dir: state.path().to_owned(),
                turn: tokio::sync::Mutex::default(),
            },
            fake,
            state,
        }
    }

    async fn add_to(&self, kind: &str, id: &str, amount: u32, numa: Option<&[u32]>) -> Answer {
        let (kind, id, numa) = (kind.to_owned(), id.to_owned(), numa.map(<[u32]>::to_vec));
        let request = Request::Add { kind, id, amount, numa };
        self.requests.answer(&request).await
    }

    async fn add(&self, id: &str, amount: u32, numa: Option<&[u32]>) -> Answer {
        self.add_to("acme", id, amount, numa).await
    }

    async fn del(&self, kind: Option<&str>, id: &str) -> Answer {
        let (kind, id) = (kind.map(str::to_owned), id.to_owned());
        self.requests.answer(&Request::Del { kind, id }).await
    }

    fn note(&self, name: &str) -> bool {
        self.state.path().join("ended-requests").join(name).exists()
    }

    fn leave(&self, name: &str) {
        leave_note(self.state.path(), name).unwrap();
    }
}

/// The number of an answer's error.
fn number(answer: &Answer) -> u32 {
    answer.as_ref().unwrap_err().number
}

#[tokio::test]
async fn cdi33_devices_are_near_where_they_can_be_and_it_is_said_where_they_are() {
    let near = async |amount, numa: Option<&'static [u32]>| World::new(true).add("1", amount, numa).await.unwrap();
    assert_eq!(near(1, Some(&[1])).await, json!({"devices": ["/dev/acme1"], "numa_locality": [1]}));
    assert_eq!(near(1, Some(&[0])).await, json!({"devices": ["/dev/acme0"], "numa_locality": [0]}));
    let far = json!({"devices": ["/dev/acme0"], "numa_locality": [0]});
    assert_eq!(near(1, Some(&[7])).await, far, "where there is none near");
    let both = json!({"devices": ["/dev/acme0", "/dev/acme1"], "numa_locality": [0, 1]});
    assert_eq!(near(2, Some(&[1])).await, both);
    assert_eq!(near(0, Some(&[1])).await, json!({"devices": [], "numa_locality": []}));
    assert_eq!(near(1, None).await, json!({"devices": ["/dev/acme0"]}), "not asked");
}

#[tokio::test]
async fn cdi28_what_gives_more_than_nodes_is_not_given_unless_the_policy_says_so() {
    let world = World::new(false);
    assert_eq!(number(&world.add("1", 1, None).await), 107);
    assert!(world.fake.consumers().is_empty(), "nothing is held");
    assert_eq!(number(&World::new(true).add_to("none", "1", 1, None).await), 101);
}

#[tokio::test]
async fn cdi28_who_waits_too_long_holds_nothing() {
    let world = World::new(true);
    let turn = world.requests.turn.lock().await;
    let begun = tokio::time::Instant::now();
    assert_eq!(number(&world.add("1", 1, None).await), 104);
    assert_eq!(begun.elapsed().as_secs(), 10);
    drop(turn);
    assert!(world.fake.consumers().is_empty());
}

#[tokio::test]
async fn cdi28_cdi34_what_is_not_released_yet_is_an_error_of_an_end_that_is_one() {
    let world = World::new(true);
    world.add("1", 1, None).await.unwrap();
    world.fake.dirty.store(true, Relaxed);
    let answer = world.del(Some("acme"), "1").await;
    assert_eq!(number(&answer), 105);
    assert!(answer.unwrap_err().to_string().contains("acme0"));
    assert_eq!(number(&world.del(Some("acme"), "1").await), 5, "it is over");
}

#[tokio::test]
async fn cdi34_a_note_ends_what_there_was_and_nothing_that_is_given_anew() {
    let world = World::new(true);
    world.add("1", 2, None).await.unwrap();
    world.leave("acme=1");
    // The caller was not heard, and asks anew.
    assert_eq!(world.add("1", 1, None).await.unwrap()["devices"], json!(["/dev/acme0"]));
    assert!(!world.note("acme=1"));
    world.leave("acme=1");
    assert_eq!(world.del(Some("acme"), "1").await, Ok(Value::Null));
    assert!(!world.note("acme=1"), "it was heard after all");
    world.add("1", 1, None).await.unwrap();
    world.requests.catch_up().await;
    assert_eq!(world.fake.consumers().len(), 1, "it is given anew");
}

#[tokio::test]
async fn cdi34_a_note_that_could_be_of_several_types_stays_until_it_is_of_one() {
    let world = World::new(true);
    world.add_to("acme", "1", 1, None).await.unwrap();
    world.add_to("bolt", "1", 1, None).await.unwrap();
    world.leave("=1");
    world.requests.catch_up().await;
    assert_eq!((world.fake.consumers().len(), world.note("=1")), (2, true));
    assert_eq!(number(&world.del(None, "1").await), 101);
    world.del(Some("bolt"), "1").await.unwrap();
    assert!(!world.note("=1"));
    assert_eq!(world.fake.consumers().len(), 1);
}

#[tokio::test]
async fn cdi29_an_id_that_is_no_name_of_a_file_is_refused_by_the_host_too() {
    let world = World::new(true);
    for id in ["../1", "a/b", "", "a=b"] {
        assert_eq!(number(&world.add(id, 1, None).await), 100, "{id}");
        assert_eq!(number(&world.del(None, id).await), 100, "{id}");
    }
}
