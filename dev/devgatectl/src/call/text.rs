//! What people read.

use super::Called;
use super::answer::{Answer, NodeFacts, PoolFacts, UnitConditions};
use super::traced::{Cost, Question};
use devgate::output::{BAD, columns, count};
use devgate_core::offer::Reply;
use devgate_types::{ByteSize, escape};
use std::fmt::Write as _;

pub(super) fn of(called: &Called) -> String {
    let mut text = String::new();
    for question in called.questions.iter().flatten() {
        let _ = writeln!(text, "{:>8} µs  {}", question.us, asked(question));
    }
    match (&called.answer, &called.error) {
        (_, Some(error)) => {
            let _ = writeln!(text, "{BAD}{}{BAD:#} {error}", called.function);
            if let Some(to_do) = &called.to_do {
                let _ = writeln!(text, "  to do  {to_do}");
            }
        }
        (Some(answer), None) => text += &answered(answer),
        (None, None) => {}
    }
    for said in &called.said {
        let _ = writeln!(text, "said ({}): {}", said.level, said.text);
    }
    text + &called.cost.as_ref().map(cost).unwrap_or_default()
}

fn asked(question: &Question) -> String {
    match (&question.error, &question.answer) {
        (Some(error), _) => format!("{}: {error}", question.what),
        (None, Some(answer)) => format!("{} = {answer}", question.what),
        (None, None) => question.what.clone(),
    }
}

fn answered(answer: &Answer) -> String {
    let mut text = String::new();
    match answer {
        Answer::Listed { pools, rejected, contested } => {
            for pool in pools {
                listed(&mut text, pool);
            }
            if pools.is_empty() {
                text += "no pool is listed\n";
            }
            for rejected in rejected {
                let _ = writeln!(text, "{BAD}rejected{BAD:#} {}: {}", rejected.what, rejected.why);
            }
            for (id, why) in contested {
                let _ = writeln!(
                    text,
                    "{BAD}not given{BAD:#} id {id}: {why}; list one unit for both, or say shares-hardware"
                );
            }
        }
        Answer::Verdicts { units } => {
            let row = |unit: &super::UnitVerdict| {
                let reason = unit.reason.clone().unwrap_or_default();
                [unit.resource.clone(), unit.id.clone(), unit.verdict.to_owned(), reason]
            };
            text += &columns(0, &units.iter().map(row).collect::<Vec<_>>());
            if units.is_empty() {
                text += "there is no unit\n";
            }
        }
        Answer::Conditions { units } => {
            let rows: Vec<_> = units.iter().flat_map(conditions).collect();
            text += &columns(0, &rows);
            if rows.is_empty() {
                text += "there is no condition\n";
            }
        }
        Answer::Reply(reply) => text += &given(reply),
        Answer::Choice { choice } => {
            for id in choice {
                let _ = writeln!(text, "{}", escape(id, 80));
            }
        }
        Answer::Done {} => text += "done\n",
    }
    text
}

fn conditions(unit: &UnitConditions) -> impl Iterator<Item = [String; 4]> {
    let row = |what: String, why: String| [unit.resource.clone(), unit.id.clone(), what, why];
    let named =
        unit.conditions.iter().map(move |one| row(format!("{} ({})", one.key, one.effect), one.message.clone()));
    named.chain(
        unit.unnamed.iter().map(move |key| row(key.clone(), "the policy does not name it (dra.conditions)".into())),
    )
}

fn listed(text: &mut String, pool: &PoolFacts) {
    let asked = if pool.asked == pool.resource { String::new() } else { format!(", the component's {}", pool.asked) };
    let _ = writeln!(text, "{}{asked}: {}", pool.resource, count(pool.units.len(), "unit"));
    for unit in &pool.units {
        let _ = writeln!(text, "  {}", unit.id);
        let mut rows: Vec<_> = unit.backing.iter().map(|place| ["made of".to_owned(), place.clone()]).collect();
        rows.extend(unit.nodes.iter().map(|node| ["node".to_owned(), shown(node)]));
        rows.extend(unit.properties.iter().map(|(name, value)| ["property".to_owned(), format!("{name}={value}")]));
        *text += &columns(4, &rows);
    }
    for node in &pool.shared_nodes {
        let _ = writeln!(text, "  with each: node {}", shown(node));
    }
}

fn shown(node: &NodeFacts) -> String {
    format!("{} ({})", node.path, node.access)
}

fn given(reply: &Reply) -> String {
    let lines = crate::reply::lines(reply);
    if lines.is_empty() {
        return "a container gets nothing\n".to_owned();
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn cost(cost: &Cost) -> String {
    format!(
        "took {} µs of {}, memory {} of {}, {} of {} host calls, read {} of {}\n",
        cost.time_us,
        cost.deadline_us,
        ByteSize(cost.memory),
        ByteSize(cost.memory_limit),
        cost.host_calls,
        cost.host_calls_limit,
        ByteSize(cost.read),
        ByteSize(cost.read_limit)
    )
}
