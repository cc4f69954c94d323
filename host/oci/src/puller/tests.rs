//! What a puller may say, and what comes of it: one that a registry has taken over gives nothing that was not asked for, and costs no more.

use super::*;
use crate::manifest::{CONFIG, LAYER, MANIFEST};
use crate::{Descriptor, Error, digest};
use devgate_types::{ByteSize, Digest};
use std::io::Write;
use std::os::unix::net::UnixStream;

const KEY: &str = include_str!("../signature/sigstore.pem");

fn frame(kind: Kind) -> Vec<u8> {
    let message = wire::Answer { kind: Some(kind) };
    let mut frame = u32::try_from(message.encoded_len()).unwrap().to_le_bytes().to_vec();
    frame.extend(message.encode_to_vec());
    frame
}

fn manifest(layer: &[u8]) -> Vec<u8> {
    let [config, layer] = [(CONFIG, &b"{}"[..]), (LAYER, layer)]
        .map(|(kind, bytes)| serde_json::to_string(&Descriptor::of(kind, bytes)).unwrap());
    format!(r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{config},"layers":[{layer}]}}"#).into_bytes()
}

fn at(digest: Digest) -> PinnedReference {
    let reference: Reference = "registry.example.com/vendor/gpu".parse().unwrap();
    reference.pinned_to(digest)
}

fn is(bytes: Vec<u8>) -> Vec<u8> {
    frame(Kind::Manifest(bytes))
}

fn piece(bytes: &[u8]) -> Vec<u8> {
    frame(Kind::Piece(bytes.to_vec()))
}

fn signature(length: usize) -> Vec<u8> {
    frame(Kind::Signature(wire::Signature { bundle: "x".repeat(length), ..wire::Signature::default() }))
}

fn done() -> Vec<u8> {
    frame(Kind::Done(true))
}

/// How it ends where a puller says this, and then no more, or has ended.
fn heard(taken: &mut Taken<'_>, said: Vec<u8>, stays: bool) -> String {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let puller = std::thread::spawn(move || {
        let _ = theirs.write_all(&said);
        stays.then_some(theirs)
    });
    let ended = match listen(ours.into(), Instant::now() + Duration::from_secs(1), taken) {
        Ok(()) => "done".to_owned(),
        Err(Ended::Failed(Error::Refused(text))) => format!("refused: {text}"),
        Err(Ended::Failed(Error::Host(text))) => format!("failed: {text}"),
        Err(Ended::Socket(why)) => why.to_string(),
    };
    drop(puller.join().unwrap());
    ended
}

/// The same for a pull of an artifact whose layer is these bytes.
fn pulled(layer: &[u8], keys: Option<&[PublicKey]>, said: &[Vec<u8>]) -> String {
    let (reference, progress) = (at(digest(&manifest(layer))), Progress::default());
    let most = ByteSize::mib(1);
    let mut taken = Taken::artifact(&reference, Wanted { most, keys }, &progress);
    let ended = heard(&mut taken, said.concat(), true);
    let entry = taken.entry;
    assert!(entry.size() <= (4 << 20), "{} bytes were taken", entry.size());
    match ended.as_str() {
        "done" => match entry.component(reference.digest, most) {
            Ok(bytes) => format!("{} bytes", bytes.len()),
            Err(why) => format!("refused: {why}"),
        },
        _ => ended,
    }
}

#[test]
fn what_was_asked_for_is_taken_whatever_pieces_it_comes_in() {
    let own = || is(manifest(b"component"));
    let said = [own(), piece(b"com"), frame(Kind::Note("slow".into())), piece(b"ponent"), done()];
    assert_eq!(pulled(b"component", None, &said), "9 bytes");
}

#[test]
fn what_is_not_in_the_protocol_or_half_of_it_is_not_waited_for() {
    let protocol = "it says something that is not in the protocol: ";
    for (said, why) in [
        (vec![3, 0, 0, 0, 0xff, 0xff, 0xff], "not a message"),
        (vec![0xff; 64], "too long"),
        ((2_u32 << 20).to_le_bytes().to_vec(), "too long"),
        (vec![0; 4], "not an answer"),
    ] {
        assert_eq!(pulled(b"component", None, &[said]), format!("{protocol}{why}"));
    }
    let late = "it does not answer";
    let own = is(manifest(b"component"));
    for said in [Vec::new(), vec![9, 0], own[..own.len() - 1].to_vec()] {
        assert_eq!(pulled(b"component", None, &[said]), late);
    }
    let ended = heard(&mut Taken::manifest(), own[..9].to_vec(), false);
    assert_eq!(ended, "it has ended");
}

