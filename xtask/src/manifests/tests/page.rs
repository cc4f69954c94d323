//! The table of overlays and profiles in docs/install.md: what is chosen how, and by which Kubernetes it is taken.

use crate::manifests::allowed;
use crate::manifests::choices::{AGENT, NEWEST, OLDEST, OVERLAYS};
use crate::manifests::profiles::PROFILES;
use crate::workspace::root;
use std::fmt::Write as _;

/// Set to write the page anew instead of comparing it.
const UPDATE: &str = "UPDATE_DOCS";

#[test]
fn the_table_on_the_page_is_fresh() {
    let path = root().join("docs/install.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let fresh = between(&page, "versions", &versions(&page));
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &fresh).unwrap();
    } else {
        assert!(page == fresh, "docs/install.md has a stale table: run `UPDATE_DOCS=1 cargo test -p xtask page`");
    }
}

/// The page with another text between two marks.
fn between(page: &str, name: &str, text: &str) -> String {
    let begin = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no mark {begin}"));
    let (_, after) = rest.split_once("<!-- end -->").expect("an end");
    format!("{before}{begin}{text}<!-- end -->{after}")
}

/// What the page says that an overlay or a profile is for.
fn words<'a>(page: &'a str, name: &str) -> &'a str {
    let row = page.lines().find(|line| line.starts_with(&format!("| {name} | ")));
    let words = row.and_then(|row| row.strip_suffix(" |")?.rsplit_once(" | "));
    let (_, words) = words.unwrap_or_else(|| panic!("docs/install.md does not say what {name} is for"));
    assert!(!words.is_empty(), "docs/install.md does not say what {name} is for");
    words
}

/// Each list of what the pod may have is one of a choice that the page has.
#[test]
fn what_is_allowed_is_what_can_be_chosen() {
    let allowed = allowed::read(&root().join("deploy/allowed.yaml")).unwrap();
    let page = std::fs::read_to_string(root().join("docs/install.md")).unwrap();
    for name in allowed.0.keys().filter(|name| *name != AGENT) {
        let is_named = page.contains(&format!("\n| `{name}` | ")) || page.contains(&format!("\n| profile `{name}` | "));
        assert!(is_named, "docs/install.md has no line for {name} of deploy/allowed.yaml");
    }
}

fn versions(page: &str) -> String {
    let mut text = format!(
        "| | the chart's value | 1.{OLDEST} to 1.{NEWEST}, or from | for, and what the pod gets |\n|---|---|---|---|\n"
    );
    let mut row = |name: &str, value: &str, least: u32| {
        let words = words(page, name);
        let from = if least == OLDEST { String::new() } else { format!("1.{least}") };
        let _infallible = writeln!(text, "| {name} | {value} | {from} | {words} |");
    };
    row("`base`", "", OLDEST);
    for overlay in OVERLAYS {
        row(&format!("`{}`", overlay.name), &format!("`{}`", overlay.value), overlay.least);
    }
    for profile in PROFILES {
        row(&format!("profile `{}`", profile.name), "", profile.least);
    }
    text
}
