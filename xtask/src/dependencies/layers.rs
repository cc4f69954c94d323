//! The order of this workspace's crates: types ← policy, node ← core ← device-plugin, cdi ← dra ← devgate, and never back; sandbox and kubelet
//! are beside them, on the types alone, and so is runner, the language that devgate and its children speak, with oci on it. Only the
//! children's programs have both that and the sandbox, or a client of registries. What pretends is beside all of them.

use cargo_metadata::{Metadata, Package};
use std::collections::BTreeSet;

/// Each crate, and those of the workspace that it may depend on, in its tests too.
const BELOW: &[(&str, &[&str])] = &[
    ("devgate-types", &[]),
    ("devgate-agent-protocol", &[]),
    ("devgate-policy", &["devgate-types"]),
    ("devgate-node", &["devgate-types"]),
    ("devgate-core", &["devgate-types", "devgate-policy", "devgate-node", "devgate-fake-node"]),
    ("devgate-fake-node", &["devgate-types", "devgate-node"]),
    ("devgate-oci", &["devgate-types", "devgate-runner"]),
    ("devgate-pull", &["devgate-types", "devgate-confine", "devgate-runner", "devgate-oci"]),
    ("devgate-sandbox", &["devgate-types"]),
    ("devgate-confine", &[]),
    ("devgate-runner", &["devgate-types", "devgate-confine"]),
    ("devgate-runner-program", CHILD),
    ("devgate-compile", CHILD),
    ("devgate-kubelet", &["devgate-types"]),
    ("devgate-device-plugin", &["devgate-types", "devgate-core", "devgate-kubelet", "devgate-fake-kubelet"]),
    ("devgate-cdi", &["devgate-types", "devgate-core", "devgate-node", "devgate-fake-node"]),
    (
        "devgate-dra",
        &[
            "devgate-types",
            "devgate-agent-protocol",
            "devgate-core",
            "devgate-node",
            "devgate-kubelet",
            "devgate-cdi",
            "devgate-fake-node",
        ],
    ),
    ("devgate-agent", &["devgate-agent-protocol", "devgate-confine", "devgate-types"]),
    ("devgate-fake-kubelet", &["devgate-types", "devgate-kubelet"]),
    ("devgate", HOST),
    ("devgatectl", ALL),
    ("devgate-tests", ALL),
    ("devgate-fuzz", ALL),
    // It looks at devgate from outside, and is built without it.
    ("devgate-cluster", &[]),
    ("xtask", &[]),
];

const CHILD: &[&str] = &["devgate-runner", "devgate-sandbox", "devgate-types"];

const HOST: &[&str] = &[
    "devgate-cdi",
    "devgate-confine",
    "devgate-core",
    "devgate-device-plugin",
    "devgate-dra",
    "devgate-node",
    "devgate-oci",
    "devgate-policy",
    "devgate-runner",
    "devgate-types",
];

const ALL: &[&str] = &[
    "devgate",
    "devgate-cdi",
    "devgate-compile",
    "devgate-confine",
    "devgate-device-plugin",
    "devgate-fake-kubelet",
    "devgate-kubelet",
    "devgate-types",
    "devgate-node",
    "devgate-fake-node",
    "devgate-core",
    "devgate-policy",
    "devgate-oci",
    "devgate-pull",
    "devgate-runner",
    "devgate-runner-program",
    "devgate-sandbox",
];

/// Crates of others, by how their names start, and the only crates that may name them.
const RESERVED: &[(&str, &[&str])] = &[
    ("wasmtime", &["devgate-sandbox"]),
    ("cranelift", &[]),
    // The benchmark measures against an empty call of tonic.
    ("tonic", KUBELET),
    ("prost", MESSAGES),
    // What a child may ask of the kernel is decided in one place; the host asks for its log.
    ("seccompiler", &["devgate-confine"]),
    ("landlock", &["devgate-confine"]),
    ("libc", &["devgate-confine", "devgate-node"]),
    // What speaks to the network is in one place, and what decides about signatures in another.
    ("reqwest", &["devgate-pull"]),
    ("hickory", &["devgate-pull"]),
    ("kube", &["devgate-agent"]),
    ("k8s-openapi", &["devgate-agent"]),
    ("oci-client", &[]),
    ("rustls", &["devgate-pull"]),
    // Signatures are made by devgatectl, and in the tests of the program that checks them.
    ("ring", &["devgate-oci", "devgate-pull", "devgatectl"]),
    // What reads a stranger's schema has no power over a node.
    ("jsonschema", &["devgatectl"]),
];

const KUBELET: &[&str] = &[
    "devgate-kubelet",
    "devgate-device-plugin",
    "devgate-dra",
    "devgate-fake-kubelet",
    // It calls what answers the kubelet without a socket.
    "devgate-fuzz",
    "devgate-tests",
];

const MESSAGES: &[&str] = &[
    "devgate-kubelet",
    "devgate-device-plugin",
    "devgate-dra",
    "devgate-fake-kubelet",
    "devgate-oci",
    "devgate-runner",
    "devgate-fuzz",
    "devgate-tests",
];

/// Crates that must be pinned exactly: their versions belong together, and change with care.
const PINNED: &[&str] = &["wasmtime", "wasmtime-wasi"];

/// What the workspace's own crates do against the rules.
pub(super) fn problems(metadata: &Metadata) -> Vec<String> {
    let own: Vec<&Package> = metadata.workspace_packages();
    let members: BTreeSet<&str> = own.iter().map(|package| package.name.as_str()).collect();
    let mut problems = Vec::new();
    for package in &own {
        let direct =
            package.dependencies.iter().map(|dependency| (dependency.name.as_str(), dependency.req.to_string()));
        problems.extend(of_crate(&package.name, direct, &members));
    }
    problems
}

