//! What is kept, for how long, and who asks for it.

use super::*;
use std::sync::Barrier;

#[test]
fn what_was_pulled_once_needs_no_registry_any_more() {
    let (dir, artifact) = (tempfile::tempdir().unwrap(), Pushed::new(b"component"));
    let fake = artifact.serve();
    let (reference, other) = (artifact.at(&fake), Pushed::new(b"other").at(&fake));
    let first = store(dir.path());
    assert_eq!(first.kept(&reference, WANTED), None);
    assert_eq!(first.get(&reference, WANTED).unwrap(), b"component");
    let missing = failed(first.get(&other, WANTED));
    assert!(missing.ends_with("is not in its registry, or may not be seen with these credentials"), "{missing}");
    let counts = first.counts();
    assert_eq!((counts.good, counts.refused, counts.failed), (1, 0, 1));
    assert!(counts.kept > 100);
    drop(fake);
    for again in [store(dir.path()), store_with(dir.path(), false, None)] {
        assert_eq!(again.get(&reference, WANTED).unwrap(), b"component");
        assert_eq!(again.kept(&reference, WANTED), Some(b"component".to_vec()));
        assert_eq!(again.counts().good, 0, "no registry was asked");
    }
    let down = failed(store(dir.path()).get(&other, WANTED));
    assert!(down.contains("Connection refused"), "{down}");
    let offline = failed(store_with(dir.path(), false, None).get(&other, WANTED));
    assert!(offline.contains("and nothing is pulled here"), "{offline}");
}

#[test]
fn what_several_plugins_name_is_pulled_once() {
    let (dir, artifact) = (tempfile::tempdir().unwrap(), Pushed::new(&[7; 100_000]));
    let fake = artifact.serve();
    let (store, reference, start) = (store(dir.path()), artifact.at(&fake), Barrier::new(8));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                assert_eq!(store.get(&reference, WANTED).unwrap().len(), 100_000);
            });
        }
    });
    let (manifest, blob) = artifact.paths();
    assert_eq!((fake.count(&manifest), fake.count(&blob)), (1, 1));
    assert_eq!(store.progress(reference.digest), None);
}

/// A pull that waits for one registry holds up none that waits for another.
#[test]
fn a_registry_that_says_nothing_costs_only_what_it_has() {
    let (dir, artifact) = (tempfile::tempdir().unwrap(), Pushed::new(b"component"));
    let (held, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let silent = Fake::new(move |_| {
        let _ = gate.lock().unwrap().recv();
        Answer::status(404)
    });
    let (fake, store) = (artifact.serve(), store(dir.path()));
    let stuck = Pushed::new(b"stuck").at(&silent);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| failed(store.get(&stuck, WANTED)));
        while silent.seen().is_empty() {
            std::thread::yield_now();
        }
        let from = format!("pulling from 127.0.0.1:{}/vendor/gpu", silent.port());
        assert_eq!(store.progress(stuck.digest), Some(from));
        assert_eq!(store.get(&artifact.at(&fake), WANTED).unwrap(), b"component");
        // Whatever else it is asked for is answered at once.
        drop(held);
        assert!(waiting.join().unwrap().contains("is not in its registry"));
    });
}

#[test]
fn what_went_bad_in_the_cache_is_thrown_away_and_pulled_again() {
    let (dir, artifact) = (tempfile::tempdir().unwrap(), Pushed::new(b"component"));
    let fake = artifact.serve();
    let (store, reference) = (store(dir.path()), artifact.at(&fake));
    store.get(&reference, WANTED).unwrap();
    let layer = dir.path().join("components").join(reference.digest.hex()).join("layer");
    std::fs::write(&layer, b"something").unwrap();
    assert_eq!(store.kept(&reference, WANTED), None);
    assert_eq!(store.get(&reference, WANTED).unwrap(), b"component");
    assert_eq!(std::fs::read(layer).unwrap(), b"component");
    assert_eq!(fake.count(&artifact.paths().1), 2);
}

