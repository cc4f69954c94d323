//! What an admin decides while no host runs.

use super::*;
use crate::{NotForgotten, Recorded, accept, forget};

fn ids(dir: &std::path::Path) -> Vec<u64> {
    Recorded::read(dir).unwrap().allocations().map(|listed| listed.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_is_forgotten_by_hand_and_others_stay() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let world = start_with(POLICY, NODE, &allocations, [("fake.wasm", Fake::gpus())]);
    give(&world, "fake.com/gpu", &["0000:00:01.0"]).await;
    give(&world, "fake.com/gpu", &["0000:00:02.0"]).await;
    assert!(world.plugins.flush(TIMEOUT).await);
    drop((world, allocations));
    let [first, second] = ids(dir.path()).try_into().unwrap();
    let none = forget(dir.path(), 99).unwrap_err();
    assert!(matches!(none, NotForgotten::Unknown(99)), "{none}");
    let forgotten = forget(dir.path(), first).unwrap();
    assert_eq!((forgotten.id, forgotten.resource.as_str()), (first, "fake.com/gpu"));
    assert_eq!(ids(dir.path()), [second]);
    assert!(matches!(forget(dir.path(), first), Err(NotForgotten::Unknown(_))));
    assert_eq!(accept(dir.path()).unwrap(), None, "nothing was in doubt");
    assert_eq!(ids(dir.path()), [second]);
}

#[test]
fn what_is_known_is_taken_for_all_where_an_admin_says_so() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("handed-out.json"), "{\"version\": 1, \"handed_").unwrap();
    let incomplete = forget(dir.path(), 1).unwrap_err();
    assert!(
        matches!(&incomplete, NotForgotten::Incomplete(why) if why.contains("handed-out.json cannot be understood")),
        "{incomplete}"
    );
    let why = accept(dir.path()).unwrap().unwrap();
    assert!(why.contains("it is not known yet what pods have"), "{why}");
    assert_eq!(Allocations::open(dir.path()).unwrap().trouble(), None);
    assert_eq!(accept(dir.path()).unwrap(), None);
}
