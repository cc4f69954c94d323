use super::*;
use crate::machine::fake::{Fake, FakeFunction, GPU, UUID};
use devgate_sdk::ErrorKind;

const KNOWN: Known<'_> = Known { uuid: Some(UUID), minor: Some("0") };

/// The verdict on the fake's GPU as text.
fn verdict(fake: &Fake, config: &Config) -> String {
    let faults = Faults::look(fake, &config.xid, "nvidia.com/gpu");
    match of(fake, config, &fake.functions[0], KNOWN, &faults) {
        Verdict::Healthy => "healthy".to_owned(),
        Verdict::Unhealthy(reason) => format!("unhealthy: {reason}"),
        Verdict::Unknown(reason) => format!("unknown: {reason}"),
    }
}

fn after(harm: impl FnOnce(&mut Fake)) -> String {
    let mut fake = Fake::with_gpu();
    harm(&mut fake);
    let verdict = verdict(&fake, &Config::default());
    assert!(verdict.len() <= 256, "{verdict}");
    verdict
}

fn with(attribute: &'static str, value: &str) -> String {
    after(|fake| fake.functions[0] = FakeFunction::gpu(GPU).with(attribute, value))
}

#[test]
fn a_gpu_that_answers_is_healthy() {
    assert_eq!(after(|_| ()), "healthy");
    let bare = |fake: &mut Fake| {
        for attribute in ["aer_dev_fatal", "current_link_width", "power/runtime_status", "power/control"] {
            fake.functions[0].attributes.remove(attribute);
        }
    };
    assert_eq!(after(bare), "healthy", "a virtual machine shows less");
    assert_eq!(with("current_link_width", "0"), "healthy");
}

#[test]
fn a_function_that_does_not_answer_is_unhealthy() {
    let reads = "unhealthy: its PCI function does not answer: vendor reads 0xffff";
    assert_eq!(with("vendor", "0xffff"), reads);
    let lanes = "unhealthy: its PCI function does not answer: its link has 63 lanes, which no link has";
    assert_eq!(with("current_link_width", "63"), lanes);
    let gone = |fake: &mut Fake| fake.functions[0] = FakeFunction::gpu(GPU).failing("vendor", ErrorKind::Gone);
    assert_eq!(after(gone), "unhealthy: its PCI function is gone");
    let odd = |fake: &mut Fake| fake.functions[0] = FakeFunction::gpu(GPU).failing("vendor", ErrorKind::Io);
    assert_eq!(after(odd), "unknown: attribute vendor: cannot be read");
}

#[test]
fn a_gpu_that_lost_its_driver_is_unhealthy() {
    assert_eq!(after(|fake| fake.functions[0].driver = None), "unhealthy: it has no driver now");
    let vfio = |fake: &mut Fake| fake.functions[0].driver = Some("vfio-pci");
    assert_eq!(after(vfio), "unhealthy: its driver is vfio-pci now");
}

#[test]
fn fatal_errors_count_from_where_the_admin_says() {
    let counted = "Undefined 0\nDLP 0\nSDES 1\nTOTAL_ERR_FATAL 2";
    assert_eq!(with("aer_dev_fatal", counted), "unhealthy: 2 fatal PCIe errors since boot, more than 0 (fatal-errors)");
    let mut fake = Fake::with_gpu();
    fake.functions[0] = FakeFunction::gpu(GPU).with("aer_dev_fatal", counted);
    let config = |fatal_errors| Config { fatal_errors, ..Config::default() };
    assert_eq!(verdict(&fake, &config(2)), "healthy");
    assert!(verdict(&fake, &config(1)).starts_with("unhealthy"));
    assert_eq!(with("aer_dev_fatal", "something else"), "healthy");
}

#[test]
fn a_narrow_link_counts_where_the_admin_says_so() {
    assert_eq!(with("current_link_width", "8"), "healthy");
    let mut fake = Fake::with_gpu();
    let config = Config { link_width: 16, ..Config::default() };
    assert_eq!(verdict(&fake, &config), "healthy");
    fake.functions[0] = FakeFunction::gpu(GPU).with("current_link_width", "8");
    assert_eq!(verdict(&fake, &config), "unhealthy: its link has 8 lanes, fewer than 16 (link-width)");
}

#[test]
fn what_the_driver_says_counts() {
    let cases: [(&str, &str, &str); 5] = [
        (
            UUID,
            "GPU-????????-????-????-????-????????????",
            "unhealthy: the driver does not know its UUID any more: it is not initialized, or it failed",
        ),
        (
            UUID,
            "GPU-00000000-0000-0000-0000-000000000001",
            "unhealthy: it is another GPU now: GPU-00000000-0000-0000-0000-000000000001",
        ),
        ("Minor: \t 0", "Minor: \t 4", "unhealthy: its node is /dev/nvidia4 now"),
        ("Excluded:\t No", "Excluded:\t Yes", "unhealthy: the driver excludes it now (NVreg_ExcludedGpus)"),
        (
            "96.00.74.00.01",
            "??.??.??.??.??",
            "unknown: the driver has shut it down, as it does with one that nobody uses, or it failed (nvidia-persistenced keeps it up)",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(after(|fake| fake.edit(from, to)), expected);
    }
    let delisted = |fake: &mut Fake| drop(fake.files.pop_first());
    assert_eq!(after(delisted), "unhealthy: the driver does not list it any more");
    let empty = |fake: &mut Fake| fake.information(GPU, Ok(String::new()));
    assert!(after(empty).starts_with("unknown: the driver says nothing"));
    let unreadable = |fake: &mut Fake| fake.information(GPU, Err(ErrorKind::Io));
    assert!(after(unreadable).starts_with("unknown: file /proc/driver/nvidia"));
}

#[test]
fn a_gpu_that_may_sleep_is_left_alone() {
    let mut fake = Fake::with_gpu();
    fake.functions[0] = FakeFunction::gpu(GPU).with("power/control", "auto");
    fake.edit(UUID, "GPU-????????-????-????-????-????????????");
    assert_eq!(verdict(&fake, &Config::default()), "healthy");
    assert!(!fake.has_read_information());
    // Asleep, its link is not looked at either: it would wake for that.
    fake.functions[0] = fake.functions[0].clone().with("power/runtime_status", "suspended");
    fake.functions[0] = fake.functions[0].clone().with("current_link_width", "63");
    assert_eq!(verdict(&fake, &Config::default()), "healthy");
    assert!(!fake.has_read_information());
    fake.functions[0] = fake.functions[0].clone().with("aer_dev_fatal", "TOTAL_ERR_FATAL 1");
    assert!(verdict(&fake, &Config::default()).starts_with("unhealthy"), "what the kernel keeps counts all the same");
}
