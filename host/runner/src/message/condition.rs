//! Conditions of units, both ways.

use super::wire::{self, condition};
use devgate_types::{Condition, Effect};

devgate_types::same!(Effect, condition::Effect: Inform NoNew Evict);

impl From<&[Condition]> for wire::Conditions {
    fn from(conditions: &[Condition]) -> Self {
        let condition = |Condition { key, effect, message }: &Condition| {
            let effect = condition::Effect::from(*effect).into();
            wire::Condition { key: key.clone(), effect, message: message.clone() }
        };
        Self { conditions: conditions.iter().map(condition).collect() }
    }
}

impl From<wire::Conditions> for Vec<Condition> {
    fn from(wire::Conditions { conditions }: wire::Conditions) -> Self {
        let condition = |said: wire::Condition| {
            let effect = said.effect().into();
            Condition { key: said.key, effect, message: said.message }
        };
        conditions.into_iter().map(condition).collect()
    }
}
