//! What the component answers on the recorded node, by the policy: one of its functions at a time, as it was built for WebAssembly.
//! `devgatectl` must be in the PATH.

use std::path::{Path, PathBuf};
use std::process::Command;

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn recorded() -> PathBuf {
    project("nodes/widget.umockdev")
}

/// What `devgatectl call` says of one function.
fn call(node: &Path, words: &[&str]) -> serde_json::Value {
    let output = Command::new("devgatectl")
        .arg("call")
        .arg(project("target/wasm32-unknown-unknown/release/widget.wasm"))
        .args(words)
        .arg("--policy")
        .arg(project("policy.yaml"))
        .arg("--node-root")
        .arg(node)
        .args(["--output", "json"])
        .output()
        .expect("devgatectl in the PATH");
    // What the component said is in the answer.
    let [said, problem] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{problem}{said}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// How many units have this verdict.
fn count(said: &serde_json::Value, verdict: &str) -> usize {
    let units = said["answer"]["units"].as_array().expect("units");
    units.iter().filter(|unit| unit["verdict"] == verdict).count()
}

#[test]
fn health_is_what_the_status_says() {
    assert_eq!(count(&call(&recorded(), &["health"]), "healthy"), 3);
    // The node, where one card says something else.
    let hot = std::env::temp_dir().join(format!("hot-{}.umockdev", std::process::id()));
    let text = std::fs::read_to_string(recorded()).expect("the node");
    std::fs::write(&hot, text.replacen("A: status=ok", "A: status=hot", 1)).expect("a place for it");
    assert_eq!(count(&call(&hot, &["health"]), "unhealthy"), 1);
    std::fs::remove_file(hot).expect("it is there");
}

#[test]
fn a_container_gets_its_card_and_the_mode() {
    let said = call(&recorded(), &["enumerate"]);
    let unit = said["answer"]["pools"][0]["units"][0]["id"].as_str().expect("a unit").to_owned();
    let reply = &call(&recorded(), &["allocate", &unit])["answer"];
    assert_eq!(reply["nodes"].as_array().map(Vec::len), Some(1));
    assert_eq!(reply["env"]["WIDGET_MODE"], "safe");
}
