//! What people read: the nodes that are not well, then all in numbers, then what is wrong with how many.

use super::{Fleet, NodeStatus};
use devgate::output::{BAD, columns, count};
use std::fmt::Write as _;

/// Nodes that are named for one problem, and the most lines for nodes on which all is well.
const NAMED: usize = 3;
const MAX_WELL: usize = 50;

pub(super) fn of(fleet: &Fleet) -> String {
    let is_well = |node: &&NodeStatus| node.unanswered.is_none() && node.conditions.is_empty();
    let (well, bad): (Vec<_>, Vec<_>) = fleet.nodes.iter().partition(is_well);
    let head = ["NODE", "VERSION", "HEALTHY", "STATE"].map(str::to_owned);
    let rows: Vec<_> =
        std::iter::once(head).chain(bad.iter().chain(well.iter().take(MAX_WELL)).map(|node| row(node))).collect();
    let mut text = columns(0, &rows);
    if well.len() > MAX_WELL {
        let _ = writeln!(text, "… and {} more on which all is well (--output json has all)", well.len() - MAX_WELL);
    }
    let (devices, healthy) =
        fleet.nodes.iter().fold((0, 0), |(all, good), node| (all + node.devices, good + node.healthy));
    let nodes = count(fleet.nodes.len(), "node");
    let _ = writeln!(text, "\n{nodes}, {} not well; {healthy} of {} healthy", bad.len(), count(devices, "device"));
    for problem in &fleet.problems {
        let named = problem.nodes.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = if problem.nodes.len() > NAMED { ", …" } else { "" };
        let nodes = count(problem.nodes.len(), "node");
        let _ = writeln!(text, "{BAD}{nodes}{BAD:#}: {}: {} ({named}{more})", problem.of, problem.why);
    }
    if let Some(problem) = fleet.problems.first().filter(|problem| problem.condition != "unanswered") {
        let _ = writeln!(text, "next: {} help {}", devgate::output::program(), problem.condition);
    }
    text
}

fn row(node: &NodeStatus) -> [String; 4] {
    let healthy = match node.unanswered {
        Some(_) => "-".to_owned(),
        None => format!("{} of {}", node.healthy, node.devices),
    };
    [node.node.clone(), node.version.clone().unwrap_or_else(|| "-".to_owned()), healthy, node.summary.clone()]
}
