//! What a component can do without (`devgatectl pack --optional`): packed, shown, loaded without a grant, and told in the component's words.

use crate::look::{Said, look};
use crate::misfit::POLICY;
use devgate_tests::components;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const NODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/nodes/misfit.umockdev");

struct Place(TempDir);

impl Place {
    fn new() -> anyhow::Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.path(name);
        std::fs::write(&path, text)?;
        Ok(path)
    }

    /// Packs `misfit`, or what was made of it before.
    fn pack(&self, more: &[&str]) -> anyhow::Result<Said> {
        let (out, built) = (self.path("misfit.wasm"), components()?.join("misfit.wasm"));
        let input = if out.exists() { out.clone() } else { built };
        let args = [OsStr::new("pack"), input.as_os_str(), OsStr::new("-o"), out.as_os_str()];
        look(args.into_iter().chain(more.iter().map(OsStr::new)))
    }

    fn inspected(&self) -> anyhow::Result<Value> {
        let said = look([Path::new("inspect"), &self.path("misfit.wasm"), Path::new("--output=json")])?;
        Ok(serde_json::from_str(&said.out)?)
    }

    /// What it can do without, as `inspect` says.
    fn without(&self) -> anyhow::Result<Vec<String>> {
        let report = self.inspected()?;
        let imports = report["imports"].as_array().cloned().unwrap_or_default();
        let optional = imports.iter().filter(|import| import["need"] == "optional");
        Ok(optional.filter_map(|import| import["key"].as_str().map(str::to_owned)).collect())
    }

    /// `check --run` of a policy, on the recorded racks.
    fn check(&self, policy: &str, more: &[&str]) -> anyhow::Result<Said> {
        let policy = self.write("policy.yaml", policy)?;
        let args = ["check", "--run", "--node-root", NODE, "--policy"].map(OsStr::new);
        look(args.into_iter().chain([policy.as_os_str()]).chain(more.iter().map(OsStr::new)))
    }
}

/// The misfit's policy without one of its keys.
fn lacking(key: &str) -> String {
    let kept = POLICY.lines().filter(|line| !line.trim_start().starts_with(&format!("{key}:")));
    kept.map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_is_packed_as_optional_is_kept_until_something_else_is_said() -> anyhow::Result<()> {
    let place = Place::new()?;
    let said = place.pack(&["--optional", "files,kernel-log", "--optional", "state"])?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(said.out.contains("devgate:plugin/files@0.1.0       can do without files: in the policy"), "{}", said.out);
    assert_eq!(place.without()?, ["files", "kernel-log", "state"]);
    place.pack(&["--name", "another"])?;
    assert_eq!(place.without()?, ["files", "kernel-log", "state"]);
    place.pack(&["--optional", "host-paths"])?;
    assert_eq!(place.without()?, ["host-nodes"]);
    place.pack(&["--optional", ""])?;
    assert_eq!(place.without()?, [""; 0]);
    for (names, other) in [("files,teleport", "teleport"), ("types", "types"), ("wall-clock", "wall-clock")] {
        let said = place.pack(&["--optional", names])?;
        assert_eq!(said.code, Some(5), "{names}");
        assert!(
            said.err.contains(&format!("--optional {other}: is nothing that it imports and a policy grants")),
            "{}",
            said.err
        );
        assert!(said.err.contains("hardware") && said.err.ends_with("nothing was written\n"), "{}", said.err);
    }
    assert_eq!(place.without()?, [""; 0], "nothing was written");
    Ok(())
}

#[test]
fn a_policy_need_not_grant_it_and_says_so() -> anyhow::Result<()> {
    let place = Place::new()?;
    place.pack(&["--optional", "state"])?;
    // All of it in this process and a runner's, as in a host.
    let said = place.check(&lacking("state"), &["--components", &place.0.path().display().to_string()])?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("without    state, which it can do without"), "{}", said.out);
    assert!(said.out.contains("units      4, 4 healthy"), "{}", said.out);
    // What is not named is needed as ever.
    let said = place.check(&lacking("files"), &["--components", &place.0.path().display().to_string()])?;
    assert_eq!(said.code, Some(5), "{}", said.out);
    assert!(
        said.out.contains("imports devgate:plugin/files@0.1.0, which needs \"files:\" in the policy"),
        "{}",
        said.out
    );
    Ok(())
}

