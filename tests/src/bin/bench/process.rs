//! What the kernel says about a process.

use anyhow::Context;

/// Resident memory in MiB, of which that much is the process' own (not of files that others could share).
pub(crate) fn resident(pid: u32) -> anyhow::Result<(f64, f64)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let field = |name: &str| -> anyhow::Result<f64> {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .with_context(|| name.to_owned())?;
        let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024.0)
    };
    Ok((field("VmRSS:")?, field("RssAnon:")?))
}

/// Processor time so far, in seconds.
pub(crate) fn processor_time(pid: u32) -> anyhow::Result<f64> {
    let schedstat = |task: &std::path::Path| -> anyhow::Result<f64> {
        let text = std::fs::read_to_string(task.join("schedstat"))?;
        Ok(text.split(' ').next().context("schedstat")?.parse::<f64>()? / 1e9)
    };
    let mut total = 0.0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        total += schedstat(&task?.path())?;
    }
    Ok(total)
}
