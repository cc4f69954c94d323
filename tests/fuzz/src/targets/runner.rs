//! What a runner and its host say to each other.

use crate::component::curious;
use crate::hold;
use crate::node::Fake;
use devgate_runner::fuzz;
use devgate_types::{Limits, Verdict};

/// How many exports there are.
const EXPORTS: u32 = 6;
/// What `limits.transfer` counts for each message besides its bytes.
const EACH: u64 = 64;
/// What is there besides, however much comes: a message of 68 KiB as it is read, in a buffer that grew to twice of it with the old one
/// still there; the same message decoded, a number of four bytes for each of its bytes in a list that grew the same way; and threads.
const BESIDES: u64 = (3 * 2 + 3 * 4 * 2) * (68 << 10);

/// The host's end: a runner is not believed, and takes the host no more memory than four times what the limits count of its messages.
/// Its first byte says what it was called for.
pub fn runner(input: &[u8]) {
    let Some((export, said)) = input.split_first() else {
        return;
    };
    let mut host = Fake::default();
    let (called, spent) = hold::spent(|| fuzz::call(said, u32::from(*export) % EXPORTS, &mut host));
    let counted = u64::try_from(said.len()).unwrap() + EACH * messages(said);
    let most = 4 * counted + BESIDES + host.gave();
    assert!(
        spent.bytes_max <= most,
        "{} bytes at once for {} that came, more than {most}",
        spent.bytes_max,
        said.len()
    );
    match called {
        Err(why) => hold::message(&why),
        Ok(output) => {
            for verdict in &output.verdicts {
                if let Verdict::Unhealthy(reason) | Verdict::Unknown(reason) = verdict {
                    assert!(reason.len() <= 256, "a reason of {} bytes", reason.len());
                }
            }
        }
    }
    assert!(host.logged() <= Limits::default().log.0 + 1_024, "lines of {} bytes", host.logged());
}

/// The runner's end: whatever its host says, it ends.
pub fn host(input: &[u8]) {
    let said = fuzz::run(input, &curious).unwrap();
    assert!(messages(&said) <= 1 || said.len() > 4);
}

/// How many messages there are at most in these bytes.
fn messages(mut said: &[u8]) -> u64 {
    let mut messages = 0;
    while let Some((head, rest)) = said.split_first_chunk::<4>() {
        messages += 1;
        let length = usize::try_from(u32::from_le_bytes(*head)).unwrap();
        said = rest.get(length..).unwrap_or_default();
    }
    messages
}
