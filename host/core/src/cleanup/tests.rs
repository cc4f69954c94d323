//! What is removed, and what stays.

use super::*;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

/// What became of what, by the path in `dir`.
fn told(cleaner: Cleaner, dir: &Path) -> String {
    let lines = cleaner.found().into_iter().map(|found| {
        let path = found.path.strip_prefix(dir).unwrap().display().to_string();
        let why = found.why.map(|why| format!(": {why}")).unwrap_or_default();
        format!("{:?} {} {path}{why}\n", found.outcome, found.what)
    });
    lines.collect()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Directories are made, and files written with their own names in them.
fn lay_out(dir: &Path, paths: &[&str]) {
    for path in paths {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, path.file_name().unwrap().as_encoded_bytes()).unwrap();
    }
}

fn digest(c: char) -> String {
    c.to_string().repeat(64)
}

#[test]
fn the_feature_file_goes_where_devgate_wrote_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(labels::FILE);
    fs::write(&file, format!("{}a.com/x=1\n", labels::HEADER)).unwrap();
    lay_out(dir.path(), &[labels::TEMPORARY, ".devgate-1.new", labels::LOCK, "others.features"]);
    let mut dry = Cleaner::new(true);
    dry.labels(dir.path());
    insta::assert_snapshot!(told(dry, dir.path()), @r"
    WouldRemove labels devgate.features
    WouldRemove labels .devgate.features.new
    WouldRemove labels .devgate-1.new
    WouldRemove labels .devgate.features.lock
    ");
    assert_eq!(names(dir.path()).len(), 5);
    let mut cleaner = Cleaner::new(false);
    cleaner.labels(dir.path());
    insta::assert_snapshot!(told(cleaner, dir.path()), @r"
    Removed labels devgate.features
    Removed labels .devgate.features.new
    Removed labels .devgate-1.new
    Removed labels .devgate.features.lock
    ");
    assert_eq!(names(dir.path()), ["others.features"]);
    let mut again = Cleaner::new(false);
    again.labels(dir.path());
    again.labels(&dir.path().join("not-there"));
    assert_eq!(told(again, dir.path()), "");
}

#[test]
fn a_feature_file_that_somebody_else_wrote_stays() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(labels::FILE);
    let precious = dir.path().join("precious");
    fs::write(&precious, labels::HEADER).unwrap();
    for other in 0..3 {
        match other {
            0 => fs::write(&file, "a.com/x=1\n").unwrap(),
            1 => symlink(&precious, &file).unwrap(),
            _ => fs::create_dir(&file).unwrap(),
        }
        let mut cleaner = Cleaner::new(false);
        cleaner.labels(dir.path());
        insta::allow_duplicates! {
            insta::assert_snapshot!(told(cleaner, dir.path()), @"Left labels devgate.features: devgate did not write it");
        }
        assert!(fs::symlink_metadata(&file).is_ok() && precious.exists());
        let _ = fs::remove_file(&file);
    }
}

