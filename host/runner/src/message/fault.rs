//! Failures and faults, both ways. A fault that comes from a runner is the component's word, and no more than that.

use super::question::Argument;
use super::wire::{self, failure::Kind, fault};
use devgate_types::{CallError, Failure, FailureKind, GuestFault, GuestText, HostFault, Limit};

devgate_types::same!(FailureKind, Kind: Denied NotFound Gone Invalid Io Limit Busy Unsupported Other);

impl From<Failure> for wire::Failure {
    fn from(failure: Failure) -> Self {
        Self { kind: Kind::from(failure.kind).into(), code: failure.code, message: failure.message }
    }
}

impl From<wire::Failure> for Failure {
    fn from(failure: wire::Failure) -> Self {
        let kind = failure.kind().into();
        Self::new(kind, failure.message).with_code(failure.code)
    }
}

impl From<CallError> for wire::Fault {
    fn from(error: CallError) -> Self {
        let mut most = 0;
        let fault = match error {
            CallError::Failed(failure) => fault::Fault::Failed(failure.into()),
            CallError::Host(HostFault(why)) => fault::Fault::Host(why),
            CallError::Guest(GuestFault::Trap(why)) => fault::Fault::Trap(why.as_str().to_owned()),
            CallError::Guest(GuestFault::Exited(status)) => fault::Fault::Exited(status),
            CallError::Guest(GuestFault::Contract(why) | GuestFault::Ended(why)) => {
                fault::Fault::Contract(why.as_str().to_owned())
            }
            CallError::Guest(GuestFault::Limit(limit)) => {
                let (limit, of) = numbered(limit);
                most = of;
                fault::Fault::Limit(limit.into())
            }
        };
        Self { fault: Some(fault), most }
    }
}

impl From<wire::Fault> for CallError {
    fn from(fault: wire::Fault) -> Self {
        let most = fault.most;
        match fault.fault {
            Some(fault::Fault::Failed(failure)) => Self::Failed(devgate_types::answer::failure(failure.into())),
            Some(fault::Fault::Trap(why)) => GuestFault::Trap(GuestText::of_escaped(&why)).into(),
            Some(fault::Fault::Exited(status)) => GuestFault::Exited(status).into(),
            Some(fault::Fault::Limit(limit)) => {
                let limit = fault::Limit::try_from(limit).unwrap_or(fault::Limit::Cpu);
                GuestFault::Limit(named(limit, most)).into()
            }
            Some(fault::Fault::Contract(why)) => GuestFault::Contract(GuestText::of_escaped(&why)).into(),
            Some(fault::Fault::Host(why)) => HostFault(GuestText::of_escaped(&why).as_str().to_owned()).into(),
            None => GuestFault::contract("it failed and does not say why").into(),
        }
    }
}

macro_rules! limits {
    ($($limit:ident)*) => {
        /// A limit, and how much it is.
        fn numbered(limit: Limit) -> (fault::Limit, u64) {
            match limit {
                $(Limit::$limit(most) => (fault::Limit::$limit, most.said().into()),)*
            }
        }

        fn named(limit: fault::Limit, most: u64) -> Limit {
            match limit {
                $(fault::Limit::$limit => Limit::$limit(Argument::heard(&fitting(most))),)*
            }
        }
    };
}
limits!(Cpu Deadline Memory TableElements Stack Handles Transfer HostCalls Read);

/// What a component says of a limit is no larger than that can be.
fn fitting<T: TryFrom<u64> + TryFrom<u32> + Default>(most: u64) -> T {
    T::try_from(most).or_else(|_| T::try_from(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_types::ByteSize;
    use std::time::Duration;

    #[test]
    fn each_fault_arrives_as_it_was_sent() {
        let limits = [
            Limit::Cpu(Duration::from_micros(7)),
            Limit::Deadline(Duration::from_secs(7)),
            Limit::Memory(ByteSize::mib(7)),
            Limit::TableElements(7),
            Limit::Stack(ByteSize::kib(7)),
            Limit::Handles(7),
            Limit::Transfer(ByteSize(7)),
            Limit::HostCalls(7),
            Limit::Read(ByteSize(7)),
        ];
        let faults =
            [GuestFault::Trap(GuestText::new("a\nb\\")), GuestFault::Exited(-7), GuestFault::contract("\x1b[2J")];
        let faults = faults.into_iter().chain(limits.map(GuestFault::Limit));
        let failed = CallError::Failed(Failure::new(FailureKind::Gone, "a\nb").with_code("EIO"));
        let host = CallError::Host(HostFault("no room".into()));
        for error in faults.map(CallError::from).chain([failed, host]) {
            assert_eq!(CallError::from(wire::Fault::from(error.clone())), error);
        }
    }
}
