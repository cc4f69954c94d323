//! What a component returned, held to the lengths that `wit/types.wit` documents.
//!
//! Whether it is *true* (names, ids, whose node that is) is for the gate; here it only becomes small enough and free of NUL. What
//! only people read is cut instead of refused.

use crate::component::{Call, CallKind, Output};
use crate::{Condition, Edits, Failure, GuestFault, Pool, Property, Unit, Verdict};
use std::collections::BTreeSet;

/// Bytes of a string.
const STRING: usize = 4_096;
/// Entries of a list.
const LIST: usize = 4_096;
/// Units of a pool, and verdicts: one plugin may have more hardware than any other list has entries.
const UNITS: usize = 16_384;
/// Properties of a unit.
const UNIT_PROPERTIES: usize = 32;
/// Bytes of a property's name.
const NAME: usize = 128;
/// Bytes of a verdict's reason, an error's message and an error's code. These are for people, so they are cut.
const REASON: usize = 256;
const MESSAGE: usize = 1_024;
const CODE: usize = 64;
/// Conditions of a unit.
const CONDITIONS: usize = 16;
/// Bytes of a condition's key.
const KEY: usize = 63;
/// The property of a pool that names devices, separated by spaces. A node may have more of them than a string holds: it is cut,
/// since what is known of the other devices is worth more than the last of these names.
const UNREAD: &str = "devgate.unread";

type Checked<T> = Result<T, GuestFault>;

/// What a call returned. Fails where something is longer than the contract allows, or there are other verdicts than it was asked for.
pub fn check(call: &Call<'_>, output: Output) -> Checked<Output> {
    let asked = |kind| if call.kind == kind { call.units.len() } else { 0 };
    Ok(Output {
        pools: pools(output.pools)?,
        verdicts: verdicts(output.verdicts, asked(CallKind::Health))?,
        edits: edits(output.edits)?,
        choice: choice(output.choice)?,
        conditions: conditions(output.conditions, asked(CallKind::Examine))?,
    })
}

fn pools(mut pools: Vec<Pool>) -> Checked<Vec<Pool>> {
    length("the list of pools", pools.len(), LIST)?;
    pools.iter_mut().try_for_each(pool)?;
    Ok(pools)
}

fn verdicts(mut verdicts: Vec<Verdict>, asked: usize) -> Checked<Vec<Verdict>> {
    if verdicts.len() != asked {
        let message = format!("{} verdicts for {asked} units; give one for each, in their order", verdicts.len());
        return Err(GuestFault::contract(&message));
    }
    for verdict in &mut verdicts {
        if let Verdict::Unhealthy(reason) | Verdict::Unknown(reason) = verdict {
            cut(reason, REASON);
        }
    }
    Ok(verdicts)
}

fn conditions(mut lists: Vec<Vec<Condition>>, asked: usize) -> Checked<Vec<Vec<Condition>>> {
    if lists.len() != asked {
        let message =
            format!("{} lists of conditions for {asked} units; give one for each, in their order", lists.len());
        return Err(GuestFault::contract(&message));
    }
    for list in &mut lists {
        length("a unit's list of conditions", list.len(), CONDITIONS)?;
        let mut seen = BTreeSet::new();
        for Condition { key, message, .. } in list {
            if !is_key(key) {
                let rule = "must be lower-case letters, digits and single dashes between them";
                return Err(GuestFault::contract(&format!("a condition's key \"{key}\" {rule}, at most {KEY} bytes")));
            }
            if !seen.insert(key.as_str()) {
                return Err(GuestFault::contract(&format!("a unit's condition {key} appears twice")));
            }
            cut(message, REASON);
        }
    }
    Ok(lists)
}

/// Whether a condition may have this key, which stands in an API's names.
#[must_use]
pub fn is_key(key: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    key.len() <= KEY && key.split('-').all(is_word)
}

fn edits(edits: Edits) -> Checked<Edits> {
    length("edits.mounts", edits.mounts.len(), LIST)?;
    length("edits.cdi", edits.cdi.len(), LIST)?;
    properties("edits.env", &edits.env, LIST)?;
    properties("edits.annotations", &edits.annotations, LIST)?;
    edits.cdi.iter().try_for_each(|name| text("a CDI name", name, STRING))?;
    properties("edits.properties", &edits.properties, LIST)?;
    Ok(edits)
}

/// Ids, of which it is for others to say whether they are those that there are.
fn choice(ids: Vec<String>) -> Checked<Vec<String>> {
    length("the choice", ids.len(), UNITS)?;
    ids.iter().try_for_each(|id| text("a chosen id", id, STRING))?;
    Ok(ids)
}

