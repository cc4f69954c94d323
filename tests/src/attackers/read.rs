//! The files of `tests/attackers`, read when they are asked for: a change of one needs no build.

use super::header::Header;
use super::{CLASSES, expand};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

/// What separates the texts of a component that becomes another one.
const CHANGE: &str = ";; becomes\n";

/// One hostile component.
#[derive(Debug, Clone)]
pub struct Attacker {
    /// Its folder.
    pub class: String,
    /// Its file's name, which its plugin has too.
    pub name: String,
    /// Which of its class it is.
    number: usize,
    /// What it says of itself.
    pub header: Header,
    /// The text of the component, and of those that it becomes.
    pub(super) parts: Vec<String>,
}

/// Where they are.
pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("attackers")
}

impl Attacker {
    /// A component of this text, which no file of `tests/attackers` has, and which says nothing of itself.
    #[must_use]
    pub fn of_text(name: &str, text: &str) -> Self {
        let header = Header::default();
        let attacker = Self { class: String::new(), name: name.to_owned(), number: 0, header, parts: Vec::new() };
        Self { parts: vec![attacker.words(text)], ..attacker }
    }

    fn read(class: &str, file: &Path, number: usize) -> anyhow::Result<Self> {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let attacker = Self { class: class.to_owned(), name, number, header: Header::default(), parts: Vec::new() };
        let text = attacker.words(&fs::read_to_string(file)?);
        Ok(Self { header: Header::read(&text)?, parts: text.split(CHANGE).map(str::to_owned).collect(), ..attacker })
    }

    /// Puts what is its own for `@name` and its like.
    pub(super) fn words(&self, text: &str) -> String {
        let device = format!("bench1-{}", self.number);
        let values =
            [("name", self.name.as_str()), ("resource", &self.resource()), ("device", &device), ("good", "bench0-0")];
        expand::words(text, &values)
    }

    /// The resource that it may offer.
    #[must_use]
    pub fn resource(&self) -> String {
        format!("test.dev/{}", self.name)
    }

    /// How many components its text has: one, and what it becomes.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Its entry of a policy, with these keys before its own.
    #[must_use]
    pub fn entry(&self, first: &[String]) -> String {
        let own = self.header.policy.iter();
        let key = |line: &String| line.split(':').next().unwrap_or_default().to_owned();
        let taken: Vec<_> = first.iter().map(key).collect();
        let mut lines: Vec<_> = first.to_vec();
        lines.extend(own.filter(|line| !taken.contains(&key(line))).cloned());
        for default in [
            format!("component: {{file: {}.wasm}}", self.name),
            format!("resources: [{}]", self.resource()),
            // A machine may stand still for longer than a component's default.
            "limits: {deadline: 20s}".to_owned(),
        ] {
            if !lines.iter().any(|line| key(line) == key(&default)) {
                lines.push(default);
            }
        }
        let lines: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        format!("  {}:\n{lines}", self.name)
    }
}

/// The attackers of one class, in the order of their names.
///
/// # Errors
/// Which file is not what it should be.
pub fn of_class(class: &str) -> anyhow::Result<Vec<Attacker>> {
    let folder = folder().join(class);
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wat"));
    files.sort();
    let read = files.iter().enumerate().map(|(number, file)| {
        let attacker = Attacker::read(class, file, number);
        attacker.with_context(|| file.display().to_string())
    });
    read.collect()
}

/// All of them.
///
/// # Errors
/// As [`of_class`].
pub fn all() -> anyhow::Result<Vec<Attacker>> {
    let classes: Vec<_> = CLASSES.iter().map(|class| of_class(class)).collect::<anyhow::Result<_>>()?;
    Ok(classes.into_iter().flatten().collect())
}
