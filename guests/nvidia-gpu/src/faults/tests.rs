use super::*;
use crate::config::Config;
use crate::health::{self, Known};
use crate::machine::fake::{Fake, FakeFunction, GPU, UUID};
use devgate_sdk::Verdict;

const RESOURCE: &str = "nvidia.com/gpu";

/// As the driver writes [`GPU`] in a line.
const SLOT: &str = "0000:1b:00";

fn config(words: &[(u32, Action)]) -> Config {
    Config { xid: words.iter().copied().collect(), ..Config::default() }
}

/// What one call of `health` says, in a fresh instance: nothing lasts but what was stored.
fn verdict(fake: &Fake, config: &Config) -> String {
    let faults = Faults::look(fake, &config.xid, RESOURCE);
    let known = Known { uuid: Some(UUID), minor: Some("0") };
    match health::of(fake, config, &fake.functions[0], known, &faults) {
        Verdict::Healthy => "healthy".to_owned(),
        Verdict::Unhealthy(reason) => format!("unhealthy: {reason}"),
        Verdict::Unknown(reason) => format!("unknown: {reason}"),
    }
}

fn after(captures: &[&str]) -> String {
    let fake = Fake::with_gpu();
    fake.says(captures);
    let verdict = verdict(&fake, &Config::default());
    assert!(verdict.len() <= 256, "{verdict}");
    verdict
}

#[test]
fn an_xid_that_asks_for_a_reset_makes_its_gpu_unhealthy_and_no_other() {
    let reset = "unhealthy: Xid 119: GSP RPC timeout, 0 s after boot; until the driver is loaded again or the node restarted (config xid)";
    assert_eq!(after(&[SLOT, "119", "", ""]), reset);
    assert_eq!(after(&["PCI:0000:1B:00", "119"]), reset);
    let fallen =
        "unhealthy: Xid 79: GPU has fallen off the bus, 0 s after boot; until the node is restarted (config xid)";
    assert_eq!(after(&[SLOT, "79", "", ""]), fallen);
    assert_eq!(after(&["0000:1b:00.0"]), fallen);
    assert_eq!(after(&["The", "0000:1b:00.0", "fallen off the bus"]), fallen);
    for other in ["0000:1f:00", "0001:1b:00", "nonsense"] {
        assert_eq!(after(&[other, "79"]), "healthy", "{other}");
    }
}

/// The GPU is fit for the next program, and stays in the list.
#[test]
fn what_only_an_application_caused_takes_no_gpu_away() {
    for code in ["13", "31", "43", "45", "63", "94", "167", "9999999999"] {
        assert_eq!(after(&[SLOT, code, "", ""]), "healthy", "{code}");
    }
    let fake = Fake::with_gpu();
    fake.says(&[SLOT, "94"]);
    let faults = Faults::look(&fake, &BTreeMap::new(), RESOURCE);
    assert_eq!(faults.notes, ["GPU 0000:1b:00: Xid 94: contained memory error"]);
    assert!(Faults::look(&fake, &BTreeMap::new(), RESOURCE).notes.is_empty(), "said once");
}

#[test]
fn nvlink_errors_count_where_they_are_fatal() {
    assert!(after(&[SLOT, "149", "Fatal", ""]).starts_with("unhealthy: Xid 149"));
    assert_eq!(after(&[SLOT, "149", "Nonfatal", ""]), "healthy");
}

#[test]
fn three_lines_are_one_fault() {
    let fake = Fake::with_gpu();
    fake.says(&["The", "0000:1b:00.0", ""]);
    assert_eq!(verdict(&fake, &Config::default()), "healthy");
    fake.says(&["fallen off the bus"]);
    assert!(verdict(&fake, &Config::default()).starts_with("unhealthy: Xid 79"));
    // The end of nobody's line.
    let fake = Fake::with_gpu();
    fake.says(&["fallen off the bus"]);
    assert_eq!(verdict(&fake, &Config::default()), "healthy");
}

/// A restart of the host heals nothing; a restart of the node does.
#[test]
fn a_fault_lasts_until_it_is_made_good() {
    for (code, healed_by_driver) in [("119", true), ("79", false)] {
        let mut fake = Fake::with_gpu();
        fake.boots("first");
        fake.says(&[SLOT, code]);
        for _ in 0..3 {
            assert!(verdict(&fake, &Config::default()).starts_with("unhealthy"), "{code}");
        }
        fake.says(&["loading"]);
        assert_eq!(verdict(&fake, &Config::default()) == "healthy", healed_by_driver, "{code}");
        fake.boots("second");
        assert_eq!(verdict(&fake, &Config::default()), "healthy", "{code}: another boot");
    }
}

