//! A directory in which one mistake is made, with the component that makes it where its configuration says so.

use crate::look::Said;
use crate::misfit::POLICY;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A schema of a `config` that has to name how units are named.
const SCHEMA: &str = r#"{"required": ["naming"], "properties": {"naming": {"enum": ["single", "mixed"]}}}"#;
/// More than one text may have.
const LARGE: usize = 70_000;
/// More than a component may have by default.
const DEBUG_INFORMATION: usize = 4 << 20;

pub(super) struct Place(TempDir);

impl Place {
    pub(super) fn new() -> anyhow::Result<Self> {
        let place = Self(tempfile::tempdir()?);
        let node = Path::new(env!("CARGO_MANIFEST_DIR")).join("nodes/misfit.umockdev");
        let blob = format!("F: /proc/misfit/blob/information={}\\n\n", "x".repeat(LARGE));
        place.write("node.umockdev", blob + &std::fs::read_to_string(node)?)?;
        std::fs::copy(devgate_tests::components()?.join("misfit.wasm"), place.file("vendor.wasm"))?;
        place.write("policy.yaml", POLICY.replace("misfit.wasm", "vendor.wasm"))?;
        Ok(place)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> anyhow::Result<&Self> {
        std::fs::write(self.file(name), bytes)?;
        Ok(self)
    }

    /// Writes something else in the place of what the policy says.
    pub(super) fn with(&self, part: &str, other: &str) -> anyhow::Result<&Self> {
        let policy = std::fs::read_to_string(self.file("policy.yaml"))?;
        anyhow::ensure!(policy.contains(part), "{part} is not in the policy");
        self.write("policy.yaml", policy.replace(part, other))
    }

    /// Has the component make a mistake.
    pub(super) fn fault(&self, fault: &str) -> anyhow::Result<&Self> {
        self.with("fault: none", &format!("fault: {fault}"))
    }

    /// Gives it more or less than it may use up.
    pub(super) fn limits(&self, limits: &str) -> anyhow::Result<&Self> {
        self.with("state: true", &format!("state: true\n    limits: {{{limits}}}"))
    }

    /// Takes a line out of the recorded node, of the first device that has it.
    pub(super) fn without(&self, line: &str) -> anyhow::Result<&Self> {
        let node = std::fs::read_to_string(self.file("node.umockdev"))?;
        anyhow::ensure!(node.contains(line), "{line} is not in the recorded node");
        self.write("node.umockdev", node.replacen(&format!("{line}\n"), "", 1))
    }

    /// Another file as the component.
    pub(super) fn text(&self, wat: &str) -> anyhow::Result<&Self> {
        self.write("vendor.wasm", wat::parse_str(wat)?)
    }

    /// The component with a custom section, as linkers write those for debuggers.
    pub(super) fn with_debug_information(&self) -> anyhow::Result<&Self> {
        let mut bytes = std::fs::read(self.file("vendor.wasm"))?;
        let name = ".debug_info";
        let mut size = 1 + name.len() + DEBUG_INFORMATION;
        bytes.push(0);
        while size > 0x7f {
            bytes.push(u8::try_from(size & 0x7f)? | 0x80);
            size >>= 7;
        }
        bytes.extend([u8::try_from(size)?, u8::try_from(name.len())?]);
        bytes.extend_from_slice(name.as_bytes());
        bytes.resize(bytes.len() + DEBUG_INFORMATION, 0);
        self.write("vendor.wasm", bytes)
    }

    /// The component with a schema of its configuration.
    pub(super) fn with_schema(&self) -> anyhow::Result<&Self> {
        self.write("schema.json", SCHEMA)?.pack(&["--config-schema", "schema.json"])
    }

    /// The component as `devgatectl pack` makes it.
    pub(super) fn pack(&self, options: &[&str]) -> anyhow::Result<&Self> {
        let said = self.run(&[&["pack", "vendor.wasm", "-o", "packed.wasm"], options].concat())?;
        anyhow::ensure!(said.code == Some(0), "{}", said.err);
        std::fs::rename(self.file("packed.wasm"), self.file("vendor.wasm"))?;
        Ok(self)
    }

    /// A key that the policy asks for, which has signed nothing.
    pub(super) fn with_key(&self) -> anyhow::Result<&Self> {
        let key = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";
        self.write("vendor.pem", key)?;
        self.with("vendor.wasm}", "vendor.wasm, signature: {cosign-key: vendor.pem}}")
    }

    fn run(&self, args: &[&str]) -> anyhow::Result<Said> {
        let mut command = Command::new(devgate_tests::devgatectl()?);
        let output = command.current_dir(self.0.path()).args(args).stdin(Stdio::null()).output()?;
        let text = |bytes| String::from_utf8(bytes);
        Ok(Said { code: output.status.code(), out: text(output.stdout)?, err: text(output.stderr)? })
    }

    /// What a command says on standard error.
    pub(super) fn says(&self, args: &[&str]) -> anyhow::Result<String> {
        let said = self.run(args)?;
        anyhow::ensure!(said.code != Some(0), "{args:?}: {}", said.out);
        Ok(said.err.trim_end().to_owned())
    }

    /// What `devgatectl call` says went wrong: the first thing, with what to do.
    pub(super) fn call(&self, function: &str, ids: &[&str]) -> anyhow::Result<String> {
        let node = ["--policy", "policy.yaml", "--node-root", "node.umockdev"];
        let said = self.run(&[&["call", "vendor.wasm", function], ids, &node].concat())?;
        let text = said.out + &said.err;
        let is_wrong =
            |line: &&str| ["rejected", "not given", "devgate:", function].iter().any(|it| line.starts_with(it));
        let from = text.lines().skip_while(|line| !is_wrong(line));
        let to_do = from.clone().skip(1).take_while(|line| line.starts_with("  to do"));
        Ok(from.take(1).chain(to_do).collect::<Vec<_>>().join("\n"))
    }

    /// The error that `devgatectl check` finds; with `--run` among these options it asks the component.
    pub(super) fn check(&self) -> anyhow::Result<String> {
        let said =
            self.run(&["check", "--policy", "policy.yaml", "--node-root", "node.umockdev", "--components", "."])?;
        let mut lines = said.out.lines().chain(said.err.lines()).map(str::trim_start);
        let line = lines.find(|line| line.starts_with("ERROR") || line.starts_with("devgate:"));
        Ok(line.unwrap_or(&said.out).to_owned())
    }

    /// The failure that one check of `devgatectl conform` finds.
    pub(super) fn conform(&self, check: &str) -> anyhow::Result<String> {
        let node = ["--policy", "policy.yaml", "--node-root", "node.umockdev", "--components", "."];
        let said = self.run(&[&["conform", "--only", check], &node[..]].concat())?;
        let failure = said.out.lines().skip_while(|line| !line.starts_with("FAILED"));
        Ok(failure.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n"))
    }

    /// What `devgatectl push` says, to a registry that lets nobody in without a password.
    pub(super) fn push(&self) -> anyhow::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let registry = format!("{}/vendor/racks:1", listener.local_addr()?);
        // Until the test's process ends.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let _asked = stream.read(&mut [0; 4_096]);
                let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                let _sent = stream.write_all(refusal.as_bytes());
            }
        });
        self.write("config.json", "{}")?;
        self.says(&["push", "vendor.wasm", &registry, "--registry-http", "--registry-config", "config.json"])
    }
}
