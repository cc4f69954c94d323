//! Every target over the inputs that are kept, and over seeded changes of them: the same in each run, and some seconds in all.
//! `DEVGATE_FUZZ_RUNS=100` makes a hundred times as many, from another seed.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use devgate_fuzz::{TARGETS, Target, mutate};
use fastrand::Rng;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

/// An input longer than this is run as it is, and no other one is made of it.
const LONGEST: usize = 64 << 10;

fn target(name: &str) -> Target {
    *TARGETS.iter().find(|target| target.name == name).unwrap()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files beneath a directory whose names end so, sorted.
fn files(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true if path.ends_with("target") => {}
            true => files(&path, ending, found),
            false if path.to_string_lossy().ends_with(ending) => found.push(path),
            false => {}
        }
    }
}

fn inputs(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    files(&repository().join("tests/fuzz/corpus").join(target.name), "", &mut found);
    for (dir, ending) in target.also {
        files(&repository().join(dir), ending, &mut found);
    }
    found.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Runs one input; where it breaks something, says which it was, so that it can be kept.
fn run(target: &Target, input: &[u8], what: &str) {
    let ended = panic::catch_unwind(|| (target.run)(input));
    if let Err(panic) = ended {
        let kept = std::env::temp_dir().join(format!("devgate-fuzz-{}", target.name));
        fs::write(&kept, input).unwrap();
        println!("target {}: {what}: it is in {}", target.name, kept.display());
        panic::resume_unwind(panic);
    }
}

fn hold(name: &str) {
    let target = target(name);
    let inputs = inputs(&target);
    assert!(!inputs.is_empty(), "{name} has no inputs");
    for (path, input) in &inputs {
        run(&target, input, &path.display().to_string());
    }
    let seeds: Vec<_> = inputs.iter().map(|(_, input)| input).filter(|input| input.len() <= LONGEST).collect();
    let more: Option<u32> = std::env::var("DEVGATE_FUZZ_RUNS").ok().map(|times| times.parse().unwrap());
    let mut rng = more.map_or_else(|| Rng::with_seed(7), |_| Rng::new());
    let seed = rng.get_seed();
    for n in 0..target.runs.saturating_mul(more.unwrap_or(1)) {
        let mut any = || seeds.get(rng.usize(..seeds.len())).unwrap().as_slice();
        let (one, other) = (any(), any());
        let input = mutate::change(target.form, one, other, &mut rng);
        run(&target, &input, &format!("seed {seed}, change {n}"));
    }
}

/// More than the changes above make, so that what is there besides does not hide it: a unit with many handles, again and again.
#[test]
fn a_flood_of_handles_takes_the_host_four_times_its_bytes() {
    let kept = fs::read(repository().join("tests/fuzz/corpus/runner/handles")).unwrap();
    let (mut rest, mut last) = (kept.get(1..).unwrap(), 0..0);
    while let Some((head, message)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_le_bytes(*head)).unwrap();
        let start = kept.len() - rest.len();
        last = start..start + 4 + length;
        rest = message.get(length..).unwrap();
    }
    let unit = kept.get(last).unwrap();
    let flood = [kept.as_slice(), &unit.repeat((3 << 20) / unit.len())].concat();
    run(&target("runner"), &flood, "a flood of handles");
}

macro_rules! hold {
    ($($test:ident $target:literal)*) => {
        $(
            #[test]
            fn $test() {
                hold($target);
            }
        )*

        #[test]
        fn every_target_is_run_here_and_by_cargo_fuzz() {
            let mut here = [$($target),*];
            here.sort_unstable();
            let mut there: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            there.sort_unstable();
            assert_eq!(here.as_slice(), there);
            let mut wrappers = Vec::new();
            files(&repository().join("tests/fuzz/libfuzzer/fuzz_targets"), ".rs", &mut wrappers);
            let wrappers: Vec<_> = wrappers.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
            assert_eq!(wrappers, there);
        }
    };
}

hold! {
    any_policy_is_refused_in_words_or_can_be_asked_everything "policy"
    any_recording_is_refused_in_words_or_is_a_node_that_is_written_again "recording"
    any_file_is_refused_in_words_or_is_a_component_within_the_limits "component"
    any_runner_is_heard_within_the_limits_and_four_times_what_they_count_of_it "runner"
    any_host_is_served_to_the_end "host"
    any_compiler_is_heard_within_four_times_what_it_says "compiler"
    any_request_of_a_kubelet_is_answered "kubelet"
    any_list_of_pods_is_read "pods"
    any_checkpoint_is_read_whole_or_not_at_all "checkpoint"
    any_journal_says_the_same_when_it_is_written_again "journal"
    any_record_is_understood_or_put_aside "state"
    any_cdi_file_is_refused_in_words_or_is_the_same_when_it_is_written_again "cdi"
    any_manifest_is_refused_in_words_or_leads_to_one_layer "manifest"
    any_layer_has_one_component_within_its_limit_or_none "layer"
    no_signature_is_of_what_was_not_signed "signature"
}
