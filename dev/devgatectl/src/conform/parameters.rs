//! What a component makes of what claims and classes say, if it exports `parameters`.

use super::harness::{Harness, broke, named};
use super::scorecard::{Outcome, Scorecard};
use devgate_core::workbench::{ListedPool, ListedUnit, NotGiven, Workbench};
use devgate_types::{CallError, Origin, Setting};
use std::slice::from_ref;

/// The most bytes of one, and the most of them.
const LONGEST: usize = 10 << 10;
const MOST: usize = 64;

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    if !harness.profile().parameters {
        return Ok(Some("the component exports no parameters".to_owned()));
    }
    let bench = harness.bench()?;
    let (mut nothing, mut unknown, mut broken, mut pools) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (pool, unit) in harness.pools().filter_map(|(pool, _)| Some((pool, pool.units.first()?))) {
        pools += 1;
        let ask = |settings: &[Setting]| bench.allocate(pool, from_ref(unit), settings);
        let both = [Origin::Class, Origin::Claim];
        for origin in both {
            let (plain, same) = (bench.allocate(pool, from_ref(unit), &[]), ask(&[setting(origin, "{}")]));
            if plain != same {
                nothing.push(format!("`{{}}` of the {} for {}: {same:?}", word(origin), named(unit)));
            }
        }
        for json in [r#"{"devgate-conform": true}"#, "[1]", "\"text\"", "{"] {
            for origin in both {
                if let Err(why) = refused(&bench, pool, unit, &setting(origin, json)) {
                    unknown.push(format!("`{json}` of the {} for {}: {why}", word(origin), named(unit)));
                }
            }
        }
        for (what, settings) in odd() {
            let how = match ask(&settings) {
                Err(NotGiven::Call(error)) => broke::<()>(&Err(error)),
                _ => None,
            };
            broken.extend(how.map(|how| format!("allocate-with {how}, given {what}")));
        }
    }
    if pools == 0 {
        return Ok(None);
    }
    card.record("parameters.nothing", Outcome::of(format!("{pools} pools"), nothing));
    card.record("parameters.unknown", Outcome::of("8 questions for each pool", unknown));
    card.record("parameters.odd", Outcome::of(format!("{} questions for each pool", odd().len()), broken));
    Ok(None)
}

fn refused(bench: &Workbench, pool: &ListedPool, unit: &ListedUnit, setting: &Setting) -> Result<(), String> {
    match bench.allocate(pool, from_ref(unit), from_ref(setting)) {
        Err(NotGiven::Call(CallError::Failed(_))) => Ok(()),
        Err(other) => Err(other.to_string()),
        Ok(_) => Err("was taken for good".to_owned()),
    }
}

/// What means nothing, and tenants write.
fn odd() -> Vec<(&'static str, Vec<Setting>)> {
    let of_claim = |json: &str| vec![setting(Origin::Claim, json)];
    let text = format!("\"{}\"", "x".repeat(LONGEST - 2));
    let number = format!("{{\"a\": {}}}", "9".repeat(400));
    vec![
        ("an empty text", of_claim("")),
        ("a byte order mark", of_claim("\u{feff}{}")),
        ("null", of_claim("null")),
        ("one list in the other", of_claim(&"[".repeat(LONGEST))),
        ("one mapping in the other", of_claim(&r#"{"a":"#.repeat(LONGEST / 5))),
        ("a text of 10 KiB", of_claim(&text)),
        ("a number of 400 digits", of_claim(&number)),
        ("half a character", of_claim(r#"{"\ud800": 1}"#)),
        ("64 of 10 KiB", vec![setting(Origin::Class, &text); MOST]),
    ]
}

fn setting(origin: Origin, json: &str) -> Setting {
    Setting { origin, json: json.to_owned() }
}

fn word(origin: Origin) -> &'static str {
    match origin {
        Origin::Class => "class",
        Origin::Claim => "claim",
    }
}