/// What one crate does against them: its name, and the names and versions that it asks for.
fn of_crate<'a>(
    name: &str,
    direct: impl IntoIterator<Item = (&'a str, String)>,
    members: &BTreeSet<&str>,
) -> Vec<String> {
    let Some((_, below)) = BELOW.iter().find(|(known, _)| *known == name) else {
        return vec![format!(
            "{name}: has no place in the order of crates; give it one in xtask/src/dependencies/layers.rs"
        )];
    };
    let mut problems = Vec::new();
    for (dependency, version) in direct {
        if members.contains(dependency) && !below.contains(&dependency) {
            problems.push(format!("{name}: must not depend on {dependency}, which is not below it"));
        }
        let reserved = RESERVED.iter().find(|(start, _)| dependency.starts_with(start));
        if let Some((_, users)) = reserved.filter(|(_, users)| !users.contains(&name)) {
            let only = if users.is_empty() { "no crate".to_owned() } else { format!("only {}", users.join(", ")) };
            problems.push(format!("{name}: must not depend on {dependency}; {only} may"));
        }
        if PINNED.contains(&dependency) && !version.starts_with('=') {
            problems.push(format!("{name}: {dependency} must be pinned exactly, and asks for {version}"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> BTreeSet<&'static str> {
        BELOW.iter().map(|(name, _)| *name).collect()
    }

    fn of(name: &str, dependency: &'static str, version: &str) -> Vec<String> {
        of_crate(name, [(dependency, version.to_owned())], &members())
    }

    #[test]
    fn dependencies_point_down() {
        for (one, other) in [
            ("devgate-core", "devgate-types"),
            ("devgate-device-plugin", "devgate-core"),
            ("devgate-device-plugin", "devgate-fake-kubelet"),
            ("devgate", "devgate-runner"),
            ("devgate-runner", "devgate-confine"),
            ("devgate-runner-program", "devgate-sandbox"),
            ("devgate-compile", "devgate-runner"),
            ("devgatectl", "devgate-compile"),
            ("devgatectl", "devgate-pull"),
            ("devgate-oci", "devgate-runner"),
            ("devgate-types", "thiserror"),
        ] {
            assert_eq!(of(one, other, "^1"), Vec::<String>::new());
        }
        for (one, other) in [
            ("devgate-types", "devgate-node"),
            ("devgate-policy", "devgate-node"),
            ("devgate-core", "devgate-device-plugin"),
            ("devgate-kubelet", "devgate-core"),
            ("devgate-device-plugin", "devgate-sandbox"),
            ("devgate-sandbox", "devgate-device-plugin"),
            ("devgate-confine", "devgate-types"),
            ("devgate-runner", "devgate-sandbox"),
            ("devgate-runner-program", "devgate-policy"),
            ("devgate", "devgate-sandbox"),
            ("devgate", "devgate-compile"),
            ("devgate", "devgate-pull"),
            ("devgate-pull", "devgate-node"),
            ("devgate", "devgate-fake-kubelet"),
            ("devgate", "devgate-fake-node"),
            ("devgate-node", "devgate-fake-node"),
            ("devgate-sandbox", "devgate"),
            ("xtask", "devgate-types"),
        ] {
            assert_eq!(of(one, other, "^1"), [format!("{one}: must not depend on {other}, which is not below it")]);
        }
        assert!(of("devgate-new", "thiserror", "^1")[0].contains("has no place in the order of crates"));
    }

    #[test]
    fn the_runtime_and_the_wire_have_one_user_each() {
        assert_eq!(of("devgate-sandbox", "wasmtime", "=48.0.8"), Vec::<String>::new());
        assert_eq!(of("devgate-kubelet", "tonic-prost-build", "^0.14"), Vec::<String>::new());
        let expected = "devgate: must not depend on wasmtime-wasi; only devgate-sandbox may";
        assert_eq!(of("devgate", "wasmtime-wasi", "=48.0.8"), [expected]);
        let expected = format!("devgate-sandbox: must not depend on tonic; only {} may", KUBELET.join(", "));
        assert_eq!(of("devgate-sandbox", "tonic", "^0.14"), [expected]);
        let expected = "devgate-oci: must not depend on rustls-native-certs; only devgate-pull may";
        assert_eq!(of("devgate-oci", "rustls-native-certs", "^0.8"), [expected]);
        assert_eq!(of("devgate-pull", "reqwest", "^0.13"), Vec::<String>::new());
        assert_eq!(of("devgate-runner", "prost-build", "^0.14"), Vec::<String>::new());
        for (fence, may) in [
            ("seccompiler", "devgate-confine"),
            ("landlock", "devgate-confine"),
            ("libc", "devgate-confine, devgate-node"),
        ] {
            assert_eq!(of("devgate-confine", fence, "^0"), Vec::<String>::new());
            let expected = format!("devgate-runner: must not depend on {fence}; only {may} may");
            assert_eq!(of("devgate-runner", fence, "^0"), [expected]);
        }
        let expected = "devgate-sandbox: must not depend on cranelift-codegen; no crate may";
        assert_eq!(of("devgate-sandbox", "cranelift-codegen", "^0.120"), [expected]);
    }

    #[test]
    fn the_runtime_is_pinned() {
        let expected = "devgate-sandbox: wasmtime must be pinned exactly, and asks for ^48";
        assert_eq!(of("devgate-sandbox", "wasmtime", "^48"), [expected]);
    }
}
