//! The order of core's modules: none depends on one that depends on it, over any number of steps, tests apart.

use crate::workspace::files_in;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Each module, and those that it names.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// What core's modules do against the rule. Fails when a file cannot be read.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let source = root.join("host/core/src");
    let read = |file: &Path| {
        std::fs::read_to_string(source.join(file)).with_context(|| format!("read core's {}", file.display()))
    };
    let mut uses = Uses::new();
    for file in files_in(&source)? {
        let is_test = file.iter().any(|part| part == "tests" || part == "tests.rs");
        let module = file.iter().next().map(|first| Path::new(first).with_extension("")).unwrap_or_default();
        if !is_test && module != Path::new("lib") {
            uses.entry(module.display().to_string()).or_default().extend(named(&read(&file)?));
        }
    }
    let cycle = cycle(&through(&uses, &reexports(&read(Path::new("lib.rs"))?)));
    let problem = cycle.map(|cycle| format!("core: modules depend on each other: {}", cycle.join(" → ")));
    Ok(problem.into_iter().collect())
}

/// What a file names of its crate: what stands behind `crate::`, in braces as well. Comments and the tests at its end are left out.
fn named(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<&str> = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let mut found = BTreeSet::new();
    for (at, start) in code.match_indices("crate::") {
        let is_path = !code.get(..at).is_some_and(|before| before.ends_with([':', '_', '$']));
        if let Some(rest) = code.get(at + start.len()..).filter(|_| is_path) {
            found.extend(first_names(rest));
        }
    }
    found
}

/// The first part of a path, or of each path in braces.
fn first_names(text: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        let text = text.trim_start();
        text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
    };
    let Some(list) = text.strip_prefix('{') else {
        return vec![word(text)];
    };
    let (mut depth, mut names, mut from) = (0_u32, Vec::new(), 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(word(list.get(from..at).unwrap_or_default()));
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

/// Which module has each name that the crate tells on (`pub use module::Name;`).
fn reexports(lib: &str) -> BTreeMap<String, String> {
    let told = lib.split(';').filter_map(|item| item.split_once("use ")?.1.split_once("::"));
    told.flat_map(|(module, names)| {
        let names = first_names(names);
        names.into_iter().map(move |name| (name, module.to_owned()))
    })
    .collect()
}

/// The same with names that are told on replaced by their modules, and nothing but modules.
fn through(uses: &Uses, told: &BTreeMap<String, String>) -> Uses {
    let of = |module: &String, named: &BTreeSet<String>| {
        let real = named.iter().map(|name| told.get(name).unwrap_or(name));
        real.filter(|name| uses.contains_key(*name) && *name != module).cloned().collect()
    };
    uses.iter().map(|(module, named)| (module.clone(), of(module, named))).collect()
}

/// One way from a module back to itself, if there is any.
fn cycle(uses: &Uses) -> Option<Vec<String>> {
    let mut left = uses.clone();
    // What depends on nothing that is left is in no cycle.
    while let Some(done) =
        left.iter().find(|(_, to)| to.iter().all(|to| !uses.contains_key(to) || !left.contains_key(to)))
    {
        let done = done.0.clone();
        left.remove(&done);
    }
    let mut way = vec![left.keys().next()?.clone()];
    loop {
        let next = left.get(way.last()?)?.iter().find(|to| left.contains_key(*to))?.clone();
        let before = way.iter().position(|name| *name == next);
        way.push(next);
        if let Some(before) = before {
            return Some(way.split_off(before));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Option<Vec<String>> {
        let uses: Uses = files.iter().map(|(name, text)| ((*name).to_owned(), named(text))).collect();
        cycle(&through(&uses, &reexports("pub use grants::{Grant, Line};\npub use units::Unit;")))
    }

    #[test]
    fn a_cycle_is_found_over_any_number_of_steps() {
        let down = [("plugin", "use crate::grants::A;"), ("grants", "use crate::units::B;"), ("units", "")];
        assert_eq!(of(&down), None);
        let round = [
            ("plugin", "use crate::grants::A;"),
            ("grants", "fn a() { crate::units::b() }"),
            ("units", "use crate::{\n    call::{X, Y},\n    plugin,\n};"),
        ];
        assert_eq!(of(&round).unwrap(), ["grants", "units", "plugin", "grants"]);
    }

    #[test]
    fn what_is_told_on_by_the_crate_is_its_modules() {
        assert_eq!(
            of(&[("grants", "use crate::Unit;"), ("units", "use crate::Line;")]).unwrap(),
            ["grants", "units", "grants"]
        );
    }

    #[test]
    fn comments_tests_and_other_crates_are_left_out() {
        let text = "use devgate_crate::x;\n/// See [`crate::a`].\nuse crate::b; // crate::c\n#[cfg(test)]\nmod tests { use crate::d; }";
        assert_eq!(named(text), BTreeSet::from(["b".to_owned()]));
    }
}
