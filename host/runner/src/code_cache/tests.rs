use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const A: [u8; 32] = [0xaa; 32];
const B: [u8; 32] = [0xbb; 32];
const C: [u8; 32] = [0xcc; 32];

fn dir() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("compiled");
    (root, path)
}

#[test]
fn what_was_kept_is_there_for_the_same_component_alone() {
    let (_root, path) = dir();
    let kept = CodeCache::open(&path).unwrap();
    assert_eq!(kept.read(&A), None);
    kept.write(&A, b"code").unwrap();
    let again = CodeCache::open(&path).unwrap();
    assert_eq!(again.read(&A).as_deref(), Some(&b"code"[..]));
    assert_eq!(again.read(&B), None);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn what_is_not_as_it_was_written_is_none() {
    let (_root, path) = dir();
    let kept = CodeCache::open(&path).unwrap();
    kept.write(&A, b"code").unwrap();
    let file = path.join(name(&A));
    let good = fs::read(&file).unwrap();
    for end in 0..good.len() {
        fs::write(&file, &good[..end]).unwrap();
        assert_eq!(kept.read(&A), None, "{end}");
    }
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&file, &bad).unwrap();
        assert_eq!(kept.read(&A), None, "{at}");
    }
    fs::write(&file, &good).unwrap();
    assert!(kept.read(&A).is_some());
    fs::write(path.join(name(&B)), &good).unwrap();
    assert_eq!(kept.read(&B), None, "it is another component's");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o620)).unwrap();
    assert_eq!(kept.read(&A), None, "others could have written it");
    fs::rename(&file, path.join("elsewhere")).unwrap();
    fs::set_permissions(path.join("elsewhere"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink(path.join("elsewhere"), &file).unwrap();
    assert_eq!(kept.read(&A), None, "a link is not followed");
    kept.write(&A, b"anew").unwrap();
    assert_eq!(kept.read(&A).as_deref(), Some(&b"anew"[..]));
    assert_eq!(fs::read(path.join("elsewhere")).unwrap(), good);
}

#[test]
fn what_was_used_least_recently_goes_where_there_is_too_much() {
    let (_root, path) = dir();
    let mut kept = CodeCache::open(&path).unwrap();
    kept.most = 250;
    for (component, age) in [(A, 3), (B, 2)] {
        kept.write(&component, &[1; 60]).unwrap();
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(age * 60);
        let file = File::options().write(true).open(path.join(name(&component)));
        file.unwrap().set_modified(then).unwrap();
    }
    assert!(kept.read(&A).is_some(), "is the last one used");
    kept.write(&C, &[1; 60]).unwrap();
    let there = [A, B, C].map(|component| kept.read(&component).is_some());
    assert_eq!(there, [true, false, true]);
    kept.write(&B, &[1; 200]).unwrap();
    assert!(kept.read(&B).is_none(), "nothing goes for one that is nearly all of it");
}

#[test]
fn what_another_process_has_not_finished_stays_for_a_while() {
    let (_root, path) = dir();
    let mut kept = CodeCache::among(&path).unwrap();
    kept.most = 250;
    let unfinished = [".devgate-100000000.new", ".devgate-200000000.new"].map(|name| path.join(name));
    for (file, hours) in unfinished.iter().zip([0, 2]) {
        fs::write(file, [1; 200]).unwrap();
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(hours * 3600 + 60);
        File::options().write(true).open(file).unwrap().set_modified(then).unwrap();
    }
    drop(CodeCache::among(&path).unwrap());
    kept.write(&A, &[1; 60]).unwrap();
    assert_eq!(unfinished.map(|file| file.exists()), [true, false]);
    assert!(kept.read(&A).is_some());
}

#[test]
fn a_directory_that_others_could_write_in_keeps_nothing() {
    let (_root, path) = dir();
    let kept = CodeCache::open(&path).unwrap();
    fs::write(path.join(".devgate-100000000.new"), "half").unwrap();
    drop(kept);
    CodeCache::open(&path).unwrap();
    assert!(!path.join(".devgate-100000000.new").exists(), "what was not finished goes");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).unwrap();
    let why = CodeCache::open(&path).unwrap_err().to_string();
    assert!(why.contains("others than its owner can write there"), "{why}");
    fs::remove_dir(&path).unwrap();
    symlink("/tmp", &path).unwrap();
    let why = CodeCache::open(&path).unwrap_err().to_string();
    assert!(why.contains("os error"), "{why}");
}
