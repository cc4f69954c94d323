//! Why a child could not read, compile or load a component.

use super::wire::{self, refusal::Kind};
use devgate_types::GuestText;
use devgate_types::load::Refusal;

/// The policy's keys that a refusal may name.
const KEYS: [&str; 8] = [
    "limits.component-size",
    "limits.function-size",
    "limits.functions",
    "limits.instances",
    "limits.memories",
    "limits.memory",
    "limits.table-elements",
    "limits.tables",
];
/// The most bytes of what is too large, or of how large it may be.
const WORDS: usize = 128;

impl From<Refusal> for wire::Refusal {
    fn from(refusal: Refusal) -> Self {
        let of = |kind: Kind, text: String| Self { kind: kind.into(), text, ..Self::default() };
        match refusal {
            Refusal::Invalid(why) => of(Kind::Invalid, why.as_str().to_owned()),
            Refusal::Mismatch(why) => of(Kind::Mismatch, why.as_str().to_owned()),
            Refusal::Limit { what, most, key } => {
                Self { most, key: key.unwrap_or_default().to_owned(), ..of(Kind::Limit, what) }
            }
            Refusal::Host(why) => of(Kind::Host, why),
            Refusal::Code(why) => of(Kind::Code, why),
            // These are found before a child is asked.
            other => of(Kind::Host, other.to_string()),
        }
    }
}

impl From<wire::Refusal> for Refusal {
    fn from(refusal: wire::Refusal) -> Self {
        let kind = refusal.kind();
        let wire::Refusal { text, most, key, .. } = refusal;
        let words = |text: &str| devgate_types::escape(text, WORDS);
        match kind {
            Kind::Invalid => Self::Invalid(GuestText::of_escaped(&text)),
            Kind::Mismatch => Self::Mismatch(GuestText::of_escaped(&text)),
            Kind::Limit => Self::Limit {
                what: words(&text),
                most: words(&most),
                key: KEYS.into_iter().find(|known| *known == key),
            },
            Kind::Code => Self::Code(GuestText::of_escaped(&text).as_str().to_owned()),
            Kind::Host => Self::Host(GuestText::of_escaped(&text).as_str().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_arrives_as_it_was_sent() {
        let limit = |key| Refusal::Limit { what: "component has 7 tables".into(), most: "4".into(), key };
        let mut refusals = vec![
            Refusal::Invalid(GuestText::new("a\nb")),
            Refusal::Mismatch(GuestText::new("c\\d")),
            Refusal::Host("no room".into()),
            Refusal::Code("another processor".into()),
            limit(None),
        ];
        refusals.extend(KEYS.map(|key| limit(Some(key))));
        for refusal in refusals {
            assert_eq!(Refusal::from(wire::Refusal::from(refusal.clone())), refusal);
        }
    }
}
