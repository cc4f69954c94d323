//! The tables of docs/install.md, from the table of overlays and the list of what is allowed.

use super::allowed::{self, Allowed};
use super::choices::{NEWEST, OLDEST, OVERLAYS};
use super::profiles::PROFILES;
use crate::workspace::root;
use std::fmt::Write as _;

/// Set to write the page anew instead of comparing it.
const UPDATE: &str = "UPDATE_DOCS";

#[test]
fn the_tables_on_the_page_are_fresh() {
    let path = root().join("docs/install.md");
    let allowed = allowed::read(&root().join("deploy/allowed.yaml")).unwrap();
    let page = std::fs::read_to_string(&path).unwrap();
    let mut fresh = between(&page, "versions", &versions());
    for name in allowed.0.keys() {
        fresh = between(&fresh, &format!("allowed: {name}"), &table(&allowed, name));
    }
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &fresh).unwrap();
    } else {
        assert!(
            page == fresh,
            "docs/install.md has stale tables: run `UPDATE_DOCS=1 cargo test -p xtask page`"
        );
    }
}

/// The page with another text between two marks.
fn between(page: &str, name: &str, text: &str) -> String {
    let begin = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no mark {begin}"));
    let (_, after) = rest.split_once("<!-- end -->").expect("an end");
    format!("{before}{begin}{text}<!-- end -->{after}")
}

fn table(allowed: &Allowed, name: &str) -> String {
    let mut text = "| it has | because |\n| --- | --- |\n".to_owned();
    for entry in allowed.0.get(name).expect("a list") {
        let has = entry.has.replace('|', "\\|");
        let _infallible = match &entry.instead {
            Some(instead) => writeln!(text, "| `{has}`, instead of `{instead}` | {} |", entry.why),
            None => writeln!(text, "| `{has}` | {} |", entry.why),
        };
    }
    text
}

fn versions() -> String {
    let mut text = "| | the chart's value | Kubernetes |\n| --- | --- | --- |\n".to_owned();
    let mut row = |name: &str, value: &str, least: u32| {
        let _infallible = writeln!(text, "| {name} | {value} | 1.{least} to 1.{NEWEST} |");
    };
    row("`base`", "", OLDEST);
    for overlay in OVERLAYS {
        row(
            &format!("`{}`", overlay.name),
            &format!("`{}`", overlay.value),
            overlay.least,
        );
    }
    for profile in PROFILES {
        row(&format!("profile `{}`", profile.name), "", profile.least);
    }
    text
}