#[test]
fn what_is_asked_all_the_same_is_told_that_it_is_not_granted() -> anyhow::Result<()> {
    let place = Place::new()?;
    place.pack(&["--optional", "state"])?;
    let (policy, file) =
        (lacking("state").replace("fault: none", "fault: needs-enumerate-first"), place.path("misfit.wasm"));
    let policy = place.write("policy.yaml", &policy)?;
    let args = ["call".as_ref(), file.as_os_str(), "allocate".as_ref(), "SN000000A0".as_ref()];
    let more = ["--trace".as_ref(), "--node-root".as_ref(), NODE.as_ref(), "--policy".as_ref(), policy.as_os_str()];
    let said = look(args.into_iter().chain(more))?;
    assert_eq!(said.code, Some(5), "{}{}", said.out, said.err);
    assert!(said.out.contains("state is not granted by the policy (not-granted)"), "{}", said.out);
    // Of what the component asked of its host in vain, the host has seen nothing.
    assert!(!said.out.contains("state.load"), "{}", said.out);
    Ok(())
}

#[test]
fn the_least_policy_has_it_as_a_comment_and_the_authors_beneath_one() -> anyhow::Result<()> {
    let place = Place::new()?;
    place.pack(&["--optional", "state,host-paths"])?;
    let file = place.path("misfit.wasm");
    let policy = look([Path::new("inspect"), &file, Path::new("--output=policy")])?.out;
    let comment = "    # What it can do without; take the # away to grant it:\n    # host-nodes:                     # nodes in /dev that belong to no kernel device\n    #   exclusive: [/dev/CHANGE-ME]\n    # state: true                     # a blob that survives restarts\n";
    assert!(policy.contains(comment), "{policy}");
    let granted = policy.replace("    # host-nodes", "    host-nodes").replace("    #   exclusive", "      exclusive");
    assert!(devgate_policy::parse(&[devgate_policy::PolicyFile { name: "p", text: &granted }]).is_ok(), "{granted}");

    let author = place.write("author.yaml", &lacking("state"))?.display().to_string();
    assert_eq!(place.pack(&["--policy", &author])?.code, Some(0));
    let dir = place.path("policy.d");
    let args = ["add".as_ref(), file.as_os_str(), "--yes".as_ref(), "--policy".as_ref(), dir.as_os_str()];
    let said = look(args)?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let written = std::fs::read_to_string(dir.join("racks.yaml"))?;
    assert!(written.starts_with("# The component is loaded without these keys, too: host-nodes, state\n"), "{written}");
    Ok(())
}

/// A node by its path, by a component that is loaded without nodes by path.
#[test]
fn generic_names_the_key_that_a_node_by_path_lacks() -> anyhow::Result<()> {
    let place = Place::new()?;
    let policy = |host_nodes: &str| {
        format!(
            "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  racks:\n    component: {{file: generic.wasm}}\n    resources: [example.com/rack]\n    \
             hardware: [{{subsystem: rack}}]\n{host_nodes}    config:\n      devices:\n        - {{resource: example.com/rack, id: all, group: [{{node: /dev/rackctl}}]}}\n"
        )
    };
    let built = components()?.display().to_string();
    let said = place.check(&policy(""), &["--components", &built])?;
    assert_eq!(said.code, Some(5), "{}", said.out);
    let why = "config devices: group all: node /dev/rackctl: host-paths is not granted by the policy; list the node under `host-nodes:`, or leave it out here";
    assert!(said.out.contains(why), "{}", said.out);
    let said = place.check(&policy("    host-nodes: {exclusive: /dev/rackctl}\n"), &["--components", &built])?;
    assert!(said.out.contains("units      1, 1 healthy") && said.code == Some(0), "{}", said.out);
    Ok(())
}

/// Loaded without any of it, shipped components say nothing wrong, or say which key is missing.
#[test]
fn shipped_components_do_without_what_they_say() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests");
    for (component, node) in [
        ("amd-gpu", "mi300x-cpx.umockdev"),
        ("generic", "edge.umockdev"),
        ("intel-gpu", "flex-and-arc.umockdev"),
        ("nvidia-gpu", "mig-vfio.umockdev"),
        ("rdma", "eight-hcas.umockdev"),
        ("sriov-nic", "two-adapters.umockdev"),
    ] {
        let (policy, node) = (root.join(component).join("policy.yaml"), root.join(component).join("nodes").join(node));
        let args = ["conform", "--only", "optional", "--output", "json", "--policy"].map(OsStr::new);
        let (built, more) = (components()?, ["--node-root", "--components"].map(OsStr::new));
        let places = [policy.as_os_str(), more[0], node.as_os_str(), more[1], built.as_os_str()];
        let said = look(args.into_iter().chain(places))?;
        assert_eq!(said.code, Some(0), "{component}: {}{}", said.out, said.err);
        let report: Value = serde_json::from_str(&said.out)?;
        assert_eq!(report["plugins"][0]["passed"], 1, "{component}: {}", said.out);
    }
    Ok(())
}
