//! What the kernel says about a process.

use anyhow::Context;
use std::collections::BTreeMap;

/// Resident memory in MiB, of which that much is the process' own (not of files that others could share).
///
/// # Errors
/// When there is no such process.
pub fn resident(pid: u32) -> anyhow::Result<(f64, f64)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let field = |name: &str| -> anyhow::Result<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).with_context(|| name.to_owned())?;
        let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024.0)
    };
    Ok((field("VmRSS:")?, field("RssAnon:")?))
}

/// The processes that a process has started, and that run.
///
/// # Errors
/// When there is no such process.
pub fn children(pid: u32) -> anyhow::Result<Vec<u32>> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))?.flatten();
    let all = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let all = all.collect::<Vec<_>>().join(" ");
    Ok(all.split_whitespace().filter_map(|child| child.parse().ok()).collect())
}

/// What a process has in memory in MiB, where what it shares counts in shares. To be asked as root.
///
/// # Errors
/// When there is no such process.
pub fn proportional(pid: u32) -> anyhow::Result<f64> {
    let all = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = all.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib: f64 = line.context("Pss")?.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}

/// Processor time so far, in seconds.
///
/// # Errors
/// When there is no such process.
pub fn processor_time(pid: u32) -> anyhow::Result<f64> {
    let mut total = 0.0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // One that ends meanwhile is none.
        let Ok(text) = std::fs::read_to_string(task?.path().join("schedstat")) else {
            continue;
        };
        total += text.split(' ').next().context("schedstat")?.parse::<f64>()? / 1e9;
    }
    Ok(total)
}

/// Open descriptors by what they are, such as `socket` or `anon_inode:inotify`; files all count as `file`.
///
/// # Errors
/// When there is no such process.
pub fn descriptors(pid: u32) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut kinds = BTreeMap::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd"))? {
        // One that is closed meanwhile is none.
        let Ok(target) = std::fs::read_link(entry?.path()) else {
            continue;
        };
        let target = target.to_string_lossy();
        let kind = match target.split_once(":[") {
            Some((kind, _)) => kind.to_owned(),
            None if target.starts_with("anon_inode:") => target.replace(['[', ']'], ""),
            None => "file".to_owned(),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    Ok(kinds)
}

/// How many threads there are.
///
/// # Errors
/// When there is no such process.
pub fn threads(pid: u32) -> anyhow::Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{pid}/task"))?.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_and_threads_are_counted() {
        let me = std::process::id();
        let sockets = || descriptors(me).unwrap().get("socket").copied().unwrap_or(0);
        let before = sockets();
        let pairs: Vec<_> = (0..50).map(|_| std::os::unix::net::UnixStream::pair().unwrap()).collect();
        assert!(sockets() >= before + 50);
        drop(pairs);
        assert!(threads(me).unwrap() >= 1);
    }
}
