//! Limits on their way to a child.

use super::question::Argument;
use super::wire;
use devgate_types::Limits;

macro_rules! limits {
    ($($limit:ident)*) => {
        impl From<&Limits> for wire::Limits {
            fn from(limits: &Limits) -> Self {
                Self { $($limit: limits.$limit.said(),)* }
            }
        }

        impl From<wire::Limits> for Limits {
            fn from(limits: wire::Limits) -> Self {
                Self { $($limit: Argument::heard(&limits.$limit),)* }
            }
        }
    };
}
limits! {
    cpu deadline memory instances memories tables table_elements handles transfer host_calls read log component_size functions
    function_size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_arrive_as_they_were_sent() {
        let limits = Limits::default().for_devices(5_000);
        assert_eq!(Limits::from(wire::Limits::from(&limits)), limits);
    }
}