/// What a component says went wrong.
#[must_use]
pub fn failure(mut failure: Failure) -> Failure {
    cut(&mut failure.message, MESSAGE);
    cut(&mut failure.code, CODE);
    failure
}

fn pool(pool: &mut Pool) -> Checked<()> {
    length("a pool's list of units", pool.units.len(), UNITS)?;
    text("a pool's resource", &pool.resource, STRING)?;
    pool.units.iter().try_for_each(unit)?;
    length("a pool's shared nodes", pool.shared_nodes.len(), LIST)?;
    pool.properties.iter_mut().for_each(shorten);
    properties("a pool's properties", &pool.properties, LIST)
}

/// The names of devices cut to what a property holds, each of them whole.
fn shorten(property: &mut Property) {
    if property.name == UNREAD && property.value.len() > STRING {
        // With the byte behind: where that is a space, the name before it is whole.
        cut(&mut property.value, STRING + 1);
        property.value.truncate(property.value.rfind(' ').unwrap_or(0));
    }
}

fn unit(unit: &Unit) -> Checked<()> {
    length("a unit's backing", unit.backing.len(), LIST)?;
    text("a unit's id", &unit.id, STRING)?;
    length("a unit's nodes", unit.nodes.len(), LIST)?;
    properties("a unit's properties", &unit.properties, UNIT_PROPERTIES)
}

fn properties(what: &str, properties: &[Property], most: usize) -> Checked<()> {
    length(what, properties.len(), most)?;
    if let Some(name) = repeated(properties) {
        return Err(GuestFault::contract(&format!("{what}: \"{name}\" appears twice")));
    }
    properties.iter().try_for_each(|property| {
        text("a property's name", &property.name, NAME)?;
        text("a property's value", &property.value, STRING)
    })
}

fn repeated(properties: &[Property]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    let again = properties.iter().find(|property| !seen.insert(property.name.as_str()));
    again.map(|property| property.name.as_str())
}

fn length(what: &str, length: usize, most: usize) -> Checked<()> {
    if length > most {
        return Err(GuestFault::contract(&format!("{what} has {length} entries; at most {most} are allowed")));
    }
    Ok(())
}

fn text(what: &str, text: &str, most: usize) -> Checked<()> {
    if text.len() > most {
        let length = text.len();
        return Err(GuestFault::contract(&format!("{what} has {length} bytes; at most {most} are allowed")));
    }
    if text.contains('\0') {
        return Err(GuestFault::contract(&format!("{what} contains a NUL")));
    }
    Ok(())
}

