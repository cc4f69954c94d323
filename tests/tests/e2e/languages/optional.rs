//! What a component may export besides, by the SDKs for C and Go: each function is called.

use super::{Language, ask, bad_day, languages, node};
use crate::look::{Said, look};
use devgate_tests::components;
use std::path::PathBuf;

/// Those whose widget is built with all of it.
fn with_all() -> anyhow::Result<Vec<Language>> {
    let mut languages = languages()?;
    languages.retain(|language| ["c", "go"].contains(&language.name.as_str()));
    for Language { name, policy } in &mut languages {
        let widget = format!("widget-{name}");
        *name = format!("{widget}-optional.wasm");
        *policy = policy.replace(&format!("{widget}.wasm"), name);
    }
    Ok(languages)
}

/// What `devgatectl call` says of a function, but for what it costs.
fn called(language: &Language, words: &[&str], node: &str) -> anyhow::Result<String> {
    let dir = tempfile::tempdir()?;
    let (policy_file, node_file) = (dir.path().join("policy.yaml"), dir.path().join("node.umockdev"));
    std::fs::write(&policy_file, &language.policy)?;
    std::fs::write(&node_file, node)?;
    let mut args = vec![PathBuf::from("call"), components()?.join(&language.name)];
    args.extend(words.iter().map(PathBuf::from));
    args.extend(["--policy".into(), policy_file, "--node-root".into(), node_file]);
    let Said { code, out, err } = look(args)?;
    let told =
        out.lines().chain(err.lines()).filter(|line| !line.starts_with("took ") && !line.contains("not offered"));
    Ok(format!("{words:?} ends with {code:?}\n{}\n", told.map(|line| format!("  {line}\n")).collect::<String>()))
}

/// Few calls: each compiles the component, which takes seconds in Go.
#[test]
fn each_function_is_called_in_every_language_with_an_sdk() -> anyhow::Result<()> {
    let calls: &[&[&str]] = &[
        &["choose", "--count", "2"],
        &["prepare", "W-1001", "W-1002"],
        &["release", "W-1001", "W-1002"],
        &["allocate", "W-1001", "--class", "{}", "--class", r#"{"mode": "fast"}"#, "--claim", r#"{"mode": "safe"}"#],
        &["allocate", "W-1001", "--claim", r#"{"mode": "slow"}"#],
        &["allocate", "W-1001", "--class", "{} {}"],
        &["examine"],
    ];
    let on_a_bad_day: &[&[&str]] = &[&["prepare", "W-1001"], &["examine", "W-1001"]];
    for language in with_all()? {
        let mut told = String::new();
        for words in calls {
            told += &called(&language, words, &node()?)?;
        }
        for words in on_a_bad_day {
            told += &called(&language, words, &bad_day()?)?;
        }
        insta::allow_duplicates! {
            insta::assert_snapshot!(told, @r#"
            ["choose", "--count", "2"] ends with Some(0)
              W-1003
              W-1002

            ["prepare", "W-1001", "W-1002"] ends with Some(0)
              done

            ["release", "W-1001", "W-1002"] ends with Some(0)
              done
              said (warn): W-1001 is released
              said (warn): W-1002 is released

            ["allocate", "W-1001", "--class", "{}", "--class", "{\"mode\": \"fast\"}", "--claim", "{\"mode\": \"safe\"}"] ends with Some(0)
              node /dev/widget0 (rw)
              variable WIDGET_MODE=fast
              variable WIDGET_SERIALS=W-1001

            ["allocate", "W-1001", "--claim", "{\"mode\": \"slow\"}"] ends with Some(5)
              allocate failed: mode is neither fast nor safe

            ["allocate", "W-1001", "--class", "{} {}"] ends with Some(5)
              allocate failed: the class: is not a mapping

            ["examine"] ends with Some(0)
              there is no condition

            ["prepare", "W-1001"] ends with Some(5)
              prepare failed: W-1001 is overheated

            ["examine", "W-1001"] ends with Some(0)
              example.com/widget  W-1001  not-well  the policy does not name it (dra.conditions)
            "#);
        }
    }
    Ok(())
}

#[test]
fn all_of_it_is_exported() -> anyhow::Result<()> {
    for language in with_all()? {
        let said = look([PathBuf::from("inspect"), components()?.join(&language.name)])?;
        let exports: Vec<_> = said.out.lines().skip_while(|line| *line != "Exports").skip(1).map(str::trim).collect();
        let exports = exports.split(|line| line.is_empty()).next().unwrap_or_default().join("\n");
        insta::allow_duplicates! {
            insta::assert_snapshot!(exports, @"
            devgate:plugin/conditions@0.1.1
            devgate:plugin/lifecycle@0.1.0
            devgate:plugin/parameters@0.1.1
            devgate:plugin/plugin@0.1.0
            devgate:plugin/preference@0.1.0
            ");
        }
    }
    Ok(())
}

#[test]
fn with_all_of_it_every_language_passes_the_battery() -> anyhow::Result<()> {
    for language in with_all()? {
        let said = ask(&["conform"], &language.policy, &node()?)?;
        assert_eq!(said.code, Some(0), "{}: {}{}", language.name, said.out, said.err);
        assert!(said.out.contains("checks passed"), "{}", said.out);
    }
    Ok(())
}
