//! What the filter of a container does to Landlock.

use seccompiler::{SeccompAction, SeccompFilter, apply_filter};

/// For `answered-ERRNO` has every call for a ruleset answered so, and for `restrict-answered-ERRNO` every call to enforce one.
pub(super) fn answer(until: &str) {
    let (call, errno) = match until.rsplit_once("answered-") {
        Some(("", errno)) => (libc::SYS_landlock_create_ruleset, errno),
        Some(("restrict-", errno)) => (libc::SYS_landlock_restrict_self, errno),
        _ => return,
    };
    let answer = SeccompAction::Errno(errno.parse().expect("a number"));
    let arch = std::env::consts::ARCH.try_into().expect("one that it knows");
    let filter = SeccompFilter::new([(call, Vec::new())].into(), SeccompAction::Allow, answer, arch);
    apply_filter(&TryInto::<seccompiler::BpfProgram>::try_into(filter.expect("a filter")).expect("a program"))
        .expect("set");
}
