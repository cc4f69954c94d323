//! Builds what scenarios have in Go, by the compiler that `cargo xtask cluster` puts in its path.

use crate::cluster::Cluster;
use crate::process;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

impl Cluster {
    /// Builds a folder of `tests/cluster` into a file of the scenario's own, with these variables and options besides.
    ///
    /// # Errors
    /// When Go is not installed, or what the compiler says.
    pub(crate) fn go_build(
        &self,
        folder: &str,
        file: &str,
        variables: &[(&str, &str)],
        options: &[&str],
    ) -> Result<PathBuf> {
        let built = std::path::absolute(self.given.dir.join("work"))?.join(file);
        let mut go = Command::new("go");
        go.args(["build", "-trimpath", "-buildvcs=false"]).args(options).arg("-o").arg(&built).arg(".");
        // Nothing is fetched: all that it is built of is in the repository, and Go's own.
        go.envs([("GOWORK", "off"), ("GOFLAGS", ""), ("GOPROXY", "off"), ("GOTOOLCHAIN", "local")]);
        go.envs(variables.iter().copied());
        go.current_dir(self.given.root.join(Path::new("tests/cluster")).join(folder));
        process::read(&mut go).with_context(|| format!("build {folder}; `cargo xtask cluster` brings Go"))?;
        Ok(built)
    }
}
