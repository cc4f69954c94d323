//! The hardware: loop devices, which any kernel makes and takes away while it runs.

use crate::process;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = include_str!("disks.py");

/// How many there are.
pub(crate) const COUNT: usize = 6;

/// The disks of this cluster, of the numbers that the kernel gave. Nothing is behind them: they can be opened, and are empty.
#[derive(Debug, Clone)]
pub(crate) struct Disks {
    dir: PathBuf,
    names: Vec<String>,
}

impl Disks {
    /// Makes them.
    ///
    /// # Errors
    /// When the kernel does not.
    pub(crate) fn make(dir: &Path) -> Result<Self> {
        std::fs::write(dir.join("disks.py"), SCRIPT)?;
        let numbers = run(dir, &["make", &COUNT.to_string()]);
        let numbers = numbers.context("make loop devices")?;
        let names: Vec<_> = numbers.lines().map(|number| format!("loop{number}")).collect();
        if names.len() != COUNT {
            bail!("asked for {COUNT} loop devices, and got {}", names.len());
        }
        Ok(Self { dir: dir.to_owned(), names })
    }

    /// Those of a cluster that was left up.
    ///
    /// # Errors
    /// When it has none.
    pub(crate) fn of(dir: &Path) -> Result<Self> {
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(dir.join("disks"))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            numbers.push(name.parse::<u32>()?);
        }
        numbers.sort_unstable();
        let names = numbers.iter().map(|number| format!("loop{number}")).collect();
        Ok(Self { dir: dir.to_owned(), names })
    }

    /// Their names, which are devgate's ids of them, too.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Takes one away, as if it were pulled out.
    pub(crate) fn pull(&self, name: &str) -> Result<()> {
        run(&self.dir, &["remove", name.trim_start_matches("loop")]).map(drop)
    }

    /// Brings it back.
    pub(crate) fn plug(&self, name: &str) -> Result<()> {
        if Path::new("/dev").join(name).exists() {
            return Ok(());
        }
        run(&self.dir, &["add", name.trim_start_matches("loop")]).map(drop)
    }
}

fn run(dir: &Path, words: &[&str]) -> Result<String> {
    let (verb, rest) = words.split_first().context("a verb")?;
    process::read(Command::new("python3").arg(dir.join("disks.py")).arg(verb).arg(dir).args(rest))
}
