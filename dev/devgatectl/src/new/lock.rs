//! `Cargo.lock` of a project in Rust: the versions that the SDK was tested with.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Those of this repository's components.
const TESTED: &str = include_str!("../../../../guests/Cargo.lock");

/// What a project depends on, as its Cargo.toml says.
const DIRECT: [&str; 3] = ["devgate-sdk", "devgate-testing", "serde_json"];

/// What only the repository's own components and tests ask for: a package, and what it depends on for them.
const ELSEWHERE: [(&str, &str); 3] =
    [("devgate-sdk", "devgate-sdk"), ("devgate-sdk", "serde_json"), ("getrandom", "rand_core")];

const VERSION: &str = "0.1.0";
const PACKAGE: &str = "\n[[package]]\n";

/// A package of the lock file.
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    /// The file's lines about it but for the dependencies.
    text: &'a str,
    dependencies: Vec<&'a str>,
}

impl<'a> Package<'a> {
    fn parse(text: &'a str) -> Self {
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap_or_default().trim_matches('"')
        };
        let (head, dependencies) = text.split_once("dependencies = [\n").unwrap_or((text, ""));
        let name = value("name = ");
        let dependency = |line: &'a str| Some(line.strip_prefix(" \"")?.trim_end_matches("\","));
        Self {
            name,
            version: value("version = "),
            text: head.trim_end(),
            dependencies: dependencies
                .lines()
                .filter_map(dependency)
                .filter(|other| !ELSEWHERE.contains(&(name, other)))
                .collect(),
        }
    }

    /// Whether a line among dependencies is about this one: a name, and a version where there are several.
    fn is_named(&self, dependency: &str) -> bool {
        let mut words = dependency.split(' ');
        words.next() == Some(self.name) && words.next().is_none_or(|version| version == self.version)
    }
}

/// The lock file of a project of this name.
pub(super) fn of(project: &str) -> String {
    let (head, packages) = TESTED.split_once(PACKAGE).unwrap_or((TESTED, ""));
    let tested: Vec<_> = packages.split(PACKAGE).map(Package::parse).collect();
    let own = Package {
        name: project,
        version: VERSION,
        text: &format!("name = \"{project}\"\nversion = \"{VERSION}\""),
        dependencies: DIRECT.to_vec(),
    };

    let mut wanted = own.dependencies.clone();
    let mut taken = BTreeSet::new();
    while let Some(dependency) = wanted.pop() {
        let found = tested.iter().enumerate().filter(|(_, package)| package.is_named(dependency));
        for (at, package) in found {
            if taken.insert(at) {
                wanted.extend(&package.dependencies);
            }
        }
    }
    let mut packages: Vec<_> = taken.iter().filter_map(|at| tested.get(*at)).collect();
    let place = packages.partition_point(|package| package.name < own.name);
    packages.insert(place, &own);

    let mut text = head.to_owned();
    for package in &packages {
        let _infallible = writeln!(text, "{PACKAGE}{}", package.text);
        if package.dependencies.is_empty() {
            continue;
        }
        text += "dependencies = [\n";
        for dependency in &package.dependencies {
            let name = dependency.split(' ').next().unwrap_or_default();
            // Cargo tells versions apart only where there are several.
            let several = packages.iter().filter(|other| other.name == name).count() > 1;
            let version = tested.iter().find(|other| several && other.is_named(dependency));
            let version = version.map_or_else(String::new, |other| format!(" {}", other.version));
            let _infallible = writeln!(text, " \"{name}{version}\",");
        }
        text += "]\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_project_needs_is_there_in_cargos_order_and_nothing_else() {
        let text = of("acme-npu");
        let names: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("name = ")).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(names[0], "\"acme-npu\"");
        for (name, is_there) in [("devgate-core", true), ("tokio", true), ("widget", false), ("wit-bindgen-go", false)]
        {
            assert_eq!(names.contains(&format!("\"{name}\"").as_str()), is_there, "{name}");
        }
        let rest = text.replace(&format!("{PACKAGE}name = \"acme-npu\""), "");
        assert!(rest.len() < TESTED.len());
    }

    #[test]
    fn a_project_may_be_called_as_something_it_needs() {
        let text = of("regex");
        assert!(text.contains("name = \"regex\"\nversion = \"0.1.0\"\n"), "{text}");
        assert!(text.contains("\n \"regex 1."), "{text}");
    }
}