#[test]
fn the_state_directory_goes_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("odd-name");
    let cached = format!("components/{}/layer", digest('a'));
    let more =
        ["manifest.0.json", "signatures.json", "layer.new"].map(|name| format!("components/{}/{name}", digest('a')));
    let begun = format!("components/{}.17.new/layer", digest('b'));
    let code = format!("compiled/{}-e8a4174a9659e187.code", digest('a'));
    lay_out(
        &state,
        &[
            "handed-out.json",
            "handed-out.json.probe",
            ".devgate-3f.new",
            "unhealthy.json.new",
            "device-info.json.unreadable",
        ],
    );
    lay_out(
        &state,
        &[
            "host.lock",
            "host.sock",
            "host.sock.123",
            "standby.lock",
            "allocations/journal.2",
            "allocations/snapshot.2",
            "allocations/snapshot.1.unreadable",
            "allocations/snapshot.new",
            "state/acme",
            "state/acme.new",
            "state/.devgate-2.new",
            "compiled/.devgate-1100000000.new",
            &cached,
            &begun,
            &code,
        ],
    );
    lay_out(&state, &more.each_ref().map(String::as_str));
    lay_out(dir.path(), &["precious/file"]);
    symlink(dir.path().join("precious"), state.join("state/linked")).unwrap();
    symlink(dir.path().join("precious"), state.join("ended-requests")).unwrap();
    fs::write(state.join("state").join(OsStr::from_bytes(b"\xff")), "").unwrap();
    let sweep = |dry| {
        let mut cleaner = Cleaner::new(dry);
        cleaner.state(&StateDir::look(&state).unwrap().unwrap());
        told(cleaner, &state)
    };
    let dry = sweep(true);
    insta::assert_snapshot!(dry, @r"
    WouldRemove state .devgate-3f.new
    WouldRemove state allocations
    WouldRemove cache compiled
    WouldRemove cache components
    WouldRemove state device-info.json.unreadable
    WouldRemove state ended-requests
    WouldRemove state handed-out.json
    WouldRemove state handed-out.json.probe
    WouldRemove state host.sock
    WouldRemove state host.sock.123
    WouldRemove state standby.lock
    WouldRemove state state
    WouldRemove state unhealthy.json.new
    WouldRemove state host.lock
    WouldRemove state
    ");
    assert!(state.join(&cached).exists());
    assert_eq!(sweep(false), dry.replace("WouldRemove", "Removed"));
    assert!(!state.exists());
    assert!(dir.path().join("precious/file").exists(), "no link was followed");
    assert!(StateDir::look(&state).unwrap().is_none(), "nothing is there any more");
}

/// Where the documents say that an admin's components and the audit log may be.
#[test]
fn what_an_admin_keeps_there_stays_and_so_does_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("devgate");
    lay_out(&state, &["host.lock", "state/a", "lost+found/a", "components.d/mine.wasm", "audit.log", "audit.log.1.gz"]);
    let mut cleaner = Cleaner::new(false);
    cleaner.state(&StateDir::look(&state).unwrap().unwrap());
    insta::assert_snapshot!(told(cleaner, &state), @r"
    Left state audit.log: it is the admin's
    Left state audit.log.1.gz: it is the admin's
    Left state components.d: it is the admin's
    Left state lost+found: it is the admin's
    Removed state state
    Removed state host.lock
    ");
    assert_eq!(names(&state), ["audit.log", "audit.log.1.gz", "components.d", "lost+found"]);
    assert!(state.join("components.d/mine.wasm").exists());
}

#[test]
fn a_directory_that_is_not_devgates_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    lay_out(dir.path(), &["app/main.js", "app/state/store", "file", "generic/state/store"]);
    lay_out(dir.path(), &["devgate/allocations/snapshot.3", "devgate/handed-out.json.bak"]);
    lay_out(dir.path(), &["journal/allocations/snapshot.3", "locked/host.lock", "record/unhealthy.json"]);
    fs::create_dir(dir.path().join("empty")).unwrap();
    symlink(dir.path().join("journal"), dir.path().join("link")).unwrap();
    let why = |name: &str| StateDir::look(&dir.path().join(name)).unwrap_err();
    fs::create_dir(dir.path().join("open")).unwrap();
    fs::set_permissions(dir.path().join("open"), fs::Permissions::from_mode(0o775)).unwrap();
    insta::assert_snapshot!(why("open"), @"others than its owner can write there, and could put anything there; take that from them (chmod go-w)");
    insta::assert_snapshot!(why("app"), @"main.js in it is not devgate's; see that the directory is the right one, and take that away first");
    insta::assert_snapshot!(why("devgate"), @"handed-out.json.bak in it is not devgate's; see that the directory is the right one, and take that away first");
    insta::assert_snapshot!(why("generic"), @"it does not look like devgate's: it has no allocations, no host.lock and no record of devgate's");
    insta::assert_snapshot!(why("file"), @"Not a directory (os error 20)");
    insta::assert_snapshot!(why("link"), @"it is a link; name the directory that it leads to");
    for good in ["empty", "journal", "locked", "record"] {
        assert!(StateDir::look(&dir.path().join(good)).unwrap().is_some(), "{good}");
    }
    assert!(StateDir::look(Path::new("/")).is_err());
}

