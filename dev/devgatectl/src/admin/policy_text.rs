//! The text of one file of an admin's policy, in which one component is named otherwise and nothing else is another.

use super::refused;
use anyhow::Context;
use devgate::{exit, output, policy};
use devgate_policy::{ComponentSource, PluginPolicy, Policy, PolicyFile};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// One file as it was read, with the others of the policy.
pub(super) struct PolicyText {
    file: PathBuf,
    text: String,
    others: Vec<(String, String)>,
    /// The plugin's entry in it, in bytes.
    entry: std::ops::Range<usize>,
}

/// A text that means the same but for one component.
#[derive(Debug)]
pub(super) struct Edited {
    text: String,
    policy: Policy,
}

impl Edited {
    /// What the policy means with it.
    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }
}

impl PolicyText {
    /// The file that has a plugin of the policy at `path`, a directory or that file.
    pub(super) fn read(path: &Path, plugin: &PluginPolicy) -> anyhow::Result<Self> {
        let file = PathBuf::from(&*plugin.origin.file);
        let mut others = Vec::new();
        for other in policy::files(path)? {
            others.push((other.display().to_string(), read(&other)?));
        }
        let own = others.iter().position(|(name, _)| Path::new(name) == file).context("the plugin's file")?;
        let (_, text) = others.remove(own);
        let entry = entry(&text, plugin.origin.line);
        Ok(Self { file, text, others, entry })
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// The text with `new` in place of the one `old` by which the plugin's component comes to be `source`.
    ///
    /// # Errors
    /// Where there is none.
    pub(super) fn with_component(
        &self,
        before: &Policy,
        plugin: &PluginPolicy,
        (old, new): (&str, &str),
        source: &ComponentSource,
    ) -> anyhow::Result<Edited> {
        let (start, entry) = (self.entry.start, self.text.get(self.entry.clone()).unwrap_or_default());
        for (at, _) in entry.match_indices(old) {
            let (head, tail) = (self.text.get(..start + at), self.text.get(start + at + old.len()..));
            let text = [head.unwrap_or_default(), new, tail.unwrap_or_default()].concat();
            let Ok(policy) = self.parse(&text) else { continue };
            let same = policy.plugins.values().zip(before.plugins.values());
            let is_good = |(now, was): (&PluginPolicy, &PluginPolicy)| match was.name == plugin.name {
                true => now.component == *source && now.differing_keys(was) == ["component"],
                false => now.is_like(was),
            };
            if policy.plugins.len() == before.plugins.len() && same.into_iter().all(is_good) {
                return Ok(Edited { text, policy });
            }
        }
        Err(refused(format!("{}: its component is not written as {old}; change it by hand: {new}", plugin.origin)))
    }

    fn parse(&self, text: &str) -> anyhow::Result<Policy> {
        let own = (self.file.display().to_string(), text.to_owned());
        let mut all: Vec<_> = self.others.iter().chain([&own]).collect();
        all.sort_by_key(|(name, _)| PathBuf::from(name));
        let files: Vec<_> = all.iter().map(|(name, text)| PolicyFile { name, text }).collect();
        devgate_policy::parse(&files).map_err(|errors| exit::with_code(exit::POLICY, errors.to_string()))
    }

    /// Writes it, where the file is still as it was read. A link stays one, and the file's mode is kept.
    pub(super) fn write(&self, edited: &Edited) -> anyhow::Result<()> {
        if read(&self.file)? != self.text {
            let why = format!("{}: was changed meanwhile; nothing was written", self.file.display());
            return Err(refused(why));
        }
        let named = || self.file.display().to_string();
        let real = self.file.canonicalize().with_context(named)?;
        let mode = real.metadata().with_context(named)?.permissions().mode();
        output::write_file(&real, edited.text.as_bytes())?;
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(mode)).with_context(named)
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| file.display().to_string())
}

/// From a line, counted from 1, up to the next one that is indented no further.
fn entry(text: &str, line: u32) -> std::ops::Range<usize> {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let skipped = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let start = lines.iter().take(skipped).map(|line| line.len()).sum();
    let mut rest = lines.iter().skip(skipped);
    let Some(first) = rest.next() else { return start..text.len() };
    let inside =
        |line: &&&str| line.trim().is_empty() || line.trim_start().starts_with('#') || indent(line) > indent(first);
    let length: usize = rest.take_while(inside).map(|line| line.len()).sum();
    start..start + first.len() + length
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
    const REST: &str = "    resources: [example.com/NAME]\n    hardware: [{subsystem: misc, name: NAME, use: offer, nodes: [{access: rw}]}]\n";

    fn plugin(name: &str, component: &str) -> String {
        format!("  {name}:\n{component}{}", REST.replace("NAME", name))
    }

    /// What becomes of the plugin `a` with digest 1 where it is to have digest 2.
    fn edited(text: &str) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("policy.yaml");
        std::fs::write(&file, format!("{HEAD}{text}")).unwrap();
        // What lies beside a file that was named is not the policy's.
        std::fs::write(dir.path().join("compose.yaml"), "services: {}\n").unwrap();
        let policy = policy::read(std::slice::from_ref(&file)).unwrap();
        let a = policy.plugins.values().find(|plugin| plugin.name.as_str() == "a").unwrap();
        let read = PolicyText::read(&file, a).unwrap();
        let source = ComponentSource::File { path: "g.wasm".to_owned(), sha256: Some([0x22; 32]) };
        let (old, new) = ("11".repeat(32), "22".repeat(32));
        let edited = read.with_component(&policy, a, (&old, &new), &source).map_err(|error| error.to_string())?;
        read.write(&edited).unwrap();
        std::fs::write(&file, "x").unwrap();
        assert!(read.write(&edited).unwrap_err().to_string().contains("was changed meanwhile"));
        Ok(edited.text.strip_prefix(HEAD).unwrap().to_owned())
    }

    #[test]
    fn only_this_plugins_component_is_another() {
        let (one, two) = ("11".repeat(32), "22".repeat(32));
        let pinned = |digest: &str| format!("    # was {one}\n    component: {{file: g.wasm, sha256: \"{digest}\"}}\n");
        let other = plugin("b", &pinned(&one));
        for text in [plugin("a", &pinned(&one)) + &other, other.clone() + &plugin("a", &pinned(&one))] {
            let now = edited(&text).unwrap();
            assert_eq!(now, text.replace(&plugin("a", &pinned(&one)), &plugin("a", &pinned(&two))));
        }
    }

    #[test]
    fn what_is_written_otherwise_is_left_to_the_admin() {
        let escaped = format!(
            "    # {}\n    component: {{file: g.wasm, sha256: \"{}\\x31{}\"}}\n",
            "11".repeat(32),
            "1".repeat(30),
            "1".repeat(33)
        );
        let why = edited(&plugin("a", &escaped)).unwrap_err();
        assert!(why.contains("change it by hand: 2222"), "{why}");
    }
}
