//! Registries that fail, lie, or want something.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A registry that has the artifact, but for what a test answers itself.
fn but(artifact: &Pushed, other: impl Fn(&str, u32) -> Option<Answer> + Send + Sync + 'static) -> Fake {
    let ((manifest, blob), bytes, layer) = (artifact.paths(), artifact.manifest.clone(), artifact.layer.clone());
    let asked = AtomicU32::new(0);
    Fake::new(move |request| {
        let what = if request.path == manifest { "manifest" } else { &request.path };
        let what = if request.path == blob { "blob" } else { what };
        other(what, asked.fetch_add(1, Ordering::SeqCst)).unwrap_or_else(|| match what {
            "manifest" => Answer::ok(&bytes),
            "blob" => Answer::ok(&layer),
            _ => Answer::status(404),
        })
    })
}

fn get(fake: &Fake, artifact: &Pushed) -> (Result<Vec<u8>, Error>, bool) {
    let dir = tempfile::tempdir().unwrap();
    let result = store(dir.path()).get(&artifact.at(fake), WANTED);
    (result, dir.path().join("components").exists())
}

#[test]
fn other_bytes_than_were_asked_for_are_refused_and_not_kept() {
    let artifact = Pushed::new(b"component");
    let blob = but(&artifact, |what, _| (what == "blob").then(|| Answer::ok(b"componenu")));
    let (result, kept) = get(&blob, &artifact);
    assert!(refused(result).contains("sent other bytes than sha256:") && !kept);
    let manifest = but(&artifact, |what, _| (what == "manifest").then(|| Answer::ok(&Pushed::new(b"other").manifest)));
    let (result, kept) = get(&manifest, &artifact);
    assert!(refused(result).ends_with("has a manifest with other bytes than its digest says") && !kept);
}

#[test]
fn a_body_without_an_end_is_not_read_to_its_end() {
    let artifact = Pushed::new(b"component");
    for what in ["manifest", "blob"] {
        let fake = but(&artifact, move |asked, _| (asked == what).then(Answer::endless));
        let (result, kept) = get(&fake, &artifact);
        let why = failed(result);
        assert!(why.contains("sent more than the ") && !kept, "{why}");
    }
    // What a manifest says of its size is held against the limit before anything is asked for.
    let large = Pushed::new(&vec![0; (1 << 20) + 1]);
    let fake = large.serve();
    let why = refused(get(&fake, &large).0);
    assert!(why.contains("has 1048577 bytes, more than 1MiB (limits.component-size)"), "{why}");
    assert_eq!(fake.count(&large.paths().1), 0);
}

