use super::*;
use crate::Kind;
use crate::spec::Edits;
use crate::tests::resource;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use tempfile::TempDir;

const FILE: &str = "devgate-vendor.com_gpu=job1.json";

fn spec(value: &str) -> Spec {
    let edits = Edits { env: vec![format!("A={value}")], ..Edits::default() };
    Spec::of_one("devgate.vendor.com/gpu", "job1", edits)
}

struct Machine {
    _dir: TempDir,
    cdi: PathBuf,
    state: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (cdi, state) = (dir.path().join("run/cdi"), dir.path().join("state"));
        fs::create_dir(&state).unwrap();
        Self { _dir: dir, cdi, state }
    }

    /// The files of a host that has just started.
    fn files(&self) -> Files {
        Files::open(&self.cdi, Dir::look(&self.state).unwrap().as_ref())
    }

    fn listed(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.cdi).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

#[test]
fn cdi06_a_file_is_there_as_a_whole_or_not_at_all() {
    let machine = Machine::new();
    let files = machine.files();
    assert!(files.write(FILE, &spec("1"), Style::PASSING).unwrap());
    let (path, before) = (machine.cdi.join(FILE), fs::metadata(machine.cdi.join(FILE)).unwrap());
    assert_eq!(before.permissions().mode() & 0o777, 0o644, "for containers that are not root's");
    assert!(!files.write(FILE, &spec("1"), Style::PASSING).unwrap(), "as it is");
    assert_eq!(fs::metadata(&path).unwrap().ino(), before.ino());
    assert!(files.write(FILE, &spec("2"), Style::PASSING).unwrap());
    assert_ne!(fs::metadata(&path).unwrap().ino(), before.ino(), "replaced, not written over");
    assert_eq!(machine.listed(), [FILE]);
    // Nothing can be written there.
    let other = "devgate-vendor.com_gpu=job2.json";
    fs::remove_dir_all(&machine.cdi).unwrap();
    fs::write(&machine.cdi, "").unwrap();
    let error = files.write(other, &spec("1"), Style::PASSING).unwrap_err();
    assert!(error.to_string().contains("could not be written"), "{error}");
}

#[test]
fn cdi16_what_others_have_written_is_never_touched() {
    let machine = Machine::new();
    fs::create_dir_all(&machine.cdi).unwrap();
    let path = machine.cdi.join(FILE);
    fs::write(&path, "precious").unwrap();
    let files = machine.files();
    assert!(matches!(files.write(FILE, &spec("1"), Style::PASSING).unwrap_err(), FileError::Foreign(_)));
    files.remove(FILE).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    fs::remove_file(&path).unwrap();
    symlink("/etc/hostname", &path).unwrap();
    assert!(matches!(files.write(FILE, &spec("1"), Style::PASSING).unwrap_err(), FileError::Foreign(_)));
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
}

#[test]
fn cdi15_what_is_noted_is_known_after_a_restart_and_nothing_else_is() {
    let machine = Machine::new();
    machine.files().write(FILE, &spec("1"), Style::PASSING).unwrap();
    fs::write(machine.cdi.join("devgate-other.com_gpu=x.json"), "{}").unwrap();
    let files = machine.files();
    assert_eq!(files.names(), [FILE]);
    let left = left_behind(&machine.cdi, &machine.state).unwrap();
    let of = |name: &str, is_pods| LeftBehind { path: machine.cdi.join(name), is_pods };
    assert_eq!(left, [of(FILE, false)]);
    let pods = Kind::of(&resource()).file("pod:17-0123abcd");
    files.write(&pods, &spec("1"), Style::PASSING_OWN).unwrap();
    let left = left_behind(&machine.cdi, &machine.state).unwrap();
    assert_eq!(left, [of(&pods, true), of(FILE, false)], "by name");
    let owners = [(17, "pods"), (1, "pods"), (17, "lease job1")];
    let of_pod = owners.map(|(id, who)| left[0].may_be_of(id, who));
    let of_lease = owners.map(|(id, who)| left[1].may_be_of(id, who));
    assert_eq!((of_pod, of_lease), ([true, false, true], [false, false, true]));
    assert!(of("devgate-0123.json", true).may_be_of(5, "pods"), "nothing says of whom");
    files.remove(&pods).unwrap();
    files.remove(FILE).unwrap();
    assert_eq!(machine.listed(), ["devgate-other.com_gpu=x.json"]);
    files.save();
    assert_eq!(machine.files().names(), Vec::<String>::new());
    // It could not be noted: nothing is written that would never be removed.
    fs::set_permissions(&machine.state, fs::Permissions::from_mode(0o700)).unwrap();
    let files = machine.files();
    fs::remove_dir_all(&machine.state).unwrap();
    assert!(matches!(files.write(FILE, &spec("1"), Style::PASSING).unwrap_err(), FileError::Note(..)));
    assert_eq!(machine.listed(), ["devgate-other.com_gpu=x.json"]);
}

