//! The same component in every language of `guests/languages`: what it answers is the same, whatever it is written in.
//!
//! `DEVGATE_LANGUAGES=c,go,js,python` names those that must be there; without it C is compared where it was built, and in CI it
//! must have been.

mod optional;

use crate::look::{Said, look};
use devgate_tests::components;
use serde_json::Value;
use std::path::{Path, PathBuf};

const WIDGET: &str = "example.com/widget";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/languages")
}

fn read(path: &str) -> anyhow::Result<String> {
    let path = folder().join(path);
    std::fs::read_to_string(&path).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))
}

/// One of the languages, besides Rust.
#[derive(Debug)]
struct Language {
    name: String,
    policy: String,
}

/// Those to compare with Rust.
fn languages() -> anyhow::Result<Vec<Language>> {
    let named = std::env::var("DEVGATE_LANGUAGES").ok();
    let must = named.is_some() || std::env::var_os("CI").is_some();
    let mut languages = Vec::new();
    for name in named.as_deref().unwrap_or("c").split(',') {
        let file = components()?.join(format!("widget-{name}.wasm"));
        if !file.is_file() && !must {
            println!("skipped: {name}: {} is not there", file.display());
            continue;
        }
        let policy = read(&format!("{name}/policy.yaml")).or_else(|_| read("policy.yaml"))?;
        languages.push(Language {
            name: name.to_owned(),
            policy: policy.replace("{file: widget.wasm}", &format!("{{file: widget-{name}.wasm}}")),
        });
    }
    Ok(languages)
}

fn node() -> anyhow::Result<String> {
    read("nodes/widgets.umockdev")
}

/// The node on a bad day: one widget fails, one does not tell its status, one not its serial number.
fn bad_day() -> anyhow::Result<String> {
    let node = node()?;
    let bad = node.replacen("A: status=ok", "A: status=overheated", 1).replacen("A: status=ok\\n\n", "", 1).replacen(
        "A: serial=W-1003\\n\n",
        "",
        1,
    );
    assert_eq!(bad.lines().count(), node.lines().count() - 2);
    Ok(bad)
}

fn ask(command: &[&str], policy: &str, node: &str) -> anyhow::Result<Said> {
    let dir = tempfile::tempdir()?;
    let (policy_file, node_file) = (dir.path().join("policy.yaml"), dir.path().join("node.umockdev"));
    std::fs::write(&policy_file, policy)?;
    std::fs::write(&node_file, node)?;
    let mut args: Vec<PathBuf> = command.iter().map(PathBuf::from).collect();
    args.extend(["--policy".into(), policy_file, "--node-root".into(), node_file]);
    args.extend(["--components".into(), components()?]);
    look(args)
}

fn explained(policy: &str, node: &str) -> anyhow::Result<Value> {
    let said = ask(&["explain", WIDGET, "--output", "json"], policy, node)?;
    serde_json::from_str(&said.out).map_err(|error| anyhow::anyhow!("{error}: {}{}", said.out, said.err))
}

