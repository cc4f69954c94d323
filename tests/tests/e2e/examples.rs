//! The examples do what they show.

use crate::look::look;
use devgate_tests::components;
use std::path::{Path, PathBuf};

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(path)
}

#[test]
fn the_scenarios_of_the_examples_pass() -> anyhow::Result<()> {
    let said = look([Path::new("simulate"), &example("scenarios"), Path::new("--components"), &components()?])?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("\n2 scenarios: 2 passed, 0 failed"), "{}", said.out);
    Ok(())
}

#[test]
fn the_example_of_a_component_does_all_that_a_component_must() -> anyhow::Result<()> {
    let (policy, node, components) = (example("component/policy.yaml"), example("node.umockdev"), components()?);
    let place =
        [Path::new("--policy"), &policy, Path::new("--node-root"), &node, Path::new("--components"), &components];
    let said = look([Path::new("check"), Path::new("--run")].iter().chain(&place))?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("\n  units      2, 2 healthy\n"), "{}", said.out);
    let said = look([Path::new("conform")].iter().chain(&place))?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    Ok(())
}