/// A kubelet waits for it, and the journal of allocations names it too.
#[test]
fn what_the_journal_names_in_a_directory_that_a_boot_empties_is_noted_later() {
    let (machine, memory) = (Machine::new(), tempfile::tempdir_in("/dev/shm").unwrap());
    let open = || Files::open(memory.path(), Dir::look(&machine.state).unwrap().as_ref());
    let pods = Kind::of(&resource()).file("pod:17-0123abcd");
    let files = open();
    files.write(&pods, &spec("1"), Style::PASSING_OWN).unwrap();
    assert_eq!(open().names(), Vec::<String>::new());
    // As a host that was killed: the next one knows it by its allocation, and may say something else in it.
    let next = open();
    assert!(matches!(next.write(&pods, &spec("2"), Style::PASSING_OWN).unwrap_err(), FileError::Foreign(_)));
    next.adopt([pods.clone()]);
    next.save();
    assert_eq!(open().names(), std::slice::from_ref(&pods), "for who cleans up");
    assert!(next.write(&pods, &spec("2"), Style::PASSING_OWN).unwrap());
    next.remove(&pods).unwrap();
    next.save();
    assert!(open().names().is_empty() && fs::read_dir(memory.path()).unwrap().next().is_none());
    // What the journal does not name alone is noted before it is there.
    next.write(FILE, &spec("1"), Style::PASSING).unwrap();
    assert_eq!(open().names(), [FILE]);
}

#[test]
fn cdi18_a_directory_that_others_can_write_in_is_reported_and_what_was_not_finished_goes() {
    let machine = Machine::new();
    let files = machine.files();
    assert_eq!(files.tidy(), None, "it is not there yet");
    files.write(FILE, &spec("1"), Style::PASSING).unwrap();
    fs::write(machine.cdi.join(".devgate-5.new"), "half").unwrap();
    assert_eq!(files.tidy(), None);
    assert_eq!(machine.listed(), [FILE]);
    fs::set_permissions(&machine.cdi, fs::Permissions::from_mode(0o777)).unwrap();
    let problem = files.tidy().unwrap();
    assert!(problem.contains("others than its owner can write there"), "{problem}");
    if fs::metadata(&machine.cdi).unwrap().uid() == 0 {
        fs::set_permissions(&machine.cdi, fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&machine.cdi, Some(65_534), None).unwrap();
        let problem = files.tidy().unwrap();
        assert!(problem.contains("65534"), "{problem}");
    }
}

#[test]
fn cdi17_a_file_that_is_altered_or_gone_is_seen_and_put_back() {
    let machine = Machine::new();
    let files = machine.files();
    files.write(FILE, &spec("1"), Style::PASSING).unwrap();
    assert!(files.says(FILE, &spec("1")) && !files.says(FILE, &spec("2")));
    fs::write(machine.cdi.join(FILE), "{}").unwrap();
    assert!(!files.says(FILE, &spec("1")));
    assert!(files.write(FILE, &spec("1"), Style::PASSING).unwrap());
    fs::remove_dir_all(&machine.cdi).unwrap();
    assert!(!files.says(FILE, &spec("1")));
    assert!(files.write(FILE, &spec("1"), Style::PASSING).unwrap() && files.says(FILE, &spec("1")));
}
