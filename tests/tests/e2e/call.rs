//! `devgatectl call`.

use crate::look::{Said, look};
use crate::small_node::{GPUS, Place};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn call(place: &Place, component: &str, more: &[&str]) -> anyhow::Result<Said> {
    let file = devgate_tests::components()?.join(component);
    let node = place.dir().join("node.umockdev");
    let args = [Path::new("call"), &file].into_iter().chain(more.iter().map(Path::new));
    look(args.chain([Path::new("--node-root"), &node]).map(PathBuf::from))
}

fn with_policy(place: &Place, more: &[&str]) -> anyhow::Result<Said> {
    let policy = place.dir().join("policy.yaml").display().to_string();
    call(place, "generic.wasm", &[more, &["--policy", &policy]].concat())
}

fn answered(place: &Place, more: &[&str]) -> anyhow::Result<Value> {
    let said = with_policy(place, &[more, &["--output", "json"]].concat())?;
    anyhow::ensure!(said.code == Some(0) && said.err.is_empty(), "{:?} {}{}", said.code, said.out, said.err);
    Ok(serde_json::from_str(&said.out)?)
}

#[test]
fn each_function_answers_what_has_passed_the_gate() -> anyhow::Result<()> {
    let place = Place::new(GPUS)?;
    let listed = answered(&place, &["enumerate"])?;
    let unit = &listed["answer"]["pools"][0]["units"][0];
    assert_eq!(listed["answer"]["pools"][0]["resource"], "fake.com/gpu");
    assert_eq!((&unit["id"], &unit["nodes"][0]["path"]), (&json!("0000:00:01.0"), &json!("/dev/dri/card0")));
    assert!(listed["cost"]["host_calls"].as_u64() > Some(0), "{listed}");
    assert_eq!(listed.get("questions"), None);
    let health = answered(&place, &["health"])?;
    let verdicts = health["answer"]["units"].as_array().expect("verdicts");
    assert_eq!(verdicts.len(), 2);
    assert!(verdicts.iter().all(|verdict| verdict["verdict"] == "healthy"), "{health}");
    let one = answered(&place, &["health", "0000:00:02.0"])?;
    assert_eq!(one["answer"]["units"].as_array().map(Vec::len), Some(1));
    let reply = answered(&place, &["allocate", "0000:00:02.0"])?;
    assert_eq!(
        reply["answer"]["nodes"][0],
        json!({"container": "/dev/dri/card1", "host": "/dev/dri/card1", "access": "rw"})
    );
    let text = with_policy(&place, &["allocate", "0000:00:02.0"])?;
    assert!(text.out.starts_with("node /dev/dri/card1 (rw)\ntook "), "{}", text.out);
    Ok(())
}

/// Tests in any language make many calls of one component.
#[test]
fn a_component_is_compiled_for_the_first_call_alone() -> anyhow::Result<()> {
    let (place, caches) = (Place::new(GPUS)?, tempfile::tempdir()?);
    let look_at = || -> anyhow::Result<_> {
        let mut command = Command::new(devgate_tests::program(&["call"])?);
        command.arg("call").arg(devgate_tests::components()?.join("generic.wasm")).args(["enumerate", "--policy"]);
        command.arg(place.dir().join("policy.yaml")).arg("--node-root").arg(place.dir().join("node.umockdev"));
        let said = command.env("XDG_CACHE_HOME", caches.path()).output()?;
        anyhow::ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let kept: Vec<_> = std::fs::read_dir(caches.path().join("devgate"))?.collect::<Result<_, _>>()?;
        let [file] = kept.as_slice() else { anyhow::bail!("{kept:?}") };
        let look = file.metadata()?;
        Ok((file.path(), look.ino(), look.modified()?))
    };
    let (first, second) = (look_at()?, look_at()?);
    assert_eq!((&first.0, first.1), (&second.0, second.1), "it is not written again");
    assert!(first.2 < second.2, "it is used: {first:?} {second:?}");
    Ok(())
}