#[test]
fn a_later_and_lesser_fault_hides_none_that_asks_for_more() {
    let fake = Fake::with_gpu();
    fake.says(&[SLOT, "79"]);
    fake.says(&[SLOT, "119"]);
    fake.says(&["loading"]);
    assert!(verdict(&fake, &Config::default()).starts_with("unhealthy: Xid 79"));
    let fake = Fake::with_gpu();
    fake.says(&[SLOT, "119"]);
    fake.says(&[SLOT, "79"]);
    assert!(verdict(&fake, &Config::default()).starts_with("unhealthy: Xid 79"));
}

#[test]
fn the_driver_says_itself_what_it_needs_and_when_no_more() {
    assert!(after(&[SLOT, "154", "", "0x1"]).contains("until the driver is loaded again"));
    assert!(after(&[SLOT, "154", "", "0x2"]).contains("until the node is restarted"));
    let fake = Fake::with_gpu();
    fake.says(&[SLOT, "119"]);
    fake.says(&[SLOT, "154", "", "0x1"]);
    assert!(verdict(&fake, &Config::default()).starts_with("unhealthy: Xid 154"));
    fake.says(&[SLOT, "154", "", "0x0"]);
    assert_eq!(verdict(&fake, &Config::default()), "healthy");
}

/// Also for what has happened already: this is how an admin who has looked into it takes a GPU back.
#[test]
fn the_word_of_the_policy_counts_for_what_is_known_as_well() {
    let fake = Fake::with_gpu();
    fake.says(&[SLOT, "119"]);
    assert!(verdict(&fake, &Config::default()).starts_with("unhealthy"));
    assert_eq!(verdict(&fake, &config(&[(119, Action::Ignore)])), "healthy");
    let fake = Fake::with_gpu();
    fake.says(&[SLOT, "94"]);
    assert!(verdict(&fake, &config(&[(94, Action::Reset)])).starts_with("unhealthy: Xid 94"));
}

#[test]
fn lost_lines_are_unknown_once_and_a_known_fault_stays() {
    let mut fake = Fake::with_gpu();
    fake.says(&[SLOT, "13"]);
    assert_eq!(verdict(&fake, &Config::default()), "healthy");
    (0..5).for_each(|_| fake.says(&[SLOT, "13"]));
    fake.lost = 4;
    assert_eq!(verdict(&fake, &Config::default()), "unknown: lines of the kernel's log were lost");
    assert_eq!(verdict(&fake, &Config::default()), "healthy");
    fake.says(&[SLOT, "119"]);
    assert!(verdict(&fake, &Config::default()).starts_with("unhealthy"));
    fake.says(&[SLOT, "13"]);
    fake.says(&[SLOT, "13"]);
    fake.lost = 8;
    assert!(verdict(&fake, &Config::default()).starts_with("unhealthy"));
}

#[test]
fn a_log_that_cannot_be_read_says_nothing_against_a_gpu() {
    let mut fake = Fake::with_gpu();
    fake.no_log = true;
    let faults = Faults::look(&fake, &BTreeMap::new(), RESOURCE);
    assert_eq!(faults.notes, ["the kernel's log: nobody reads it"]);
    assert_eq!(verdict(&fake, &Config::default()), "healthy");
}

#[test]
fn a_blob_that_is_none_is_no_blob() {
    for blob in ["", "x", "{}", "[1]", r#"{"version": 2, "cursor": "7"}"#] {
        assert_eq!(Faults::parse(blob.as_bytes()), Faults::default(), "{blob}");
    }
    let fake = Fake::with_gpu();
    *fake.blob.borrow_mut() = br#"{"version": 1, "cursor": "of another host", "gpus": {"x": 1}}"#.to_vec();
    fake.says(&[SLOT, "119"]);
    assert!(verdict(&fake, &Config::default()).starts_with("unhealthy"), "from the start, then");
}

/// A flood of lines costs one call a bounded time, and is read in the end.
#[test]
fn many_events_come_over_several_calls() {
    let fake = Fake::with_gpu();
    (0..3_000).for_each(|_| fake.says(&[SLOT, "13"]));
    fake.says(&[SLOT, "119"]);
    assert_eq!(verdict(&fake, &Config::default()), "healthy");
    assert!(verdict(&fake, &Config::default()).starts_with("unhealthy"));
    // Places that were made up fill nothing.
    let fake = Fake::with_gpu();
    (0..1_000).for_each(|n| fake.says(&[&format!("{n:04x}:1b:00"), "119"]));
    let faults = Faults::look(&fake, &BTreeMap::new(), RESOURCE);
    assert_eq!(faults.gpus.len(), MAX_GPUS);
    assert!(faults.blob().len() < 64 << 10);
}

