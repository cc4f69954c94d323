//! A control group with a limit of memory, as a container or a service has one.

use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// A group below the one of this process; it is gone when this is dropped and its processes have ended.
#[derive(Debug)]
pub struct MemoryGroup {
    dir: PathBuf,
    is_second_version: bool,
}

impl MemoryGroup {
    /// A group that may have so many bytes; where the kernel has version 2, all of its processes are ended together, as a kubelet has it.
    ///
    /// # Errors
    /// When this process may not make one, as it needs root and a hierarchy with the memory controller.
    pub fn new(limit: u64) -> anyhow::Result<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        let name = format!("devgate-{}-{}", std::process::id(), fastrand::u32(..));
        let first = groups.lines().find_map(|line| line.split_once(":memory:"));
        let group = match first {
            Some((_, own)) => Self {
                dir: Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/')).join(name),
                is_second_version: false,
            },
            // Only the root may have processes and groups at the same time.
            None => Self { dir: Path::new("/sys/fs/cgroup").join(name), is_second_version: true },
        };
        fs::create_dir(&group.dir).with_context(|| group.dir.display().to_string())?;
        if group.is_second_version {
            group.write("memory.max", &limit.to_string())?;
            group.write("memory.oom.group", "1")?;
        } else {
            group.write("memory.limit_in_bytes", &limit.to_string())?;
        }
        Ok(group)
    }

    fn write(&self, file: &str, text: &str) -> anyhow::Result<()> {
        let file = self.dir.join(file);
        fs::write(&file, text).with_context(|| file.display().to_string())
    }

    /// The file that a process joins by.
    #[must_use]
    pub fn procs(&self) -> PathBuf {
        self.dir.join("cgroup.procs")
    }

    /// How many processes the kernel has ended for want of memory.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn killed(&self) -> anyhow::Result<u64> {
        let file = if self.is_second_version { "memory.events" } else { "memory.oom_control" };
        let text = fs::read_to_string(self.dir.join(file))?;
        let Some(count) = text.lines().find_map(|line| line.strip_prefix("oom_kill ")) else {
            bail!("{file}: {text}");
        };
        Ok(count.parse()?)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Its last process may not be gone yet.
        for _ in 0..100 {
            if fs::remove_dir(&self.dir).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
