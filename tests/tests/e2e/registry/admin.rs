//! From a vendor's file into an admin's policy, and to the next version: `pack --policy`, `add`, `upgrade`.

use super::signed::shown;
use super::*;
use crate::small_node::Place;

pub(super) const AUTHORS: &str = "\
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  gpus:
    component: {file: generic.wasm} # by Example
    resources: [fake.com/gpu]
    # All GPUs of Example's.
    hardware: [{subsystem: pci, vendor: \"0x1234\", use: offer, nodes: [{subsystem: drm, name: \"card*\"}]}]
    config: {devices: [{resource: fake.com/gpu, subsystem: pci}]}
";

/// What `add` writes above it.
const WITHOUT: &str = "# The component is loaded without these keys, too: host-nodes\n";

/// A vendor's machine, which is an admin's here, too.
pub(super) struct Market {
    pub(super) registry: Registry,
    pub(super) node: Place,
}

impl Market {
    pub(super) fn open() -> anyhow::Result<Option<Self>> {
        let Some(registry) = Registry::start()? else {
            return Ok(None);
        };
        shown(registry.dir.path(), "key", &[])?;
        Ok(Some(Self { registry, node: Place::new("  {}\n")? }))
    }

    fn policy(&self) -> String {
        self.registry.path("policy.d").display().to_string()
    }

    fn written(&self) -> anyhow::Result<String> {
        Ok(std::fs::read_to_string(self.registry.path("policy.d/gpus.yaml"))?)
    }

    /// Packs `generic` as this version, with a policy; the file.
    pub(super) fn pack(&self, version: &str, policy: &str) -> anyhow::Result<String> {
        std::fs::write(self.registry.path("author.yaml"), policy)?;
        let file = self.registry.path("generic.wasm").display().to_string();
        let core = devgate_tests::components()?.join("generic.wasm").display().to_string();
        let policy = self.registry.path("author.yaml").display().to_string();
        let (code, out, err) = self.plain(&["pack", &core, "-o", &file, "--version", version, "--policy", &policy])?;
        ensure!(code == Some(0), "{out}{err}");
        Ok(file)
    }

    /// Pushes it under the tag, signed or not; the reference with its digest.
    pub(super) fn push(&self, file: &str, sign: bool) -> anyhow::Result<String> {
        let tag = self.registry.reference("vendor/generic:1");
        let args = ["push", file, &tag, "--replace", "--output", "json"];
        let (code, out, err) = self.registry.devgate("good.json", &args)?;
        ensure!(code == Some(0), "{err}");
        let pushed: serde_json::Value = serde_json::from_str(&out)?;
        let pinned = pushed["oci"].as_str().context("oci")?.to_owned();
        if sign {
            let digest = pinned.rsplit('@').next().context("a digest")?;
            let name = self.registry.reference("vendor/generic");
            let _ = std::fs::remove_dir_all(self.registry.path("layout"));
            shown(
                self.registry.dir.path(),
                "artifact",
                &[
                    ("ARTIFACT", &name),
                    ("DIGEST", digest),
                    ("REGISTRY_AUTH_FILE", "good.json"),
                    ("SSL_CERT_FILE", "ca.pem"),
                ],
            )?;
        }
        Ok(pinned)
    }

    fn run(&self, args: &[&str]) -> anyhow::Result<(Option<i32>, String, String)> {
        self.registry.devgate("good.json", &[args, &["--policy", &self.policy()]].concat())
    }

    pub(super) fn plain(&self, args: &[&str]) -> anyhow::Result<(Option<i32>, String, String)> {
        let output = Command::new(devgate_tests::devgatectl()?).args(args).output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((output.status.code(), text(&output.stdout), text(&output.stderr)))
    }
}

#[test]
fn one_command_puts_a_signed_component_into_a_policy_and_one_more_the_next_version() -> anyhow::Result<()> {
    let Some(market) = Market::open()? else {
        return Ok(());
    };
    let first = market.push(&market.pack("1.0", AUTHORS)?, true)?;
    let component = format!("oci:{}", market.registry.reference("vendor/generic:1"));
    let key = market.registry.path("vendor.pem").display().to_string();
    let add = ["add", &component, "--cosign-key", &key];
    let (code, out, err) = market.run(&add)?;
    ensure!(code == Some(10) && out.contains("nothing was written; --yes"), "{out}{err}");
    ensure!(!market.registry.path("policy.d").exists());
    let (code, out, err) = market.run(&[&add[..], &["--yes"]].concat())?;
    ensure!(code == Some(0) && out.contains("as its author has it; it is signed:"), "{out}{err}");
    let pinned = |reference: &str| {
        let source =
            format!("component: {{oci: \"{reference}\", signature: {{cosign-key: \"vendor.pem\"}}}} # by Example");
        WITHOUT.to_owned() + &AUTHORS.replace("component: {file: generic.wasm} # by Example", &source)
    };
    ensure!(market.written()? == pinned(&first), "{}", market.written()?);
    // What it says next is a command that works, here on a recorded node.
    let node = market.node.dir().join("node.umockdev").display().to_string();
    let (code, out, err) = market.run(&["check", "--run", "--pull", "--node-root", &node])?;
    ensure!(code == Some(0) && out.contains("2, 2 healthy"), "{out}{err}");
    let (code, _, err) = market.run(&[&add[..], &["--yes"]].concat())?;
    ensure!(code == Some(5) && err.contains("plugin gpus: is there already"), "{err}");
    let (code, out, err) = market.run(&["upgrade", "gpus"])?;
    ensure!(code == Some(0) && out.contains("is what it names already"), "{out}{err}");

    let wider = AUTHORS.replace("All GPUs of Example's.", "All GPUs of Example's, and what else they have.");
    let next = market.pack("2.0", &wider)?;
    market.push(&next, false)?;
    let (code, _, err) = market.run(&["upgrade", "gpus", "--yes"])?;
    ensure!(code == Some(5) && err.contains("signature"), "{err}");
    let bare = market.registry.reference("vendor/generic:1");
    let (code, _, err) = market.run(&["upgrade", "gpus", &bare, "--yes"])?;
    ensure!(code == Some(2) && err.contains("name the other component as oci:REFERENCE"), "{err}");
    let second = market.push(&next, true)?;
    let upgrade = ["upgrade", "gpus", "--nodes", &node];
    let (code, out, err) = market.run(&upgrade)?;
    ensure!(code == Some(10), "{out}{err}");
    for line in [
        &format!("  - {first}\n  + {second}\n"),
        "  -version: 1.0\n",
        "  +version: 2.0\n",
        "  -    # All GPUs of Example's.\n  +    # All GPUs of Example's, and what else they have.\n",
        "plugin gpus: component sha256:",
        "policy.d -> the same with the other component, on 1 recorded node\n",
        "1 of 1 node change\n",
    ] {
        ensure!(out.contains(line), "{line:?}: {out}");
    }
    ensure!(market.written()? == pinned(&first));
    let (code, out, err) = market.run(&[&upgrade[..], &["--yes"]].concat())?;
    ensure!(code == Some(0), "{out}{err}");
    ensure!(market.written()? == pinned(&second), "nothing but the digest: {}", market.written()?);
    Ok(())
}

#[test]
fn a_file_is_pinned_too_and_what_it_needs_besides_is_named() -> anyhow::Result<()> {
    let Some(market) = Market::open()? else {
        return Ok(());
    };
    let file = market.pack("1.0", AUTHORS)?;
    let (code, out, err) = market.run(&["add", &file, "--yes"])?;
    ensure!(code == Some(0) && out.contains("beside it, or into --components DIR"), "{out}{err}");
    let before = market.written()?;
    market.pack("2.0", AUTHORS)?;
    let components = market.registry.dir.path().display().to_string();
    let (code, out, err) = market.run(&["upgrade", "gpus", "--yes", "--components", &components])?;
    ensure!(code == Some(0) && out.contains("  can do without host-nodes: in the policy\n"), "{out}{err}");
    let after = market.written()?;
    ensure!(before != after && before.len() == after.len(), "{after}");
    let (code, out, err) = market.run(&["upgrade", "gpus", "--components", &components])?;
    ensure!(code == Some(0) && out.contains("is what it names already"), "{out}{err}");
    // Another component, that wants what the policy does not grant.
    std::fs::copy(devgate_tests::components()?.join("overreach.wasm"), market.registry.path("generic.wasm"))?;
    let (code, _, err) = market.run(&["upgrade", "gpus", "--yes", "--components", &components])?;
    ensure!(code == Some(5) && err.contains("which needs \"control:\""), "{err}");
    ensure!(market.written()? == after);
    let (code, _, err) = market.run(&["upgrade", "nics", "--yes"])?;
    ensure!(code == Some(3) && err.contains("the policy has no plugin nics"), "{err}");
    // A policy that would be wrong with it stays as it is.
    let other = AUTHORS.replace("gpus:", "others:");
    let others = market.pack("1.0", &other)?;
    let (code, _, err) = market.run(&["add", &others, "--yes"])?;
    ensure!(code == Some(3) && err.contains("the policy would be wrong; nothing was written"), "{err}");
    ensure!(!market.registry.path("policy.d/others.yaml").exists());
    // A policy that does not grant what the component needs, as no `pack` would have written it.
    let mut needy = std::fs::read(devgate_tests::components()?.join("overreach.wasm"))?;
    let section = [
        b"\x0edevgate:policy",
        other.replace("others:", "needy:").replace("fake.com/gpu", "fake.com/needy").as_bytes(),
    ]
    .concat();
    ensure!(section.len() > 127, "two bytes of length");
    needy.extend([0, u8::try_from(section.len() & 0x7f)? | 0x80, u8::try_from(section.len() >> 7)?]);
    needy.extend(section);
    let file = market.registry.path("needy.wasm");
    std::fs::write(&file, needy)?;
    let (code, _, err) = market.run(&["add", &file.display().to_string(), "--yes"])?;
    ensure!(code == Some(5) && err.contains("its author's policy does not grant what it needs"), "{err}");
    // What carries no policy gets the least.
    let bare = devgate_tests::components()?.join("rdma.wasm").display().to_string();
    let (code, out, err) = market.run(&["add", &bare, "--yes"])?;
    ensure!(code == Some(0) && out.contains("put what it needs in place of CHANGE-ME"), "{out}{err}");
    Ok(())
}