/// At most `most` bytes, without half a character.
fn cut(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property(name: &str, value: &str) -> Property {
        Property { name: name.into(), value: value.into() }
    }

    fn a_unit(id: &str, properties: Vec<Property>) -> Unit {
        Unit { id: id.into(), backing: vec![], nodes: vec![], properties }
    }

    fn pool_of(units: Vec<Unit>) -> Vec<Pool> {
        vec![Pool { resource: "v.com/x".into(), units, shared_nodes: vec![], properties: vec![] }]
    }

    fn refused(units: Vec<Unit>) -> String {
        pools(pool_of(units)).unwrap_err().to_string()
    }

    #[test]
    fn ten_thousand_units_are_allowed_and_more_than_16384_are_not() {
        let many = |n: usize| pool_of((0..n).map(|i| a_unit(&i.to_string(), vec![])).collect());
        assert_eq!(pools(many(UNITS)).unwrap()[0].units.len(), UNITS);
        insta::assert_snapshot!(
            pools(many(UNITS + 1)).unwrap_err(),
            @"broke the contract: a pool's list of units has 16385 entries; at most 16384 are allowed"
        );
    }

    #[test]
    fn a_choice_is_a_list_of_strings() {
        let many = |n: usize| (0..n).map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!(choice(many(UNITS)).unwrap().len(), UNITS);
        insta::assert_snapshot!(
            choice(many(UNITS + 1)).unwrap_err(),
            @"broke the contract: the choice has 16385 entries; at most 16384 are allowed"
        );
        insta::assert_snapshot!(
            choice(vec!["x".repeat(STRING + 1)]).unwrap_err(),
            @"broke the contract: a chosen id has 4097 bytes; at most 4096 are allowed"
        );
        assert!(choice(vec!["a\0".into()]).is_err());
    }

    #[test]
    fn strings_are_bounded_and_free_of_nul() {
        assert!(pools(pool_of(vec![a_unit(&"x".repeat(STRING), vec![])])).is_ok());
        insta::assert_snapshot!(
            refused(vec![a_unit(&"x".repeat(STRING + 1), vec![])]),
            @"broke the contract: a unit's id has 4097 bytes; at most 4096 are allowed"
        );
        insta::assert_snapshot!(refused(vec![a_unit("a\0b", vec![])]), @"broke the contract: a unit's id contains a NUL");
    }

    #[test]
    fn a_unit_has_at_most_32_properties_each_once() {
        let many = |n: usize| vec![a_unit("a", (0..n).map(|i| property(&i.to_string(), "")).collect())];
        assert!(pools(pool_of(many(32))).is_ok());
        insta::assert_snapshot!(
            refused(many(33)),
            @"broke the contract: a unit's properties has 33 entries; at most 32 are allowed"
        );
        insta::assert_snapshot!(
            refused(vec![a_unit("a", vec![property("x\n", "1"), property("x\n", "2")])]),
            @r#"broke the contract: a unit's properties: "x\n" appears twice"#
        );
        insta::assert_snapshot!(
            refused(vec![a_unit("a", vec![property(&"n".repeat(129), "1")])]),
            @"broke the contract: a property's name has 129 bytes; at most 128 are allowed"
        );
    }

    #[test]
    fn devices_that_cannot_be_described_cost_a_list_nothing_however_many_they_are() {
        let answer = |name: &str, value: &str| {
            let mut pools = pool_of(vec![a_unit("a", vec![]), a_unit("b", vec![])]);
            pools[0].properties = vec![property(name, value)];
            super::pools(pools)
        };
        for (name, kept) in [("0000:b3:00.0", 315), ("é", 1_365), ("abcdefg", 512)] {
            let pools = answer(UNREAD, &[name; 8_192].join(" ")).unwrap();
            assert_eq!(pools[0].units.len(), 2);
            assert_eq!(pools[0].properties[0].value, vec![name; kept].join(" "));
        }
        assert_eq!(answer(UNREAD, &"x".repeat(8_192)).unwrap()[0].properties[0].value, "");
        assert!(answer("serial", &"x ".repeat(8_192)).is_err());
    }

    #[test]
    fn there_is_one_verdict_for_each_unit() {
        assert_eq!(verdicts(vec![Verdict::Healthy], 1).unwrap(), [Verdict::Healthy]);
        insta::assert_snapshot!(
            verdicts(vec![Verdict::Healthy], 2).unwrap_err(),
            @"broke the contract: 1 verdicts for 2 units; give one for each, in their order"
        );
    }

    #[test]
    fn conditions_are_a_list_for_each_unit_with_each_key_once() {
        let one = |key: &str| Condition { key: key.into(), effect: crate::Effect::NoNew, message: "é".repeat(1_000) };
        let given = conditions(vec![vec![one("row-remap-pending"), one("x1")], vec![]], 2).unwrap();
        assert_eq!(given[0][0].message, "é".repeat(128));
        insta::assert_snapshot!(
            conditions(vec![vec![]], 2).unwrap_err(),
            @"broke the contract: 1 lists of conditions for 2 units; give one for each, in their order"
        );
        insta::assert_snapshot!(
            conditions(vec![vec![one("a"), one("a")]], 1).unwrap_err(),
            @"broke the contract: a unit's condition a appears twice"
        );
        let many = (0..=CONDITIONS).map(|n| one(&n.to_string())).collect();
        insta::assert_snapshot!(
            conditions(vec![many], 1).unwrap_err(),
            @"broke the contract: a unit's list of conditions has 17 entries; at most 16 are allowed"
        );
        insta::assert_snapshot!(
            conditions(vec![vec![one("Too\nhot")]], 1).unwrap_err(),
            @r#"broke the contract: a condition's key "Too\nhot" must be lower-case letters, digits and single dashes between them, at most 63 bytes"#
        );
        for odd in ["", "-a", "a-", "a--b", "a.b", "a/b", &"a".repeat(64)] {
            assert!(!is_key(odd), "{odd}");
        }
    }

    #[test]
    fn text_for_people_is_cut_not_refused() {
        let reason = verdicts(vec![Verdict::Unknown("é".repeat(1_000))], 1).unwrap();
        assert_eq!(reason, [Verdict::Unknown("é".repeat(128))]);
        let said = failure(Failure::new(crate::FailureKind::Busy, "m".repeat(10_000)).with_code("c".repeat(100)));
        assert_eq!((said.kind, said.code.len(), said.message.len()), (crate::FailureKind::Busy, 64, 1_024));
    }
}
