//! What an author does about a call that failed: by the kind of what the host said, whatever its words are. An error that is the
//! component's own says itself what is wrong.

use crate::fault_injector::Asked;
use devgate_types::component::Denied;
use devgate_types::{CallError, Failure, FailureKind, GuestFault};

/// For an allocation that was answered with what the policy does not grant.
pub(super) const REFUSED: &str = "answer what the policy expects, or have it expect this (containers)";

/// What to do about an error of a call in which the host was asked this; nothing where that depends on words that are the component's
/// own.
pub(super) fn about(error: &CallError, asked: &[Asked]) -> Option<String> {
    let fixed = match error {
        CallError::Guest(GuestFault::Limit(limit)) => {
            return Some(match limit.key() {
                Some(key) => format!("do less in one call, or raise {key} in the policy that you ship"),
                None => "recurse less: no policy raises it".to_owned(),
            });
        }
        CallError::Guest(GuestFault::Trap(_)) => {
            "return an error instead; `devgatectl trace` names the lines of these places"
        }
        CallError::Guest(GuestFault::Exited(_) | GuestFault::Ended(_)) => "return an error instead",
        CallError::Guest(GuestFault::Contract(_)) => "answer no more and nothing else than wit/types.wit allows",
        CallError::Failed(failure) if asked.iter().any(|asked| is_passed_on(failure, asked)) => of_kind(failure.kind)?,
        CallError::Failed(_) => return None,
        CallError::Host(_) => return None,
    };
    Some(fixed.to_owned())
}

/// Whether a component's error is the host's, which it may have put words before.
fn is_passed_on(failure: &Failure, asked: &Asked) -> bool {
    let of_host = asked.error.as_ref().and_then(|denied| match denied {
        Denied::Failure(of_host) => Some(of_host),
        Denied::End(_) => None,
    });
    of_host.is_some_and(|of_host| of_host.kind == failure.kind && failure.message.contains(&of_host.message))
}

fn of_kind(kind: FailureKind) -> Option<&'static str> {
    match kind {
        FailureKind::Denied => Some("grant it in the policy, or do without it"),
        FailureKind::NotFound => {
            Some("look for it in the recorded node; where hardware may lack it, `if_present()` makes it none")
        }
        FailureKind::Invalid => {
            Some("ask for what lies beneath the device itself; `children`, `parent` and `related` give others")
        }
        FailureKind::Io => Some("the kernel did not answer: list it by `with_unread`, and judge it `Unknown`"),
        FailureKind::Limit => Some("take it in parts: `read` and `attribute-bytes` have an offset"),
        FailureKind::Gone | FailureKind::Busy | FailureKind::Unsupported | FailureKind::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Kind, Query};
    use devgate_types::{ByteSize, Limit};
    use std::time::Duration;

    /// The host was asked, and answered with this failure.
    fn refused(kind: FailureKind, message: &str) -> [Asked; 1] {
        let query = Query { kind: Kind::Attribute, location: String::new(), path: "serial".to_owned() };
        let error = Some(Denied::Failure(Failure::new(kind, message)));
        [Asked { query, content: None, error, took: Duration::ZERO }]
    }

    #[test]
    fn a_limit_is_named_by_its_key_where_it_has_one() {
        let about = |limit| about(&GuestFault::Limit(limit).into(), &[]).unwrap();
        let memory = about(Limit::Memory(ByteSize::mib(16)));
        assert_eq!(memory, "do less in one call, or raise limits.memory in the policy that you ship");
        assert_eq!(about(Limit::Stack(ByteSize::kib(256))), "recurse less: no policy raises it");
    }

    #[test]
    fn what_the_host_said_has_something_to_do_and_what_the_component_says_itself_has_its_own_words() {
        let failed =
            |kind, message: &str, asked: &[Asked]| about(&CallError::Failed(Failure::new(kind, message)), asked);
        let missing = refused(FailureKind::NotFound, "serial: is not there");
        let passed_on = failed(FailureKind::NotFound, "gpu 1: serial: is not there", &missing);
        assert!(passed_on.is_some_and(|step| step.contains("if_present()")));
        assert_eq!(failed(FailureKind::NotFound, "gpu 1: is not there", &missing), None);
        assert_eq!(failed(FailureKind::Invalid, "gpu 1: serial: is not there", &missing), None);
        assert_eq!(failed(FailureKind::Invalid, "mode is neither fast nor safe", &[]), None);
        assert_eq!(failed(FailureKind::Busy, "x", &refused(FailureKind::Busy, "x")), None);
    }
}