#[test]
fn a_trace_has_each_question_with_its_answer() -> anyhow::Result<()> {
    let place = Place::new(GPUS)?;
    let traced = answered(&place, &["enumerate", "--trace"])?;
    let questions = traced["questions"].as_array().expect("questions");
    assert!(questions.len() > 10, "{questions:?}");
    assert!(questions.iter().any(|question| question["what"] == "devices of pci"), "{questions:?}");
    let text = with_policy(&place, &["enumerate", "--trace"])?.out;
    assert!(text.contains(" µs  devices of pci\n"), "{text}");
    assert!(text.contains("fake.com/gpu: 2 units\n  0000:00:01.0\n"), "{text}");
    Ok(())
}

#[test]
fn what_cannot_be_called_says_why() -> anyhow::Result<()> {
    let place = Place::new(GPUS)?;
    for (args, code, why) in [
        (&["choose"][..], 2, "choose: it exports no preference"),
        (&["release"], 2, "release: it exports no lifecycle"),
        (&["health", "--class", "{}"], 2, "health: is told nothing by claims; leave --claim and --class out"),
        (&["allocate", "GPU-9"], 2, "id GPU-9: enumerate does not list it"),
        (&["health", "--resource", "fake.com/x"], 2, "resource fake.com/x: is not listed; those are: fake.com/gpu"),
        (&["enumerate", "--plugin", "nics"], 3, "has no plugin nics"),
        (&["enumerate", "0000:00:01.0"], 2, "enumerate: is about all that there is"),
        (&["allocate", "0000:00:01.0", "0000:00:01.0"], 2, "id 0000:00:01.0: is named twice"),
    ] {
        let said = with_policy(&place, args)?;
        assert_eq!(said.code, Some(code), "{args:?}: {}{}", said.out, said.err);
        assert!(said.err.contains(why), "{args:?}: {}", said.err);
    }
    let policy = place.dir().join("policy.yaml").display().to_string();
    for (args, why) in [
        (&["allocate", "0000:00:01.0", "--claim", "{}"][..], "allocate: it exports no parameters"),
        (&["examine"], "examine: it exports no conditions"),
    ] {
        let said = call(&place, "accel.wasm", &[args, &["--policy", &policy]].concat())?;
        assert!(said.code == Some(2) && said.err.contains(why), "{args:?}: {}{}", said.out, said.err);
    }
    let without = call(&place, "misfit.wasm", &["enumerate"])?;
    assert_eq!(without.code, Some(3));
    assert!(without.err.contains("misfit.wasm: carries no policy; name one with --policy FILE"), "{}", without.err);
    let live = look([Path::new("call"), &devgate_tests::components()?.join("misfit.wasm"), Path::new("health")])?;
    assert_eq!(live.code, Some(2));
    assert!(
        live.err.contains("only a recorded node is looked at by the policy that a component carries"),
        "{}",
        live.err
    );
    let policy = place.dir().join("policy.yaml").display().to_string();
    let refused = call(&place, "overreach.wasm", &["enumerate", "--policy", &policy])?;
    assert_eq!(refused.code, Some(5));
    assert!(refused.err.contains("needs \"control:\" in the policy"), "{}", refused.err);
    Ok(())
}

/// The call that failed is named, which may be the one before.
#[test]
fn a_trap_is_shown_with_the_function_that_trapped() -> anyhow::Result<()> {
    let place = Place::new(GPUS)?;
    let file = place.dir().join("trap.wasm");
    std::fs::write(
        &file,
        crate::wat_component::plugin("unreachable", crate::wat_component::HEALTHY, crate::wat_component::NOTHING),
    )?;
    let policy = place.dir().join("policy.yaml").display().to_string();
    let node = place.dir().join("node.umockdev");
    let args =
        ["call", &file.display().to_string(), "allocate", "--policy", &policy, "--output", "json", "--node-root"];
    let said = look(args.map(PathBuf::from).into_iter().chain([node]))?;
    assert_eq!((said.code, said.err.as_str()), (Some(5), ""), "{}", said.out);
    let called: Value = serde_json::from_str(&said.out)?;
    assert_eq!((&called["answer"], &called["cost"]), (&Value::Null, &Value::Null));
    assert_eq!(called["function"], "enumerate");
    assert!(called["error"].as_str().is_some_and(|error| error.starts_with("trapped: ")), "{called}");
    Ok(())
}

