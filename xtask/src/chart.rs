//! The chart as one file, as Helm takes it.

use crate::dist::{self, Out};
use crate::workspace::{copy, files_in, is_hidden};
use crate::{manifests, process};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// How to pack it.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    out: Out,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let file = pack(&manifests::chart(), &options.out.folder()?, dist::epoch()?)?;
    dist::announce(&file)?;
    Ok(ExitCode::SUCCESS)
}

/// Packs it into a folder. `helm package` writes the time at which it runs into it; this is the same bytes for the same chart.
pub(crate) fn pack(chart: &Path, folder: &Path, epoch: u64) -> Result<PathBuf> {
    let work = tempfile::Builder::new().prefix("chart-").tempdir_in(folder);
    let work = work.with_context(|| format!("make a folder in {}", folder.display()))?;
    let staged = work.path().join("staged");
    // In an archive, a chart is a folder of its name.
    take(chart, &staged.join("devgate"))?;
    let name = format!("devgate-{}", dist::version()?);
    let archive = work.path().join(&name);
    dist::tar(&staged, &archive, epoch)?;
    process::run(Command::new("gzip").args(["--best", "--no-name", "--suffix=.tgz"]).arg(&archive))?;
    let file = folder.join(format!("{name}.tgz"));
    std::fs::rename(archive.with_file_name(format!("{name}.tgz")), &file)
        .with_context(|| format!("write {}", file.display()))?;
    Ok(file)
}

/// Copies everything but hidden files, which are an editor's or Helm's own.
pub(crate) fn take(from: &Path, to: &Path) -> Result<()> {
    for file in files_in(from)?.iter().filter(|file| !is_hidden(file)) {
        copy(&from.join(file), &to.join(file))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_chart_is_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let packed = |name: &str, chart: &Path, epoch| {
            let folder = dir.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let file = pack(chart, &folder, epoch).unwrap();
            let left: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
            assert_eq!(left.len(), 1, "only the chart is left: {left:?}");
            std::fs::read(file).unwrap()
        };
        let chart = manifests::chart();
        let first = packed("a", &chart, 1_700_000_000);
        let again = dir.path().join("again");
        take(&chart, &again).unwrap();
        std::fs::write(again.join(".swp"), "an editor's").unwrap();
        assert!(first == packed("b", &again, 1_700_000_000));
        std::fs::write(again.join("values.yaml"), "else").unwrap();
        assert!(first != packed("c", &again, 1_700_000_000));
    }
}
