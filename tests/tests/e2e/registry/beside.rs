//! What a vendor puts beside a component, and an admin reads without it: `push --key --attest`, `conform --attest`, `show`.

use super::admin::Market;
use super::signed::shown;
use super::*;
use serde_json::Value;

/// What is tried fits the policy of the component's author.
const SCHEMA: &str = r#"{"type": "object", "required": ["devices"]}"#;

#[test]
fn a_component_that_was_tried_signed_and_attested_is_shown_without_it() -> anyhow::Result<()> {
    let Some(market) = Market::open()? else {
        return Ok(());
    };
    let at = |name: &str| market.registry.path(name).display().to_string();
    let file = market.pack("1.0", super::admin::AUTHORS)?;
    std::fs::write(at("schema.json"), SCHEMA)?;
    let (code, out, err) = market.plain(&["pack", &file, "-o", &file, "--config-schema", &at("schema.json")])?;
    ensure!(code == Some(0), "{out}{err}");
    let (key, attested, tag) = (at("vendor.key"), at("conform.jsonl"), market.registry.reference("vendor/generic:1"));
    let node = market.node.dir().join("node.umockdev").display().to_string();
    let conform =
        ["conform", "--policy", &at("author.yaml"), "--node-root", &node, "--attest", &key, "--attest-out", &attested];
    let (code, out, err) = market.plain(&conform)?;
    ensure!(matches!(code, Some(0 | 5)), "{out}{err}");
    is_signed_by_openssl(market.registry.dir.path(), &std::fs::read_to_string(&attested)?)?;

    let push = |more: &[&str]| market.registry.devgate("good.json", &[&["push", &file, &tag], more].concat());
    let other = devgate_tests::components()?.join("rdma.wasm").display().to_string();
    let (code, _, err) = market.registry.devgate("good.json", &["push", &other, &tag, "--attest", &attested])?;
    ensure!(code == Some(5) && err.contains("has 0 statements of the component"), "{err}");
    let (code, _, err) = push(&["--key", &at("vendor.pem")])?;
    ensure!(code == Some(1) && err.contains("is a public key; the private one signs"), "{err}");
    let (code, out, err) = push(&["--key", &key, "--attest", &attested])?;
    ensure!(code == Some(0) && out.contains(", signed, attested\n"), "{out}{err}");
    // As cosign signs: a host that asks for the key takes it.
    let pull = ["pull", &tag, "--cosign-key", &at("vendor.pem"), "--out", &at("out.wasm")];
    let (code, out, err) = market.registry.devgate("good.json", &pull)?;
    ensure!(code == Some(0) && out.contains(", signed"), "{out}{err}");

    std::fs::remove_dir_all(market.registry.path("cache"))?;
    let show = |more: &[&str]| market.registry.devgate("good.json", &[&["show", &tag], more].concat());
    let (code, out, err) = show(&["--cosign-key", &at("vendor.pem")])?;
    ensure!(code == Some(0), "{err}");
    for part in [
        "\n  version         1.0\n  can do without  host-paths\n",
        "\n  signed          by one of the keys\n",
        "\nImports\n  devgate:plugin/",
        "application/vnd.in-toto+json  sha256:",
        " skipped; signed by one of the keys\n",
        "    with author.yaml sha256 ",
        "    with node.umockdev sha256 ",
        " --output policy fetches it (",
        " --output config-schema fetches it (",
    ] {
        ensure!(out.contains(part), "{part:?}: {out}");
    }
    ensure!(!market.registry.path("cache").exists(), "the component was fetched");
    let (code, out, err) = show(&["--output", "json"])?;
    let json: Value = serde_json::from_str(&out).context(err)?;
    ensure!(code == Some(0) && json["signed"] == Value::Null && json["signatures"] == 1, "{json}");
    ensure!(json["carries"] == serde_json::json!(["policy", "config-schema"]), "{json}");
    ensure!(json["referrers"][0]["states"]["of_this"] == true, "{json}");
    let sha256 = devgate_types::Digest(devgate_runner::digest(&std::fs::read(&file)?)).hex();
    ensure!(json["sha256"] == sha256.as_str() && json["size"] == std::fs::metadata(&file)?.len(), "{json}");

    // The other kinds of keys that a policy can name.
    for kind in [&["ed25519"][..], &["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]] {
        let dir = market.registry.dir.path();
        run("openssl", dir, &[&["genpkey", "-algorithm"], kind, &["-out", "other.key"]].concat())?;
        run("openssl", dir, &["pkey", "-in", "other.key", "-pubout", "-out", "other.pem"])?;
        let (code, _, err) = push(&["--key", &at("other.key")])?;
        ensure!(code == Some(0), "{kind:?}: {err}");
        let (code, out, err) = show(&["--cosign-key", &at("other.pem")])?;
        ensure!(code == Some(0) && out.contains("by one of the keys"), "{kind:?}: {out}{err}");
    }
    let (code, out, err) = show(&["--cosign-key", &at("vendor.pem")])?;
    ensure!(code == Some(0), "the first signature is still there: {out}{err}");

    // Another vendor's key, nothing there, nobody who may look.
    shown(market.registry.dir.path(), "key", &[])?;
    let (code, out, _) = show(&["--cosign-key", &at("vendor.pem")])?;
    ensure!(
        code == Some(5) && out.contains("no: it is not signed by a key") && out.contains("; not signed by"),
        "{out}"
    );
    let (code, _, err) =
        market.registry.devgate("good.json", &["show", &market.registry.reference("vendor/none:1")])?;
    ensure!(code == Some(1) && err.contains("is not in its registry"), "{err}");
    let (code, _, err) = market.registry.devgate("bad.json", &["show", &tag])?;
    ensure!(code == Some(1) && err.contains("as anna; check the password"), "{err}");
    Ok(())
}

/// The envelope's signature, by the rule of DSSE and another program than ours.
fn is_signed_by_openssl(dir: &Path, lines: &str) -> anyhow::Result<()> {
    let envelope: Value = serde_json::from_str(lines.lines().next().context("a line")?)?;
    let field = |at: &str| envelope.pointer(at).and_then(Value::as_str).context("a field").map(str::to_owned);
    for (name, field) in [("payload", field("/payload")?), ("sig", field("/signatures/0/sig")?)] {
        std::fs::write(dir.join(format!("{name}.base64")), field)?;
        let from = ["base64", "-d", "-A", "-in", &format!("{name}.base64"), "-out", name].map(str::to_owned);
        run("openssl", dir, &from.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    let (kind, payload) = (field("/payloadType")?, std::fs::read(dir.join("payload"))?);
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len());
    std::fs::write(dir.join("signed"), [head.as_bytes(), &payload].concat())?;
    run("openssl", dir, &["dgst", "-sha256", "-verify", "vendor.pem", "-signature", "sig", "signed"])?;
    let statement: Value = serde_json::from_slice(&payload)?;
    ensure!(statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1", "{statement}");
    let text = statement.to_string();
    ensure!(!text.contains(&dir.display().to_string()), "where it lies on this machine: {text}");
    Ok(())
}
