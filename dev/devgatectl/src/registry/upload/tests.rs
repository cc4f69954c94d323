use super::*;
use crate::registry::About;
use devgate_oci::{Manifest, Registries};
use devgate_types::{ByteSize, Digest};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// What a client asked for.
#[derive(Debug, Clone, Default)]
struct Request {
    method: String,
    path: String,
    authorization: Option<String>,
    body: Vec<u8>,
}

type Seen = Arc<Mutex<Vec<Request>>>;

/// A registry that answers with a status, headers and a body until the test ends: its port, and what was asked for.
fn serve(answer: impl Fn(&Request) -> (u16, String, Vec<u8>) + Send + 'static) -> (u16, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, seen) = (listener.local_addr().unwrap().port(), Seen::default());
    let note = Arc::clone(&seen);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let Some(request) = read(&stream) else { continue };
            note.lock().unwrap().push(request.clone());
            let (status, headers, body) = answer(&request);
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
        }
    });
    (port, seen)
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let (mut request, mut length, mut line) = (Request::default(), 0, String::new());
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ').map(str::to_owned);
    (request.method, request.path) = (words.next()?, words.next()?);
    for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ")?;
        match name.to_lowercase().as_str() {
            "authorization" => request.authorization = Some(value.to_owned()),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

/// Registries with a password for the one on this port.
fn registries(dir: &Path, port: u16) -> Registries {
    let config = dir.join("config.json");
    let text = format!(r#"{{"auths": {{"127.0.0.1:{port}": {{"auth": "YW5uYTpzZWNyZXQ="}}}}}}"#);
    std::fs::write(&config, text).unwrap();
    Registries { config: Some(config), authorities: Vec::new(), plain_loopback: true }
}

fn artifact() -> Artifact {
    Artifact::new(b"component".to_vec(), &About::default()).unwrap()
}

fn at(port: u16) -> Reference {
    format!("127.0.0.1:{port}/vendor/gpu:1").parse().unwrap()
}

#[test]
fn a_push_without_a_tag_or_to_another_digest_is_refused_before_anything_is_asked() {
    let push = |to: &str| {
        let to = to.parse().unwrap();
        push(&Registries::default(), &artifact(), &to, false, &Progress::default()).unwrap_err()
    };
    insta::assert_snapshot!(push("registry.invalid/a"), @"registry.invalid/a: has no tag; write one behind it, such as :1.2.0");
    let error = push(&format!("registry.invalid/a:1@{}", Digest([0; 32]))).to_string();
    assert!(error.contains("it has another digest here, sha256:"), "{error}");
}

/// Also where it says itself that a file is to be sent elsewhere, which is no redirect that the client follows.
#[test]
fn what_a_push_is_sent_to_gets_no_credentials_of_its_registry() {
    let dir = tempfile::tempdir().unwrap();
    let (elsewhere, sent) = serve(|_| (201, String::new(), Vec::new()));
    let to = format!("Location: http://localhost:{elsewhere}/upload\r\n");
    let (port, seen) = serve(move |request| match &request.authorization {
        None => (401, "WWW-Authenticate: Basic realm=\"x\"\r\n".to_owned(), Vec::new()),
        Some(_) if request.path.ends_with("/blobs/uploads/") => (202, to.clone(), Vec::new()),
        Some(_) if request.path.ends_with("/manifests/1") && request.method == "PUT" => {
            (201, String::new(), Vec::new())
        }
        Some(_) => (404, String::new(), Vec::new()),
    });
    let pushed = push(&registries(dir.path(), port), &artifact(), &at(port), false, &Progress::default());
    assert!(!pushed.unwrap().was_there);
    assert!(seen.lock().unwrap().iter().any(|request| request.authorization.is_some()));
    let sent = sent.lock().unwrap();
    assert_eq!(sent.len(), 2, "both files: {sent:?}");
    assert!(sent.iter().all(|request| request.authorization.is_none()), "{sent:?}");
}

/// What was pushed is what a host can pull, by its digest alone, and is not pushed twice.
#[test]
fn what_was_pushed_is_there_by_its_digests() {
    let dir = tempfile::tempdir().unwrap();
    let kept: Arc<Mutex<HashMap<String, Vec<u8>>>> = Arc::default();
    let there = Arc::clone(&kept);
    let (port, seen) = serve(move |request| {
        let (mut kept, path) = (kept.lock().unwrap(), &request.path);
        match request.method.as_str() {
            "POST" => return (202, "Location: /v2/vendor/gpu/up?state=7\r\n".to_owned(), Vec::new()),
            "PUT" if path.contains("/manifests/") => {
                let by_digest = format!("/v2/vendor/gpu/manifests/{}", digest(&request.body));
                kept.insert(by_digest, request.body.clone());
                kept.insert(path.clone(), request.body.clone());
            }
            "PUT" => {
                let named = path.strip_prefix("/v2/vendor/gpu/up?state=7&digest=").unwrap();
                assert_eq!(named.replace("%3A", ":"), digest(&request.body).to_string());
                let by_digest = format!("/v2/vendor/gpu/blobs/{}", digest(&request.body));
                kept.insert(by_digest, request.body.clone());
            }
            _ => {
                let found = kept.get(path).cloned();
                return found.map_or((404, String::new(), Vec::new()), |bytes| (200, String::new(), bytes));
            }
        }
        (201, String::new(), Vec::new())
    });
    let registries = registries(dir.path(), port);
    let pushed = || push(&registries, &artifact(), &at(port), false, &Progress::default()).unwrap();
    let first = pushed();
    assert!(!first.was_there);
    let got = |what: &str, digest: Digest| there.lock().unwrap()[&format!("/v2/vendor/gpu/{what}/{digest}")].clone();
    let manifest = got("manifests", first.reference.digest);
    let Manifest::One(layer, _) = Manifest::read(&manifest, ByteSize::mib(1)).unwrap() else {
        panic!("an index");
    };
    assert_eq!(got("blobs", layer.sha256().unwrap()), b"component");
    let asked = seen.lock().unwrap().len();
    assert!(pushed().was_there);
    assert_eq!(seen.lock().unwrap().len(), asked + 1, "its manifest alone");
}

/// By the registry itself where that says so, else in the list that stands in for that, once.
#[test]
fn what_refers_to_an_artifact_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let to = at(1).pinned_to(Digest([7; 32]));
    let tag = format!("/v2/vendor/gpu/manifests/sha256-{}", to.digest.hex());
    for lists in [true, false] {
        let list: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
        let (kept, named) = (Arc::clone(&list), tag.clone());
        let (port, seen) = serve(move |request| match (request.method.as_str(), request.path == named) {
            ("PUT", true) => {
                *kept.lock().unwrap() = Some(request.body.clone());
                (201, String::new(), Vec::new())
            }
            (_, true) => {
                kept.lock().unwrap().clone().map_or((404, String::new(), Vec::new()), |it| (200, String::new(), it))
            }
            ("PUT", _) if lists => (201, "OCI-Subject: sha256:x\r\n".to_owned(), Vec::new()),
            ("PUT", _) => (201, String::new(), Vec::new()),
            ("POST", _) => (202, "Location: /v2/vendor/gpu/up\r\n".to_owned(), Vec::new()),
            _ => (404, String::new(), Vec::new()),
        });
        let document = |text: &str| {
            let subject = Some(devgate_oci::Descriptor::of(MANIFEST, b"subject"));
            let (kind, media_type, text) = ("application/x", "text/plain", text.as_bytes().to_vec());
            Artifact::of_document(crate::registry::Document { kind, media_type, text, subject, annotations: [].into() })
                .unwrap()
        };
        let registries = registries(dir.path(), port);
        let to = at(port).pinned_to(to.digest);
        for text in ["one", "two", "one"] {
            let attached = wait(async {
                let mut session = crate::registry::open(&registries, &to.repository, true)?;
                crate::registry::attach(&mut session, &to, &document(text)).await
            });
            attached.unwrap();
        }
        let listed = list.lock().unwrap().clone();
        let listed = listed.map(|text| serde_json::from_slice::<serde_json::Value>(&text).unwrap());
        if lists {
            assert_eq!(listed, None);
            continue;
        }
        let listed = listed.unwrap();
        let manifests = listed["manifests"].as_array().unwrap();
        assert_eq!(manifests.len(), 2, "{listed}");
        assert_eq!(manifests[0]["artifactType"], "application/x");
        assert_eq!(manifests[1]["digest"], document("two").digest().to_string());
        let puts = seen.lock().unwrap().iter().filter(|request| request.method == "PUT" && request.path == tag).count();
        assert_eq!(puts, 2, "what is in it is not put again");
    }
}
