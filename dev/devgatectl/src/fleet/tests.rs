use super::*;

fn node(name: &str, conditions: &[(&str, &str, &str)], unanswered: Option<&str>) -> NodeStatus {
    let conditions = conditions.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned()));
    NodeStatus {
        node: name.to_owned(),
        pod: format!("devgate-{name}"),
        version: Some("0.1.0".to_owned()),
        devices: 8,
        healthy: 7,
        summary: "1 plugin".to_owned(),
        unanswered: unanswered.map(str::to_owned),
        conditions: conditions.collect(),
    }
}

/// What differs in numbers alone is one problem; that on most nodes comes first.
#[test]
fn the_same_problem_of_many_nodes_is_told_once() {
    let xid = |n| format!("Xid {n}, GPU has fallen off the bus");
    let mut nodes = vec![node("a", &[], Some("pod devgate-a is gone")), node("b", &[], Some("pod devgate-b is gone"))];
    for n in 10..15 {
        nodes.push(node(&n.to_string(), &[("devices-unhealthy", "plugin gpus", &xid(n))], None));
    }
    nodes.push(node("c", &[("devices-unhealthy", "plugin nics", &xid(1))], None));
    let problems = problems(&nodes);
    let found: Vec<_> = problems.iter().map(|problem| (problem.of.as_str(), problem.nodes.len())).collect();
    assert_eq!(found, [("plugin gpus", 5), ("host", 2), ("plugin nics", 1)]);
    let text = text::of(&Fleet { nodes, problems });
    let text = devgate::output::plain(&text);
    assert!(text.contains("\n8 nodes, 8 not well; 56 of 64 devices healthy\n"), "{text}");
    assert!(text.contains("\n5 nodes: plugin gpus: Xid 10, GPU has fallen off the bus (10, 11, 12, …)\n"), "{text}");
}
