//! The CDI files that devgate writes, and what it says of others', held against the CNCF's own library: that of podman 4.3, and a newer
//! one. Both come as source from Debian, into a folder beside what is built.

use super::Outcome;
use super::stages::{host_cargo, unless_ci};
use crate::workspace::{WHOLE, cargo, root, target};
use crate::{languages, process, tools};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What asks the library.
const PROGRAM: &str = "tests/cdi-library";

/// A release of the library.
struct Library {
    /// The release of Debian that has it.
    suite: &'static str,
    /// Its source there; that of all that it is made of comes with it.
    package: &'static str,
    /// What is built only with it.
    tags: &'static str,
}

/// Oldest first: 0.5.2, and 0.8.0.
const LIBRARIES: [Library; 2] = [
    Library {
        suite: "bookworm",
        package: "golang-github-container-orchestrated-devices-container-device-interface-dev",
        tags: "v05",
    },
    Library { suite: "trixie", package: "golang-tags.cncf-container-device-interface-dev", tags: "" },
];

/// Where it is in its source; until 0.6 it had another name.
const NAME: &str = "src/tags.cncf.io/container-device-interface";
const NAME_BEFORE: &str = "github.com/container-orchestrated-devices/container-device-interface";

pub(super) fn check() -> Result<Outcome> {
    let (go, sources) = match parts() {
        Ok(parts) => parts,
        Err(error) => return unless_ci(error),
    };
    let mut programs = Vec::new();
    for (library, source) in LIBRARIES.iter().zip(sources) {
        programs.push(library.program(&go, &source)?);
    }
    // The end-to-end tests run the program itself.
    host_cargo(&["build", WHOLE, "--locked"])?;
    let mut tests = cargo();
    tests.args(["test", WHOLE, "--locked", "--lib", "--test", "e2e", "--", "cncf_library"]);
    process::run(tests.env("DEVGATE_CDI_LIBRARIES", std::env::join_paths(programs)?))?;
    Ok(Outcome::Passed)
}

/// What cannot be had everywhere: Go, and the source of each library.
fn parts() -> Result<(PathBuf, Vec<PathBuf>)> {
    let sources = LIBRARIES.iter().map(Library::source).collect::<Result<_>>()?;
    Ok((languages::go()?, sources))
}

impl Library {
    /// A folder for `GOPATH`, kept for the next time.
    fn source(&self) -> Result<PathBuf> {
        let folder = tools::folder()?.join(format!("cdi-library-{}", self.suite));
        if folder.is_dir() {
            return Ok(folder);
        }
        tools::needs("mmdebstrap", "install it (Debian: apt-get install mmdebstrap)")?;
        println!("Bringing {} of Debian {} …", self.package, self.suite);
        let work = tempfile::tempdir_in(target()?)?;
        // Of these packages all is laid out and nothing is run.
        let mut bring = Command::new("mmdebstrap");
        bring.args(["--quiet", "--variant=extract", &format!("--include={}", self.package)]);
        process::run(bring.arg(self.suite).arg(work.path().join("root")))?;
        let laid_out = work.path().join("root/usr/share/gocode");
        let name = laid_out.join(NAME);
        if !name.exists() {
            std::fs::create_dir_all(name.parent().unwrap_or(&name))?;
            std::os::unix::fs::symlink(Path::new("..").join(NAME_BEFORE), &name)?;
        }
        std::fs::rename(&laid_out, &folder).with_context(|| format!("move it to {}", folder.display()))?;
        Ok(folder)
    }

    /// What asks it.
    fn program(&self, go: &Path, source: &Path) -> Result<PathBuf> {
        let file = target()?.join(format!("cdi-library-{}", self.suite));
        let mut command = Command::new(go);
        // Nothing is fetched.
        command
            .current_dir(root().join(PROGRAM))
            .envs([("GO111MODULE", "off"), ("GOFLAGS", ""), ("GOPROXY", "off")])
            .envs([("GOTOOLCHAIN", "local"), ("GOTELEMETRY", "off"), ("CGO_ENABLED", "0")])
            .env("GOCACHE", tools::folder()?.join("go-cache"))
            .env("GOPATH", source);
        command.args(["build", "-buildvcs=false", "-tags", self.tags, "-o"]).arg(&file);
        process::run(command.arg("."))?;
        Ok(file)
    }
}
