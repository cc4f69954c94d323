//! What people read after each look.

use super::Round;
use crate::plan::{CallCost, NodePlan, Offered, changes};
use devgate::output::{BAD, columns, count};
use devgate_types::ByteSize;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

pub(super) fn of(round: &Round, built: Option<Duration>, plan: Option<&NodePlan>) -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let time = now.get(11..19).unwrap_or(&now);
    let built = built.map(|took| format!("built in {:.1} s, ", took.as_secs_f64())).unwrap_or_default();
    let mut text = format!("\n{time}  {built}looked at in {:.2} s\n", round.took.as_secs_f64());
    for name in round.offered.plugins.keys() {
        plugin(&mut text, name, &round.offered);
        let costs = round.costs.iter().filter(|cost| cost.plugin == *name);
        text += &columns(2, &costs.map(cost).collect::<Vec<_>>());
    }
    match plan {
        Some(plan) if plan.changes() => {
            text += "since the last look:\n";
            text += &changes(plan);
        }
        Some(_) => text += "nothing is another than at the last look\n",
        None => {}
    }
    text
}

fn plugin(text: &mut String, name: &str, offered: &Offered) {
    let Some(plugin) = offered.plugins.get(name) else { return };
    let units: Vec<_> = offered.units.iter().filter(|(_, unit)| unit.plugin == name).collect();
    let healthy = units.iter().filter(|(_, unit)| unit.unhealthy.is_none()).count();
    let _ = match &plugin.why {
        Some(why) => writeln!(text, "plugin {name}: {BAD}{}{BAD:#}: {why}", plugin.outcome),
        None => writeln!(text, "plugin {name}: {}, {}, {healthy} healthy", plugin.outcome, count(units.len(), "unit")),
    };
    for (id, unit) in &units {
        if let Some(why) = &unit.unhealthy {
            let _ = writeln!(text, "  {BAD}unhealthy{BAD:#} {} {id}: {why}", unit.resource);
        }
    }
    for (what, why) in &plugin.absent {
        let _ = writeln!(text, "  {BAD}not offered{BAD:#} {what}: {why}");
    }
    for said in &plugin.said {
        let _ = writeln!(text, "  said: {said}");
    }
}

fn cost(cost: &CallCost) -> [String; 5] {
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1_000.0);
    let CallCost { limits, cost: took, .. } = cost;
    [
        cost.call.to_owned(),
        format!("{} of {}", ms(took.time), ms(limits.deadline)),
        format!("{} of {}", ByteSize(took.memory.0), limits.memory),
        format!("{} of {} host calls", took.host_calls, limits.host_calls),
        format!("{} read of {}", ByteSize(cost.read), limits.read),
    ]
}
