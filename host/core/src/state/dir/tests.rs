//! What is written is whole, and nothing that was planted is followed.

use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_replaced_whole_and_is_its_owners_alone() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("deeper/state");
    let dir = Dir::open(&path).unwrap();
    assert_eq!(dir.read("kept.json", 9).unwrap(), None);
    for text in ["one", "three"] {
        dir.write("kept.json", text.as_bytes()).unwrap();
        assert_eq!(dir.read("kept.json", 9).unwrap().unwrap(), text.as_bytes());
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join("kept.json"))), (0o700, 0o600));
    assert!(dir.read("kept.json", 4).unwrap_err().to_string().contains("more than 4 bytes"));
    let inner = dir.inner("state", true).unwrap().unwrap();
    inner.write("acme", b"x").unwrap();
    assert_eq!(mode(&path.join("state")), 0o700);
    assert!(dir.inner("other", false).unwrap().is_none());
    assert_eq!(names(&path), ["kept.json", "state"], "nothing is left beside it");
}

#[test]
fn what_cannot_be_written_leaves_the_file_as_it_was() {
    let parent = tempfile::tempdir().unwrap();
    let dir = Dir::open(parent.path()).unwrap();
    fs::create_dir_all(parent.path().join("kept.json/in the way")).unwrap();
    dir.write("kept.json", b"two").unwrap_err();
    dir.read("kept.json", 9).unwrap_err();
    assert_eq!(names(parent.path()), ["kept.json"]);
}

#[test]
fn what_a_host_had_not_finished_is_removed_and_nothing_else() {
    let parent = tempfile::tempdir().unwrap();
    for name in [".devgate-0.new", ".devgate-1f.new", ".devgate-.new", ".devgate-x.new", "0.new"] {
        fs::write(parent.path().join(name), "").unwrap();
    }
    Dir::open(parent.path()).unwrap();
    assert_eq!(names(parent.path()), [".devgate-.new", ".devgate-x.new", "0.new"]);
}

/// Every name that the next writes could use leads to something precious.
#[test]
fn no_link_is_followed_wherever_it_was_put() {
    let parent = tempfile::tempdir().unwrap();
    let (path, precious) = (parent.path().join("state"), parent.path().join("precious"));
    fs::write(&precious, "precious").unwrap();
    let dir = Dir::open(&path).unwrap();
    let next = NEXT.load(Ordering::Relaxed);
    for n in next..next + 100 {
        symlink(&precious, path.join(format!("{BEFORE}{n:x}{AFTER}"))).unwrap();
    }
    symlink(&precious, path.join("kept.json")).unwrap();
    symlink(parent.path(), path.join("inner")).unwrap();
    assert!(dir.read("kept.json", 99).unwrap_err().to_string().contains("is a link"));
    dir.inner("inner", true).unwrap_err();
    dir.write("kept.json", b"one").unwrap();
    put(&path.join("shown"), b"one", Style::PASSING).unwrap();
    assert!(fs::symlink_metadata(path.join("kept.json")).unwrap().is_file());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

#[test]
fn a_pipe_is_no_file() {
    let parent = tempfile::tempdir().unwrap();
    let dir = Dir::open(parent.path()).unwrap();
    rustix::fs::mknodat(&dir.0.fd, "kept.json", rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert!(dir.read("kept.json", 9).unwrap_err().to_string().contains("is no file"));
}

#[test]
fn a_directory_that_others_can_write_in_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    for mode in [0o770, 0o702, 0o1777] {
        fs::set_permissions(parent.path(), Permissions::from_mode(mode)).unwrap();
        let error = Dir::open(parent.path()).unwrap_err();
        assert!(error.to_string().contains("chmod go-w"), "{error}");
    }
    fs::set_permissions(parent.path(), Permissions::from_mode(0o755)).unwrap();
    let dir = Dir::open(parent.path()).unwrap();
    fs::create_dir(parent.path().join("inner")).unwrap();
    fs::set_permissions(parent.path().join("inner"), Permissions::from_mode(0o777)).unwrap();
    assert!(dir.inner("inner", true).is_err());
}

#[test]
fn a_directory_of_another_user_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let mut look = rustix::fs::stat(parent.path()).unwrap();
    assert_eq!(problem(&look), None);
    look.st_uid = fs::metadata(parent.path()).unwrap().uid().wrapping_add(4_711);
    assert!(problem(&look).unwrap().contains("chown"));
    look.st_uid = 0;
    assert_eq!(problem(&look), None);
}

#[test]
fn what_is_written_to_a_directory_that_is_gone_is_not_kept() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("state");
    let dir = Dir::open(&path).unwrap();
    fs::remove_dir(&path).unwrap();
    dir.write("kept.json", b"x").unwrap_err();
}

#[test]
fn what_could_not_be_written_is_known_until_it_is() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = Dir::open(temporary.path()).unwrap();
    let inner = dir.inner("state", true).unwrap().unwrap();
    std::fs::create_dir_all(temporary.path().join("state/gpus/in-the-way")).unwrap();
    inner.write("gpus", b"1").unwrap_err();
    dir.write("other", b"1").unwrap();
    let [one] = &dir.unsaved()[..] else { panic!("{:?}", dir.unsaved()) };
    assert!(one.contains("/state/gpus could not be saved: "), "{one}");
    std::fs::remove_dir_all(temporary.path().join("state/gpus")).unwrap();
    inner.write("gpus", b"1").unwrap();
    assert_eq!(dir.unsaved(), [""; 0]);
}

#[test]
fn what_a_boot_takes_is_known_and_else_it_is_kept() {
    assert!(is_passing(Path::new("/dev/shm")));
    assert!(!is_passing(Path::new("/proc")) && !is_passing(Path::new("/proc/none")));
}
