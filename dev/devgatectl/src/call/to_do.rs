//! What an author does about a call that failed: by the kind of its failure, whatever its words are.

use devgate_types::{CallError, FailureKind, GuestFault};

/// For an allocation that was answered with what the policy does not grant.
pub(super) const REFUSED: &str = "answer what the policy expects, or have it expect this (containers)";

/// What to do about an error; nothing where that depends on words that are the component's own.
pub(super) fn about(error: &CallError) -> Option<String> {
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
        CallError::Failed(failure) => return of_kind(failure.kind).map(str::to_owned),
        CallError::Host(_) => return None,
    };
    Some(fixed.to_owned())
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
    use devgate_types::{ByteSize, Failure, Limit};

    #[test]
    fn a_limit_is_named_by_its_key_where_it_has_one() {
        let about = |limit| about(&GuestFault::Limit(limit).into()).unwrap();
        let memory = about(Limit::Memory(ByteSize::mib(16)));
        assert_eq!(memory, "do less in one call, or raise limits.memory in the policy that you ship");
        assert_eq!(about(Limit::Stack(ByteSize::kib(256))), "recurse less: no policy raises it");
    }

    #[test]
    fn what_only_the_component_knows_is_left_to_its_words() {
        let failed = |kind| about(&CallError::Failed(Failure::new(kind, "x")));
        assert_eq!(failed(FailureKind::Busy), None);
        assert!(failed(FailureKind::NotFound).is_some_and(|step| step.contains("if_present()")));
    }
}
