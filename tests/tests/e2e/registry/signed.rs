//! What is run is what a key of the policy signed.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn only_what_the_key_of_the_policy_signed_is_run() -> anyhow::Result<()> {
    let Some(registry) = Registry::start()? else {
        return Ok(());
    };
    let pinned = registry.push("vendor/generic:1")?;
    let at = registry.dir.path();
    shown(at, "key", &[])?;
    for file in ["vendor.key", "vendor.pem"] {
        std::fs::rename(at.join(file), at.join(file.replace("vendor", "other")))?;
    }
    shown(at, "key", &[])?;
    let key = |name: &str| std::fs::read(registry.path(name));
    let component = format!("{{oci: \"{pinned}\", signature: {{cosign-key: vendor.pem}}}}");
    let host = setup(&registry, &component).with("vendor.pem", key("vendor.pem")?).start().await?;
    let line = host.logged(|line| line.family == "refused").await?;
    ensure!(line.message.contains("has no signature in its registry"), "{}", line.message);
    let (name, digest) = pinned.split_once('@').context("a digest")?;
    let name = name.strip_suffix(":1").context("a tag")?;
    shown(
        at,
        "artifact",
        &[("ARTIFACT", name), ("DIGEST", digest), ("REGISTRY_AUTH_FILE", "good.json"), ("SSL_CERT_FILE", "ca.pem")],
    )?;
    // The next attempt finds it.
    host.allocatable(&KINDS[0].resource(), 2).await?;
    let wrong = setup(&registry, &component).with("vendor.pem", key("other.pem")?).start().await?;
    let line = wrong.logged(|line| line.family == "refused").await?;
    ensure!(line.message.contains("is not signed by a key of the policy"), "{}", line.message);
    Ok(())
}

/// Runs a block of docs/components.md as a reader would.
pub(super) fn shown(dir: &Path, name: &str, variables: &[(&str, &str)]) -> anyhow::Result<()> {
    // What another program than ours makes of a signature in a registry.
    if name == "artifact" {
        return run_script(dir, name, include_str!("../../../fixtures/sign-artifact.sh"), variables);
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/components.md");
    let text = std::fs::read_to_string(page)?;
    let begin = format!("<!-- sign: {name} -->\n```sh\n");
    let (_, rest) = text.split_once(&begin).context(begin.clone())?;
    let (block, _) = rest.split_once("```").context("a closed block")?;
    run_script(dir, name, block, variables)
}

fn run_script(dir: &Path, name: &str, block: &str, variables: &[(&str, &str)]) -> anyhow::Result<()> {
    let mut command = Command::new("sh");
    command.args(["-eu", "-c", block]).current_dir(dir);
    let output = command.envs(variables.iter().copied()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name}: {said}");
    Ok(())
}

/// What lies beside a file is good for every file that the key has signed, unless the policy says which one.
#[test]
fn a_key_lets_in_whatever_it_signed_and_a_digest_one_file() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let at = dir.path();
    let original = std::fs::read(devgate_tests::components()?.join("generic.wasm"))?;
    let check = |pinned: &str| -> anyhow::Result<(Option<i32>, String)> {
        let component = format!("{{file: vendor.wasm{pinned}, signature: {{cosign-key: vendor.pem}}}}");
        let policy = generic_policy(&KINDS).replacen("{file: generic.wasm}", &component, 1);
        std::fs::write(at.join("policy.yaml"), &policy)?;
        std::fs::write(at.join("node.umockdev"), recording(&KINDS))?;
        let mut command = Command::new(devgate_tests::devgatectl()?);
        let command = command.current_dir(at).args(["check", "--policy", "policy.yaml"]);
        let output = command.args(["--node-root", "node.umockdev"]).output()?;
        let said = [output.stdout, output.stderr].concat();
        Ok((output.status.code(), String::from_utf8_lossy(&said).into_owned()))
    };
    shown(at, "key", &[])?;
    std::fs::write(at.join("vendor.wasm"), &original)?;
    shown(at, "file", &[])?;
    let digest = devgate_types::Digest(devgate_runner::digest(&original)).hex();
    let both = format!(", sha256: {digest}");
    for pinned in ["", &both] {
        let (code, said) = check(pinned)?;
        ensure!(code == Some(0), "{said}");
    }
    // Another file of the same vendor: here, with a section of its own.
    let other = [&original[..], &[0, 2, 1, b'x']].concat();
    std::fs::write(at.join("vendor.wasm"), &other)?;
    let (code, said) = check("")?;
    ensure!(code != Some(0) && said.contains("vendor.wasm"), "not signed: {said}");
    shown(at, "file", &[])?;
    let (code, said) = check("")?;
    ensure!(code == Some(0), "signed, if not meant: {said}");
    let (code, said) = check(&both)?;
    ensure!(code != Some(0) && said.contains("the policy pins"), "{said}");
    Ok(())
}