/// A record of two files, as the host writes it.
const RECORD: &str = r#"{"version": 1, "written": {
    "a.com-x-1-device.json": {"resource": "a.com/x", "id": "1", "unit": "1", "text": "one"},
    "a.com-x-2-device.json": {"resource": "a.com/x", "id": "2", "unit": "2", "text": "two"},
    "../precious-device.json": {"resource": "a.com/x", "id": "3", "unit": "3", "text": "precious-device.json"}}}"#;

#[test]
fn device_info_files_go_that_say_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let (told_in, state) = (dir.path().join("dp"), dir.path().join("state"));
    lay_out(dir.path(), &["state/device-info.json", "precious-device.json", "dp/b.com-y-1-device.json"]);
    fs::write(state.join("device-info.json"), RECORD).unwrap();
    fs::write(told_in.join("a.com-x-1-device.json"), "one").unwrap();
    fs::write(told_in.join("a.com-x-2-device.json"), "another's").unwrap();
    let mut cleaner = Cleaner::new(false);
    cleaner.device_info(&told_in, &state);
    insta::assert_snapshot!(told(cleaner, dir.path()), @r"
    Removed device-info dp/a.com-x-1-device.json
    Left device-info dp/a.com-x-2-device.json: says something else than devgate wrote
    Removed device-info state/device-info.json
    ");
    assert_eq!(names(&told_in), ["a.com-x-2-device.json", "b.com-y-1-device.json"]);
    assert!(dir.path().join("precious-device.json").exists());
    let mut again = Cleaner::new(false);
    again.device_info(&told_in, &state);
    assert_eq!(told(again, dir.path()), "");
}

#[test]
fn a_record_of_device_info_files_that_cannot_be_understood_is_told() {
    let dir = tempfile::tempdir().unwrap();
    for text in ["{", r#"{"version": 2, "written": {}}"#] {
        fs::write(dir.path().join("device-info.json"), text).unwrap();
        let mut cleaner = Cleaner::new(false);
        cleaner.device_info(dir.path(), dir.path());
        let told = told(cleaner, dir.path());
        assert!(told.starts_with("Failed device-info : device-info.json cannot be understood: "), "{told}");
        assert!(dir.path().join("device-info.json").exists());
    }
}

const NAME: &str = "handed-out.json";
const ASIDE: &str = "handed-out.json.unreadable";

fn given(files: &[(&str, &str)]) -> Option<BTreeSet<String>> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    StateDir::look(dir.path()).unwrap().unwrap().recorded().map(|recorded| recorded.resources())
}

#[test]
fn what_was_handed_out_is_known_by_its_resources_and_any_where_it_is_not_known() {
    let one = r#"{"version": 1, "handed_out": {"a.b/c": {"x": {"nodes": [], "backing": []}}, "a.b/d": {}}}"#;
    let of_one = given(&[(NAME, one)]);
    assert_eq!(of_one, Some(BTreeSet::from(["a.b/c".to_owned()])));
    let newer = r#"{"version": 9, "handed_out": {"a.b/c": {"x": 7}}, "more": 1}"#;
    assert_eq!(given(&[(NAME, newer)]), None);
    assert_eq!(given(&[]), Some(BTreeSet::new()));
    assert_eq!(given(&[(NAME, r#"{"version": 1, "handed_out": {}}"#)]), Some(BTreeSet::new()));
    for odd in ["", "{", "{}", r#"{"handed_out": 7}"#] {
        assert_eq!(given(&[(NAME, odd)]), None, "{odd}");
    }
    assert_eq!(given(&[(ASIDE, "{")]), None);
    assert_eq!(given(&[(NAME, "{"), (ASIDE, one)]), None);
    // A host has learned since then what pods have.
    assert_eq!(given(&[(NAME, one), (ASIDE, "{")]), given(&[(NAME, one)]));
}