/// What is said of each unit and what else is, a line each.
fn told(json: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let unit = |unit: &Value| {
        let properties = unit["properties"].as_array().expect("properties").iter();
        let properties: Vec<_> = properties.map(|p| format!("{}={}", text(&p["name"]), text(&p["value"]))).collect();
        format!(
            "{} numa {} {} {} unhealthy: {}",
            text(&unit["id"]),
            unit["numa_nodes"],
            text(&unit["nodes"][0]["path"]),
            properties.join(" "),
            text(&unit["unhealthy"]),
        )
    };
    let units = json["units"].as_array().expect("units").iter().map(unit);
    let said = json["said"].as_array().expect("said").iter().map(|said| format!("said: {}", text(&said["text"])));
    let why = json["plugins"].as_array().expect("plugins").iter().filter_map(|plugin| plugin["why"].as_str());
    units.chain(said).chain(why.map(str::to_owned)).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_language_answers_the_same() -> anyhow::Result<()> {
    let (policy, node) = (read("policy.yaml")?, bad_day()?);
    let rust = explained(&policy, &node)?;
    insta::assert_snapshot!(told(&rust), @r#"
    W-1001 numa [0] /dev/widget0 serial=W-1001 firmware=2.4.1 pci=0000:17:00.0 unhealthy: status reads overheated
    W-1002 numa [0] /dev/widget1 serial=W-1002 firmware=2.4.1 pci=0000:65:00.0 unhealthy: not found healthy yet: attribute "status" of widget1: not found
    said: 0000:b3:00.0 is not offered: attribute "serial" of widget2: not found
    said: 0000:ca:00.0 is not offered: its driver has not registered it
    "#);
    for language in languages()? {
        let other = explained(&language.policy, &node)?;
        assert_eq!(told(&other), told(&rust), "{}", language.name);
        assert_eq!(other, rust, "{}", language.name);
    }
    Ok(())
}

/// A node of so many cards, and so many more without their driver; each firmware's name is this long.
fn cards(good: usize, bare: usize, firmware: usize) -> String {
    let card = |index: usize| {
        let address = format!("{:04x}:{:02x}:00.0", index >> 8, index & 255);
        let place = format!("/devices/pci{:04x}:{:02x}/{address}", index >> 8, index & 255);
        let card = format!(
            "P: {place}\nE: SUBSYSTEM=pci\nE: PCI_CLASS=120000\nE: PCI_SLOT_NAME={address}\n\
             A: vendor=0xd06e\\n\nA: device=0x0001\\n\nA: class=0x120000\\n\n\n"
        );
        if index >= good {
            return card;
        }
        let version = "x".repeat(firmware);
        format!(
            "{card}P: {place}/widget/widget{index}\nN: widget{index}\nE: SUBSYSTEM=widget\n\
             E: DEVNAME=/dev/widget{index}\nE: MAJOR=511\nE: MINOR={index}\nA: dev=511:{index}\\n\n\
             A: status=ok\\n\nA: serial=W-{index}\\n\nA: firmware={version}\\n\n\n"
        )
    };
    (0..good + bare).map(card).collect()
}

/// With the time that it takes on a busy machine.
fn unhurried(policy: &str) -> String {
    let limits = "    limits:\n";
    let patient = format!("{limits}      deadline: 60s\n      cpu: 60s\n");
    if policy.contains(limits) {
        policy.replace(limits, &patient)
    } else {
        policy.replace("config: {mode: safe}\n", &format!("config: {{mode: safe}}\n{patient}"))
    }
}

/// More text than a collector lets pass without a collection; more cards without a driver than a property can name.
#[test]
fn every_language_lists_what_is_there_however_much_there_is() -> anyhow::Result<()> {
    for (good, bare, firmware) in [(1_500, 0, 3_500), (2, 600, 5)] {
        let node = cards(good, bare, firmware);
        let mut policies = vec![("rust".to_owned(), read("policy.yaml")?)];
        policies.extend(languages()?.into_iter().map(|language| (language.name, language.policy)));
        for (name, policy) in policies {
            let json = explained(&unhurried(&policy), &node)?;
            let units = json["units"].as_array().expect("units").len();
            assert_eq!(units, good, "{name}: {}", json["plugins"]);
            assert!(json["plugins"][0]["why"].is_null(), "{name}: {}", json["plugins"]);
        }
    }
    Ok(())
}

#[test]
fn every_language_refuses_the_same_configuration() -> anyhow::Result<()> {
    for wrong in ["{mode: slow}", "[safe]"] {
        let with = |policy: &str| policy.replace("config: {mode: safe}", &format!("config: {wrong}"));
        let rust = explained(&with(&read("policy.yaml")?), &node()?)?;
        let why = told(&rust);
        assert!(why.contains("config: "), "{wrong}: {why}");
        for language in languages()? {
            let other = explained(&with(&language.policy), &node()?)?;
            assert_eq!(told(&other), why, "{}: {wrong}", language.name);
        }
    }
    Ok(())
}

/// Rust's is among the scenarios of all components.
#[test]
fn every_language_plays_the_scenarios() -> anyhow::Result<()> {
    for language in languages()? {
        let dir = tempfile::tempdir()?;
        std::fs::write(dir.path().join("policy.yaml"), &language.policy)?;
        for name in ["nodes", "scenarios"] {
            std::fs::create_dir(dir.path().join(name))?;
            for file in std::fs::read_dir(folder().join(name))? {
                let file = file?;
                std::fs::copy(file.path(), dir.path().join(name).join(file.file_name()))?;
            }
        }
        let scenarios = dir.path().join("scenarios");
        let said = look([Path::new("simulate"), &scenarios, "--components".as_ref(), &components()?])?;
        assert_eq!(said.code, Some(0), "{}: {}{}", language.name, said.out, said.err);
    }
    Ok(())
}

/// The component's file, the policy and the node together, through everything that a node may do to them.
#[test]
fn every_language_passes_the_battery() -> anyhow::Result<()> {
    for language in languages()? {
        let said = ask(&["conform"], &language.policy, &node()?)?;
        assert_eq!(said.code, Some(0), "{}: {}{}", language.name, said.out, said.err);
        assert!(said.out.contains("checks passed"), "{}", said.out);
    }
    Ok(())
}

/// Only the component's file, the limits and what follows them differ, comments aside.
#[test]
fn the_policies_are_one_policy() -> anyhow::Result<()> {
    let lines = |text: &str| -> Vec<String> {
        let limits = text.find("    limits:").unwrap_or(text.len());
        let lines = text[..limits].lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    let shared = lines(&read("policy.yaml")?);
    for name in ["go", "js", "python"] {
        let own = lines(&read(&format!("{name}/policy.yaml"))?.replace(&format!("widget-{name}"), "widget"));
        assert_eq!(own, shared, "{name}");
    }
    Ok(())
}