#[test]
fn what_breaks_off_is_a_fault_and_nothing_half_is_kept() {
    let artifact = Pushed::new(b"component");
    let cut = |what: &str, _| (what == "blob").then(|| Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncomp"));
    let (result, kept) = get(&but(&artifact, cut), &artifact);
    assert!(!failed(result).is_empty() && !kept);
    let garbage = but(&artifact, |_, _| Some(Answer::raw("\0\0\0")));
    assert!(!failed(get(&garbage, &artifact).0).is_empty());
}

#[test]
fn a_registry_that_is_busy_is_asked_again() {
    let artifact = Pushed::new(b"component");
    let busy = but(&artifact, |_, n| match n {
        0 => Some(Answer::with(429, "Retry-After: 1")),
        1 => Some(Answer::status(503)),
        _ => None,
    });
    assert_eq!(get(&busy, &artifact).0.unwrap(), b"component");
    let always = but(&artifact, |_, _| Some(Answer::status(500)));
    let why = failed(get(&always, &artifact).0);
    assert!(why.contains("answered 500"), "{why}");
    assert_eq!(always.count(&artifact.paths().0), 3);
}

/// The digest of the file in place of the artifact's, as it is easily taken for that.
#[test]
fn the_digest_of_a_file_is_told_from_one_that_is_not_there() {
    let artifact = Pushed::new(b"component");
    for status in [404, 500] {
        let (blob, layer) = (artifact.paths().1, artifact.layer.clone());
        let fake = Fake::new(move |request| match &request.path {
            path if *path == blob => Answer::ok(&layer),
            _ => Answer::status(status),
        });
        let dir = tempfile::tempdir().unwrap();
        let mut named = artifact.at(&fake);
        named.digest = digest(&artifact.layer);
        let why = failed(store(dir.path()).get(&named, WANTED));
        assert!(why.contains("is the digest of a file, and not of an artifact"), "{status}: {why}");
        named.digest = digest(b"nowhere");
        let why = failed(store(dir.path()).get(&named, WANTED));
        assert!(!why.contains("digest of a file"), "{status}: {why}");
    }
}

#[test]
fn credentials_go_to_their_registry_alone() {
    let (dir, artifact) = (tempfile::tempdir().unwrap(), Pushed::new(b"component"));
    let layer = artifact.layer.clone();
    let elsewhere = Fake::new(move |_| Answer::ok(&layer));
    let to = format!("Location: http://localhost:{}/signed?x=y", elsewhere.port());
    let (paths, bytes) = (artifact.paths(), artifact.manifest.clone());
    let fake = Fake::new(move |request| match &request.authorization {
        None => Answer::with(401, "WWW-Authenticate: Basic realm=\"x\""),
        Some(_) if request.path == paths.0 => Answer::ok(&bytes),
        Some(_) => Answer::with(307, &to),
    });
    let config = dir.path().join("config.json");
    let text = format!(r#"{{"auths": {{"127.0.0.1:{}": {{"auth": "YW5uYTpzZWNyZXQ="}}}}}}"#, fake.port());
    std::fs::write(&config, text).unwrap();
    let store = store_with(dir.path(), true, Some(&config));
    assert_eq!(store.get(&artifact.at(&fake), WANTED).unwrap(), b"component");
    let shown = fake.seen().last().unwrap().authorization.clone();
    assert_eq!(shown.as_deref(), Some("Basic YW5uYTpzZWNyZXQ="));
    let seen = elsewhere.seen();
    assert_eq!((seen.len(), seen[0].path.as_str(), seen[0].authorization.as_deref()), (1, "/signed?x=y", None));
}

/// A store with these credentials at the registry.
fn store_of(dir: &Path, fake: &Fake, entry: &str) -> Store {
    let config = dir.join("config.json");
    let text = format!(r#"{{"auths": {{"127.0.0.1:{}": {entry}}}}}"#, fake.port());
    std::fs::write(&config, text).unwrap();
    store_with(dir, true, Some(&config))
}

#[test]
fn what_a_registry_redirects_to_cannot_ask_for_its_credentials() {
    let (dir, artifact) = (tempfile::tempdir().unwrap(), Pushed::new(b"component"));
    // Its realm is its own address, which is only known once it listens.
    let realm = Arc::new(AtomicU32::new(0));
    let port = Arc::clone(&realm);
    let elsewhere = Fake::new(move |request| match &request.path {
        path if path.starts_with("/token") => Answer::ok(br#"{"token": "x"}"#),
        _ => {
            let port = port.load(Ordering::SeqCst);
            let asked = format!("WWW-Authenticate: Bearer realm=\"http://localhost:{port}/token\"");
            Answer::with(401, &asked)
        }
    });
    realm.store(elsewhere.port().into(), Ordering::SeqCst);
    let to = format!("Location: http://localhost:{}/blob", elsewhere.port());
    let fake = but(&artifact, move |what, _| (what == "blob").then(|| Answer::with(307, &to)));
    let store = store_of(dir.path(), &fake, r#"{"auth": "YW5uYTpzZWNyZXQ="}"#);
    let why = failed(store.get(&artifact.at(&fake), WANTED));
    assert!(why.contains("refuses pulling as anna"), "{why}");
    let seen = elsewhere.seen();
    assert_eq!((seen.len(), seen[0].authorization.as_deref()), (1, None), "{seen:?}");
}

#[test]
fn a_token_to_get_others_with_goes_nowhere_but_to_the_token_service() {
    let (dir, artifact) = (tempfile::tempdir().unwrap(), Pushed::new(b"component"));
    let elsewhere = Fake::new(|_| Answer::ok(br#"{"token": "x"}"#));
    let to = format!("Location: http://localhost:{}/token", elsewhere.port());
    let tokens = Fake::new(move |_| Answer::with(307, &to));
    let asked = format!("WWW-Authenticate: Bearer realm=\"http://localhost:{}/token\"", tokens.port());
    let fake = but(&artifact, move |_, _| Some(Answer::with(401, &asked)));
    let store = store_of(dir.path(), &fake, r#"{"identitytoken": "secret"}"#);
    let why = failed(store.get(&artifact.at(&fake), WANTED));
    assert!(why.contains("answered 307"), "{why}");
    assert_eq!((tokens.seen().len(), elsewhere.seen().len()), (1, 0));
}

/// A proxy is another machine: its loopback is not ours, and what is sent to it can be read on the way.
#[test]
fn a_registry_on_a_loopback_address_is_not_asked_through_a_proxy() {
    const INNER: &str = "DEVGATE_TEST_BEHIND_A_PROXY";
    if std::env::var_os(INNER).is_none() {
        let own = std::env::current_exe().unwrap();
        let test = "hostile::a_registry_on_a_loopback_address_is_not_asked_through_a_proxy";
        let mut again = std::process::Command::new(own);
        again.args([test, "--exact"]).env(INNER, "1").env_remove("NO_PROXY").env_remove("no_proxy");
        // No process listens there.
        for name in ["http_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
            again.env(name, "http://127.0.0.1:1");
        }
        let out = again.output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let artifact = Pushed::new(b"component");
    let fake = artifact.serve();
    assert_eq!(get(&fake, &artifact).0.unwrap(), b"component");
}

#[test]
fn a_redirect_to_what_is_not_tls_is_not_followed() {
    let artifact = Pushed::new(b"component");
    let fake = but(&artifact, |_, _| Some(Answer::with(307, "Location: http://registry.example.com/x")));
    let why = failed(get(&fake, &artifact).0);
    assert!(why.contains("it redirects to something else than HTTPS"), "{why}");
}

#[test]
fn a_token_or_a_challenge_that_is_none_is_a_fault_and_no_panic() {
    let artifact = Pushed::new(b"component");
    let with_realm = |realm: String| {
        but(&artifact, move |what, _| {
            if what.starts_with("/token") {
                return Some(Answer::ok(br#"{"token": "a\r\nX-Injected: b"}"#));
            }
            Some(Answer::with(401, &format!("WWW-Authenticate: Bearer realm=\"{realm}\",service=\"s\"")))
        })
    };
    let why = failed(get(&with_realm("http://registry.example.com/token".to_owned()), &artifact).0);
    assert!(why.contains("asks to show credentials somewhere else than over HTTPS"), "{why}");
    // It is asked for a token at its own address, which is only known once it listens.
    let tokens = with_realm(String::new());
    let why = failed(get(&with_realm(format!("http://127.0.0.1:{}/token", tokens.port())), &artifact).0);
    assert!(why.contains("gave a token that is none"), "{why}");
    let odd = but(&artifact, |_, _| Some(Answer::with(401, "WWW-Authenticate: Negotiate")));
    let why = failed(get(&odd, &artifact).0);
    assert!(why.contains("asks for credentials in a way that is not known here"), "{why}");
}

#[test]
fn what_a_registry_says_cannot_act_on_a_terminal() {
    let artifact = Pushed::new(b"component");
    let body = r#"{"errors": [{"code": "DENIED", "message": "no\u001b[31m"}]}"#;
    let head = format!("HTTP/1.1 403 X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let fake = but(&artifact, move |_, _| Some(Answer::raw(&head)));
    let why = failed(get(&fake, &artifact).0);
    assert!(
        why.ends_with(r"refuses pulling without credentials; give it some (--registry-config) (DENIED: no\u{1b}[31m)"),
        "{why}"
    );
}