#[test]
fn more_than_was_asked_for_is_not_taken() {
    let protocol = "it says something that is not in the protocol: ";
    let own = || is(manifest(b"component"));
    let layer = "a piece of a layer that was not asked for";
    let signed = "a signature that was not asked for";
    let long = "more of the layer than its manifest says";
    for (said, why) in [
        (vec![piece(b"component")], layer),
        (vec![own(), own()], "a manifest that was not asked for"),
        (vec![is(vec![b' '; (1 << 20) + 1])], "a manifest that is too long"),
        (vec![own(), signature(1)], signed),
        (vec![own(), piece(b"component"), piece(b"!")], long),
        (vec![own(), piece(&[7; 100_000])], long),
        (vec![own(), piece(b"")], long),
        (vec![frame(Kind::Note("again".into())); 300], "too many notes"),
    ] {
        assert_eq!(pulled(b"component", None, &said), format!("{protocol}{why}"));
    }
    let keys = [PublicKey::from_pem(KEY).unwrap()];
    let mut many = vec![own()];
    many.extend(vec![signature(9); 65]);
    assert_eq!(pulled(b"component", Some(&keys), &many), format!("{protocol}{signed}"));
    let large = [own(), signature(128 << 10 | 1)];
    assert_eq!(pulled(b"component", Some(&keys), &large), format!("{protocol}a signature that is too long"));
    for said in [piece(b"x"), signature(1)] {
        assert!(heard(&mut Taken::manifest(), said, true).contains("was not asked for"));
    }
    for said in [piece(b"x"), own()] {
        assert!(heard(&mut Taken::signatures(), said, true).contains("was not asked for"));
    }
    let two = [own(), own()].concat();
    assert!(heard(&mut Taken::manifest(), two, true).contains("was not asked for"));
}

#[test]
fn other_bytes_than_were_asked_for_are_refused() {
    let own = || is(manifest(b"component"));
    for (said, why) in [
        (
            vec![is(manifest(b"other"))],
            "refused: registry.example.com/vendor/gpu@DIGEST: has a manifest with other bytes than its digest says",
        ),
        (vec![own(), piece(b"componenu"), done()], "refused: has a layer with other bytes than its manifest says"),
        (vec![own(), piece(b"comp"), done()], "refused: has a layer with other bytes than its manifest says"),
        (vec![own(), done()], "refused: has a layer with other bytes than its manifest says"),
        (vec![done()], "refused: is not whole"),
    ] {
        let why = why.replace("DIGEST", &digest(&manifest(b"component")).to_string());
        assert_eq!(pulled(b"component", None, &said), why);
    }
    // What is larger than the policy lets it be is refused before any of it comes.
    let large = vec![0; (1 << 20) + 1];
    let why = pulled(&large, None, &[is(manifest(&large))]);
    assert!(why.ends_with("has 1048577 bytes, more than 1MiB (limits.component-size)"), "{why}");
}

#[test]
fn a_layer_that_no_key_has_signed_is_not_taken_whatever_the_puller_thinks_of_it() {
    let keys = [PublicKey::from_pem(KEY).unwrap()];
    let own = || is(manifest(b"component"));
    let why = pulled(b"component", Some(&keys), &[own(), piece(b"component"), done()]);
    assert!(why.starts_with("refused: ") && why.contains("has no signature in its registry"), "{why}");
    let why = pulled(b"component", Some(&keys), &[own(), signature(9), piece(b"component"), done()]);
    assert!(why.contains("is not signed by a key of the policy"), "{why}");
}

#[test]
fn what_it_says_of_itself_is_escaped_and_cut() {
    let failure = |refused, text: &str| {
        let text = text.to_owned();
        let mut taken = Taken::manifest();
        heard(&mut taken, frame(Kind::Failed(wire::Failure { refused, text })), true)
    };
    assert_eq!(failure(false, "no\u{1b}[31m\n"), r"failed: no\u{1b}[31m\n");
    assert_eq!(failure(true, r"no\u{1b}"), r"refused: no\u{1b}");
    assert!(failure(false, &"x".repeat(1 << 19)).len() < 2_000);
}

/// It is listened to for so long and no longer, also where it always has something to say.
#[test]
fn one_that_talks_without_an_end_is_late() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let puller = std::thread::spawn(move || while theirs.write_all(&piece(b"x")).is_ok() {});
    let layer = vec![b'x'; 64 << 20];
    let (reference, progress) = (at(digest(&manifest(&layer))), Progress::default());
    let wanted = Wanted { most: ByteSize::mib(64), keys: None };
    let mut taken = Taken::artifact(&reference, wanted, &progress);
    taken.manifest_is(manifest(&layer)).unwrap();
    let ended = listen(ours.into(), Instant::now() + Duration::from_millis(200), &mut taken);
    assert!(matches!(ended, Err(Ended::Socket(SocketError::Late))), "{ended:?}");
    puller.join().unwrap();
}
