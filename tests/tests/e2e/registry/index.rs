//! Which components there are, as one artifact: `index build`, `search`.

use super::admin::{AUTHORS, Market};
use super::signed::shown;
use super::*;
use serde_json::Value;

#[test]
fn an_index_is_made_signed_mirrored_and_searched() -> anyhow::Result<()> {
    let Some(market) = Market::open()? else {
        return Ok(());
    };
    let at = |name: &str| market.registry.path(name).display().to_string();
    let generic = market.push(&market.pack("1.0", AUTHORS)?, true)?;
    let rdma = devgate_tests::components()?.join("rdma.wasm").display().to_string();
    let tag = market.registry.reference("vendor/rdma:2");
    let about = ["--annotation", "org.opencontainers.image.vendor=x"];
    let (code, _, err) = market.registry.devgate("good.json", &[&["push", &rdma, &tag][..], &about].concat())?;
    ensure!(code == Some(0), "{err}");
    let (key, to) = (at("vendor.key"), market.registry.reference("vendor/index:latest"));
    let build = |more: &[&str]| {
        let components = ["index", "build", &generic, &tag, "--push", &to];
        market.registry.devgate("good.json", &[&components, more].concat())
    };
    let (code, _, err) = build(&["--cosign-key", &at("vendor.pem")])?;
    ensure!(code == Some(5) && err.contains("vendor/rdma:2@") && err.contains("no signature"), "{err}");
    let (code, out, err) = build(&["--key", &key, "--layout", &at("index")])?;
    ensure!(code == Some(0) && out.contains("2 components, signed: localhost:"), "{out}{err}");
    // The same components make the same index.
    let (code, again, err) = build(&["--output", "json"])?;
    let again: Value = serde_json::from_str(&again).context(err)?;
    ensure!(code == Some(0) && out.contains(again["oci"].as_str().context("oci")?), "{out}{again}");

    let index = market.registry.reference("vendor/index");
    let search = |words: &[&str], more: &[&str]| {
        market.registry.devgate("good.json", &[&["search"], words, &["--index", &index], more].concat())
    };
    let (code, out, err) = search(&["FAKE.com/gpu", "generic"], &["--cosign-key", &at("vendor.pem")])?;
    ensure!(code == Some(0), "{out}{err}");
    for part in [
        &format!("\n  oci:{generic}\n"),
        "fake.com/gpu; ",
        "1 of 2 components in ",
        ", signed\n",
        "next: devgatectl add oci:",
    ] {
        ensure!(out.contains(part), "{part:?}: {out}");
    }
    let (code, out, err) = search(&[], &["--output", "json"])?;
    let found: Value = serde_json::from_str(&out).context(err)?;
    ensure!(code == Some(0) && found["components"].as_array().is_some_and(|all| all.len() == 2), "{found}");
    ensure!(found["signed"] == false, "{found}");
    let (code, out, _) = search(&["gpu", "no-such-word"], &[])?;
    ensure!(code == Some(5) && out.starts_with("0 of 2 components"), "{out}");

    // A layout is what skopeo copies, and the copy is the same index.
    let auth = at("good.json");
    let mirror = format!("docker://{}", market.registry.reference("mirror/index:latest"));
    let layout = format!("oci:{}:latest", at("index"));
    market.registry.skopeo(&["copy", "--dest-tls-verify=false", "--authfile", &auth, &layout, &mirror])?;
    let mirrored = ["search", "generic", "--index", &market.registry.reference("mirror/index:latest")];
    let (code, out, err) = market.registry.devgate("good.json", &mirrored)?;
    ensure!(code == Some(0) && out.contains(&generic), "{out}{err}");

    // What is no index, and one that another key has signed.
    let component = ["search", "--index", &market.registry.reference("vendor/generic:1")];
    let (code, _, err) = market.registry.devgate("good.json", &component)?;
    ensure!(code == Some(5) && err.contains("has a layer of type application/wasm"), "{err}");
    let (code, _, err) = market.registry.devgate("good.json", &["show", &to])?;
    ensure!(code == Some(5) && err.contains("is an index of components") && err.contains("search --index"), "{err}");
    shown(market.registry.dir.path(), "key", &[])?;
    let (code, _, err) = search(&["generic"], &["--cosign-key", &at("vendor.pem")])?;
    ensure!(code == Some(5) && err.contains("is not signed by a key"), "{err}");
    let (code, _, err) = build(&["--layout", &at("index")])?;
    ensure!(code == Some(2) && err.contains("has something in it"), "{err}");
    Ok(())
}