#[test]
fn what_was_stored_is_what_is_known() {
    let fake = Fake::with_gpu();
    fake.says(&[SLOT, "149", "Fatal", ""]);
    fake.says(&["0000:1f:00", "154", "", "0x2"]);
    fake.says(&["The", "0000:2f:00.0", ""]);
    let faults = Faults::look(&fake, &BTreeMap::new(), RESOURCE);
    let again = Faults::parse(&fake.blob.borrow());
    assert_eq!((again.gpus, again.cursor, again.named), (faults.gpus, faults.cursor, faults.named));
}

#[test]
fn a_function_that_is_gone_is_said_to_be_before_its_xid() {
    let mut fake = Fake::with_gpu();
    fake.says(&[SLOT, "79"]);
    fake.functions[0] = FakeFunction::gpu(GPU).with("vendor", "0xffff");
    assert!(verdict(&fake, &Config::default()).contains("does not answer"));
}

#[test]
fn lines_that_were_lost_count_once_for_each_resource() {
    let mut fake = Fake::with_gpu();
    fake.boots("first");
    fake.says(&["loading"]);
    let gap = |fake: &Fake, resource| Faults::look(fake, &BTreeMap::new(), resource).gap;
    assert!(!gap(&fake, "a") && !gap(&fake, "b"));
    fake.says(&[SLOT, "94"]);
    fake.lost = 2;
    assert!(gap(&fake, "a") && gap(&fake, "b"), "whichever is looked at first");
    assert!(!gap(&fake, "a") && !gap(&fake, "b"));
    fake.says(&[SLOT, "94"]);
    fake.lost = 3;
    assert!(gap(&fake, "b") && gap(&fake, "a"), "and again");
    fake.says(&[SLOT, "94"]);
    fake.lost = 4;
    assert!(gap(&fake, "a"));
    fake.boots("second");
    fake.lost = 0;
    assert!(!gap(&fake, "b"), "another boot");
}

#[test]
fn lines_that_say_nothing_of_gpus_are_not_worth_a_write() {
    let mut fake = Fake::with_gpu();
    fake.boots("first");
    let look = |fake: &Fake| Faults::look(fake, &BTreeMap::new(), RESOURCE);
    look(&fake);
    let stored = fake.stored.get();
    // Each of the kernel's lines moves the cursor, whatever it says.
    for _ in 0..10 {
        fake.passes.set(fake.passes.get() + 1);
        look(&fake);
    }
    assert_eq!(fake.stored.get(), stored);
    fake.says(&[SLOT, "119"]);
    look(&fake);
    assert_eq!(fake.stored.get(), stored + 1);
    look(&fake);
    assert_eq!(fake.stored.get(), stored + 1);
}

#[test]
fn where_the_boot_cannot_be_told_it_is_said_what_that_means() {
    let mut fake = Fake::with_gpu();
    let notes = |fake: &Fake| Faults::look(fake, &BTreeMap::new(), RESOURCE).notes;
    assert!(notes(&fake).is_empty(), "nothing to be made good");
    fake.says(&[SLOT, "119"]);
    let said = notes(&fake).join("");
    assert!(said.starts_with("a restart of the node will not be noticed, and makes no GPU good: "), "{said}");
    assert!(said.len() < 256 && said.contains("/proc/sys/kernel/random/boot_id"), "{said}");
    fake.boots("first");
    assert!(notes(&fake).is_empty());
}

#[test]
fn without_the_log_no_gpu_is_ill_and_nothing_is_said() {
    let mut fake = Fake::with_gpu();
    fake.says(&[SLOT, "119"]);
    let ill = verdict(&fake, &Config::default());
    assert!(ill.starts_with("unhealthy: Xid 119"), "{ill}");
    // What was stored while it was granted is forgotten with it.
    fake.not_granted = vec!["kernel-log"];
    let before = fake.blob.borrow().clone();
    let faults = Faults::look(&fake, &BTreeMap::new(), RESOURCE);
    assert_eq!(faults, Faults::default());
    assert_eq!(verdict(&fake, &Config::default()), "healthy");
    assert_eq!(*fake.blob.borrow(), before, "and counts again where it is granted again");
}

#[test]
fn without_state_the_log_itself_is_the_memory() {
    let mut fake = Fake::with_gpu();
    fake.not_granted = vec!["state"];
    fake.says(&[SLOT, "119"]);
    for _ in 0..2 {
        assert!(verdict(&fake, &Config::default()).starts_with("unhealthy: Xid 119"));
    }
    assert!(Faults::look(&fake, &BTreeMap::new(), RESOURCE).notes.is_empty());
    assert_eq!(fake.stored.get(), 0);
    assert!(Faults::stored(&fake).is_ok_and(|stored| stored == Faults::default()));
    fake.says(&["loading"]);
    assert_eq!(verdict(&fake, &Config::default()), "healthy");
}
