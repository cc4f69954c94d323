//! `devgatectl fleet`, with a program in kubectl's place. The scenario `rollout` of the cluster asks a real one.

use crate::look::Said;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

/// A kubectl that lists pods and answers for each what stands in a file of its name; for some nothing, or something else.
const KUBECTL: &str = r#"#!/bin/sh
here=$(dirname "$0")
case "$*" in
*"get pods"*) cat "$here/pods.json" ;;
*exec*)
    for word in "$@"; do [ -f "$here/$word.json" ] && pod=$word; done
    [ "$pod" = hangs ] && exec sleep 600
    [ "$pod" = refuses ] && { echo "error: unable to upgrade connection: pod does not exist" >&2; exit 1; }
    cat "$here/$pod.json"
    grep -q '"condition"' "$here/$pod.json" && { echo "command terminated with exit code 5" >&2; exit 5; }
    exit 0 ;;
*) exit 9 ;;
esac
"#;

fn fleet(dir: &Path, more: &[&str]) -> anyhow::Result<Said> {
    let path = format!("{}:{}", dir.display(), std::env::var("PATH")?);
    let mut command = Command::new(devgate_tests::devgatectl()?);
    let output = command.arg("fleet").args(more).env("PATH", path).stdin(Stdio::null()).output()?;
    Ok(Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
    })
}

fn status(unhealthy: usize) -> Value {
    let device = |n| json!({"id": n, "unhealthy": (n < unhealthy).then(|| format!("Xid {n}"))});
    let devices: Vec<_> = (0..8).map(device).collect();
    let condition = json!({"condition": "devices-unhealthy", "of": "plugin gpus", "why": format!("{unhealthy} of 8 \u{1b}[31mdevices"), "count": unhealthy});
    json!({
        "version": "0.1.0",
        "summary": if unhealthy == 0 { "1 plugin, 8 devices" } else { "NOT well" },
        "conditions": if unhealthy == 0 { json!([]) } else { json!([condition]) },
        "plugins": [{"resources": [{"name": "fake.com/gpu", "devices": devices}]}],
    })
}

/// Pods by name, with what each answers and in which phase it is.
fn cluster(dir: &Path, pods: &[(String, Value, &str)]) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let program = dir.join("kubectl");
    std::fs::write(&program, KUBECTL)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let item = |(name, _, phase): &(String, Value, &str)| json!({"metadata": {"name": name}, "spec": {"nodeName": format!("node-{name}")}, "status": {"phase": phase}});
    let items: Vec<_> = pods.iter().map(item).collect();
    std::fs::write(dir.join("pods.json"), json!({"items": items}).to_string())?;
    for (name, answer, _) in pods {
        std::fs::write(dir.join(format!("{name}.json")), answer.to_string())?;
    }
    Ok(())
}

#[test]
fn five_hundred_nodes_are_asked_side_by_side_and_a_problem_is_told_once() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let mut pods: Vec<_> = (0..497).map(|n| (format!("p{n}"), status(usize::from(n < 17)), "Running")).collect();
    pods.push(("hangs".to_owned(), json!({}), "Running"));
    pods.push(("refuses".to_owned(), json!({}), "Running"));
    pods.push(("waits".to_owned(), json!({}), "Pending"));
    cluster(dir.path(), &pods)?;
    let said = fleet(dir.path(), &["--timeout", "5", "--jobs", "64"])?;
    assert_eq!(said.code, Some(5), "{}", said.err);
    for line in [
        "\n500 nodes, 20 not well; 3959 of 3976 devices healthy\n17 nodes: plugin gpus: 1 of 8 \\u{1b}[31mdevices (node-p0, node-p1, node-p10, …)\n",
        "\n1 node: host: no answer within 5s (node-hangs)\n",
        "\n1 node: host: error: unable to upgrade connection: pod does not exist (node-refuses)\n",
        "\n1 node: host: its pod is Pending (node-waits)\n",
        "\n… and 430 more on which all is well (--output json has all)\n",
        "\nnext: devgatectl help devices-unhealthy\n",
    ] {
        assert!(said.out.contains(line), "{line}\n{}", said.out);
    }
    assert!(said.out.starts_with("NODE "), "{}", said.out);
    let json: Value = serde_json::from_str(&fleet(dir.path(), &["--timeout", "5", "--output", "json"])?.out)?;
    assert_eq!(json["nodes"].as_array().map(Vec::len), Some(500));
    assert_eq!(json["problems"][0]["nodes"].as_array().map(Vec::len), Some(17));
    Ok(())
}

#[test]
fn a_fleet_that_is_well_or_is_none_says_so() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    cluster(dir.path(), &[("a".to_owned(), status(0), "Running")])?;
    let said = fleet(dir.path(), &[])?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert_eq!(
        said.out,
        "NODE    VERSION  HEALTHY  STATE\nnode-a  0.1.0    8 of 8   1 plugin, 8 devices\n\n1 node, 0 not well; 8 of 8 devices healthy\n"
    );
    cluster(dir.path(), &[])?;
    let none = fleet(dir.path(), &["-n", "gpus"])?;
    assert_eq!(none.code, Some(4));
    assert!(none.err.contains("namespace gpus: has no pod with app.kubernetes.io/name=devgate"), "{}", none.err);
    std::fs::write(
        dir.path().join("kubectl"),
        "#!/bin/sh\necho 'error: You must be logged in to the server' >&2\nexit 1\n",
    )?;
    let out = fleet(dir.path(), &[])?;
    assert_eq!(out.code, Some(4));
    assert!(out.err.contains("kubectl: error: You must be logged in to the server"), "{}", out.err);
    Ok(())
}