#[test]
fn where_nothing_can_be_kept_it_is_used_all_the_same() {
    let (dir, artifact) = (tempfile::tempdir().unwrap(), Pushed::new(b"component"));
    let (fake, cache) = (artifact.serve(), dir.path().join("components"));
    std::fs::write(&cache, b"no directory").unwrap();
    let store = store(dir.path());
    assert_eq!(store.get(&artifact.at(&fake), WANTED).unwrap(), b"component");
    assert_eq!(std::fs::read(&cache).unwrap(), b"no directory");
}

#[test]
fn an_index_of_one_is_followed_and_everything_on_the_way_is_kept() {
    let (dir, artifact) = (tempfile::tempdir().unwrap(), Pushed::new(b"component"));
    let entry = serde_json::to_string(&Descriptor::of(MANIFEST, &artifact.manifest)).unwrap();
    let index = format!(r#"{{"schemaVersion":2,"manifests":[{entry}]}}"#).into_bytes();
    let (path, bytes) = (format!("/v2/vendor/gpu/manifests/{}", digest(&index)), index.clone());
    let ((manifest, blob), own, layer) = (artifact.paths(), artifact.manifest.clone(), artifact.layer.clone());
    let fake = Fake::new(move |request| match &request.path {
        asked if *asked == path => Answer::ok(&bytes),
        asked if *asked == manifest => Answer::ok(&own),
        asked if *asked == blob => Answer::ok(&layer),
        _ => Answer::status(404),
    });
    let reference = PinnedReference { digest: digest(&index), ..artifact.at(&fake) };
    assert_eq!(store(dir.path()).get(&reference, WANTED).unwrap(), b"component");
    drop(fake);
    assert_eq!(store(dir.path()).get(&reference, WANTED).unwrap(), b"component");
}

/// A store that keeps no more than what `roomy` artifacts of 400,000 bytes take.
fn small(dir: &Path, roomy: u64) -> Store {
    Store::new(StoreSettings {
        cache: dir.join("components"),
        most: ByteSize(roomy * 401_000),
        pull: true,
        registries: Registries { plain_loopback: true, ..Registries::default() },
        puller: puller(),
    })
}

fn large(n: u8) -> Pushed {
    Pushed::new(&vec![n; 400_000])
}

#[test]
fn what_a_host_has_used_and_does_not_name_any_more_goes() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), 2);
    let kept = |digest: &devgate_types::Digest| dir.path().join("components").join(digest.hex()).exists();
    let mut rolled_out = Vec::new();
    for n in 0..4 {
        let artifact = large(n);
        let fake = artifact.serve();
        let reference = artifact.at(&fake);
        store.keep(rolled_out.last().copied().into_iter().chain([reference.digest]).collect());
        store.get(&reference, WANTED).unwrap();
        store.keep([reference.digest].into());
        rolled_out.push(reference.digest);
    }
    assert_eq!(rolled_out.iter().map(kept).collect::<Vec<_>>(), [false, false, true, true]);
}

#[test]
fn who_does_not_know_the_policy_throws_nothing_away_and_fills_no_disk() {
    let dir = tempfile::tempdir().unwrap();
    let (named, second, third) = (large(0), large(1), large(2));
    let get = |artifact: &Pushed, store: &Store| {
        let fake = artifact.serve();
        assert_eq!(store.get(&artifact.at(&fake), WANTED).unwrap(), artifact.layer);
    };
    let host = small(dir.path(), 2);
    host.keep([digest(&named.manifest)].into());
    get(&named, &host);
    for artifact in [&second, &third] {
        get(artifact, &small(dir.path(), 2));
    }
    let kept = |artifact: &Pushed| {
        let name = digest(&artifact.manifest).hex();
        dir.path().join("components").join(name).exists()
    };
    assert_eq!([kept(&named), kept(&second), kept(&third)], [true, true, false]);
}
