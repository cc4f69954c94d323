//! Conditions of units, both ways.

use super::wire::{self, condition};
use devgate_types::{Condition, Effect};

impl From<&[Condition]> for wire::Conditions {
    fn from(conditions: &[Condition]) -> Self {
        let condition = |Condition { key, effect, message }: &Condition| {
            let effect = match effect {
                Effect::Inform => condition::Effect::Inform,
                Effect::NoNew => condition::Effect::NoNew,
                Effect::Evict => condition::Effect::Evict,
            };
            wire::Condition { key: key.clone(), effect: effect.into(), message: message.clone() }
        };
        Self { conditions: conditions.iter().map(condition).collect() }
    }
}

impl From<wire::Conditions> for Vec<Condition> {
    fn from(wire::Conditions { conditions }: wire::Conditions) -> Self {
        let condition = |said: wire::Condition| {
            let effect = match said.effect() {
                condition::Effect::Inform => Effect::Inform,
                condition::Effect::NoNew => Effect::NoNew,
                condition::Effect::Evict => Effect::Evict,
            };
            Condition { key: said.key, effect, message: said.message }
        };
        conditions.into_iter().map(condition).collect()
    }
}