/// The whole way of a tenant's words but the API server and the kubelet: through runner and sandbox, and back through the gate.
#[test]
fn what_claims_say_reaches_a_component_and_what_comes_back_meets_the_gate() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/onload");
    let place = tempfile::tempdir()?;
    let (policy, file) = (place.path().join("policy.yaml"), devgate_tests::components()?.join("onload.wasm"));
    let own = std::fs::read_to_string(root.join("policy.yaml"))?;
    let env = "env: {LD_PRELOAD: /opt/onload/usr/lib64/libonload.so";
    anyhow::ensure!(own.contains(env));
    std::fs::write(&policy, own.replace(env, &format!("{env}, EF_POLL_USEC: [\"0\", \"100000\"]")))?;
    let call = |more: &[&str]| {
        let args = [Path::new("call"), &file, Path::new("allocate"), Path::new("0000:5e:00.0")];
        let place = [Path::new("--policy"), &policy, Path::new("--node-root")].map(Path::to_owned);
        let node = root.join("nodes/two-ports.umockdev");
        let more = more.iter().map(PathBuf::from);
        look(args.map(Path::to_owned).into_iter().chain(more).chain(place).chain([node]))
    };
    let said = call(&["--claim", r#"{"variables": {"EF_POLL_USEC": "100000"}}"#])?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("EF_POLL_USEC=100000"), "{}", said.out);
    let deep = "[".repeat(10 << 10);
    for (claim, why) in [
        (r#"{"variables": {"EF_POLL_USEC": "1"}}"#, "EF_POLL_USEC"),
        (r#"{"variables": {"LD_PRELOAD": "/x.so"}}"#, "claim variables.LD_PRELOAD: is no variable of Onload's"),
        (r#"{"variables": {"EF_\u001b[2J": "1"}}"#, "EF_\\u{1b}[2J"),
        ("{", "claim: not JSON"),
        (&deep, "claim: not JSON: recursion limit exceeded"),
    ] {
        let said = call(&["--class", "{}", "--claim", claim])?;
        assert_eq!(said.code, Some(5), "{}{}", said.out, said.err);
        assert!(said.out.contains(why) && !said.out.contains('\u{1b}'), "{}", said.out);
    }
    Ok(())
}

/// What a component finds of units that work, as far as the policy names it.
#[test]
fn conditions_are_shown_as_far_as_the_policy_lets_them_go() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/generic");
    let place = tempfile::tempdir()?;
    let (policy, file) = (place.path().join("policy.yaml"), devgate_tests::components()?.join("generic.wasm"));
    let own = "apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  edge:
    component: {file: generic.wasm}
    resources: [example.com/fuse]
    hardware:
      - {subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}
    dra: {driver: fuse.example.com, conditions: {there: None}}
    config:
      devices:
        - resource: example.com/fuse
          subsystem: misc
          name: fuse
          conditions:
            there: {attribute: dev, is: \"10:*\", effect: evict}
            other: {attribute: dev, is: \"*\"}
";
    std::fs::write(&policy, own)?;
    let call = |more: &[&str]| {
        let args = [Path::new("call"), &file, Path::new("examine"), Path::new("--policy"), &policy];
        let node = root.join("nodes/edge.umockdev");
        let args = args.map(Path::to_owned).into_iter().chain(more.iter().map(PathBuf::from));
        look(args.chain([PathBuf::from("--node-root"), node]))
    };
    let said = call(&[])?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let lines: Vec<_> = said.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        lines[..2],
        [
            "example.com/fuse fuse there (None) dev of fuse is 10:229",
            "example.com/fuse fuse other the policy does not name it (dra.conditions)"
        ]
    );
    let called: Value = serde_json::from_str(&call(&["--output", "json"])?.out)?;
    let unit = &called["answer"]["units"][0];
    assert_eq!((&unit["conditions"][0]["effect"], &unit["unnamed"][0]), (&json!("None"), &json!("other")), "{called}");
    Ok(())
}
