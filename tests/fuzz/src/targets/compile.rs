//! The compiler's end, and what the host takes its word for: it is a process that a component may have taken over.

use crate::hold;
use devgate_runner::fuzz;
use devgate_types::load::Refusal;

/// What is there besides: a scan's 4,016 values at most, of 24 bytes each, in lists that grew to twice of them as the old ones were
/// there still.
const BESIDES: u64 = 3 * 4_016 * 24 + (64 << 10);

/// What a compiler says takes the host no more memory than four times its bytes.
pub fn compiler(input: &[u8]) {
    let _ = fuzz::order(input);
    let (_, spent) = hold::spent(|| {
        let (scan, code) = fuzz::made(input);
        for refusal in [scan.err(), code.err()].iter().flatten() {
            assert!(!matches!(refusal, Refusal::Imports(_) | Refusal::Digest { .. }));
            hold::message(&refusal.to_string());
        }
    });
    let most = 4 * u64::try_from(input.len()).unwrap() + BESIDES;
    assert!(
        spent.bytes_max <= most,
        "{} bytes at once for {} that came, more than {most}",
        spent.bytes_max,
        input.len()
    );
}
