//! Leases where the host is killed or the disk is full.

use super::*;

/// Either there is nothing, or a lease that is recorded with its file; and never two with one device.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_at_any_moment_has_leased_all_of_it_or_nothing() -> anyhow::Result<()> {
    let mut machine = Machine::start(&["--no-kubelet"]).await?;
    let (mut whole, mut nothing) = (0, 0);
    for round in 0..24_u32 {
        // There are devices.
        machine.lease(&["--for", "ready"]).await?;
        machine.cdi(&["release", "ready"])?;
        let begun = Instant::now();
        machine.lease(&["--for", "timed"]).await?;
        let takes = begun.elapsed();
        machine.cdi(&["release", "timed"])?;
        let socket = machine.host.dir().join("status.sock");
        let mut asking = Command::new(devgate_tests::devgate()?);
        asking.args(["cdi", "lease", BENCH, "--count", "2", "--for", &format!("job{round}"), "--status-socket"]);
        let asked = asking.arg(&socket).stderr(Stdio::null()).stdout(Stdio::null()).spawn()?;
        tokio::time::sleep(takes.mul_f64(f64::from(round) / 12.0)).await;
        machine.host.end(Signal::KILL).await?;
        asked.wait_with_output()?;
        machine.host.spawn()?;
        let leases = until(|| machine.leases().or(Ok(serde_json::Value::Null)), serde_json::Value::is_array).await?;
        let leases = leases.as_array().map(Vec::as_slice).unwrap_or_default();
        anyhow::ensure!(leases.len() <= 1, "{leases:?}");
        let files = || -> anyhow::Result<usize> {
            let entries = fs::read_dir(&machine.cdi).into_iter().flatten().flatten();
            Ok(entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "json")).count())
        };
        until(files, |count| *count == leases.len()).await?;
        for lease in leases {
            let (name, ids) = (lease["name"].as_str().unwrap_or_default(), lease["ids"].as_array().map(Vec::len));
            anyhow::ensure!((name, ids) == (&*format!("job{round}"), Some(2)), "{lease}");
            machine.lease(&["--for", name, "--count", "2"]).await?;
            anyhow::ensure!(machine.cdi(&["release", name])?.out.contains("released"), "{lease}");
        }
        *(if leases.is_empty() { &mut nothing } else { &mut whole }) += 1;
    }
    println!("killed before it was recorded: {nothing}, after: {whole}");
    assert!(nothing > 0 && whole > 0, "nothing was tried: {nothing}, {whole}");
    let all = machine.lease(&["--for", "last", "--count", "3"]).await?;
    assert_eq!(all, "devgate.devgate.dev/bench0=last");
    Ok(())
}

/// A file system in memory, for as long as this lives.
struct Mounted(PathBuf);

impl Mounted {
    fn new(at: &Path) -> anyhow::Result<Option<Self>> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"]).arg(at).output();
        if mounted.is_ok_and(|said| said.status.success()) {
            return Ok(Some(Self(at.to_owned())));
        }
        println!("skipped: nothing can be mounted here");
        anyhow::ensure!(std::env::var_os("CI").is_none(), "nothing can be mounted here");
        Ok(None)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_full_disk_nothing_is_leased_and_what_is_leased_can_be_released() -> anyhow::Result<()> {
    let mut machine = Machine::start(&["--no-kubelet"]).await?;
    machine.host.end(Signal::TERM).await?;
    let state = machine.host.dir().join("state");
    fs::create_dir_all(&state)?;
    let Some(mounted) = Mounted::new(&state)? else {
        return Ok(());
    };
    machine.host.spawn()?;
    machine.lease(&["--for", "job1"]).await?;
    let full = state.join("full");
    let mut size = 1 << 20;
    let mut fill = fs::File::create(&full)?;
    while size > 0 {
        match std::io::Write::write_all(&mut fill, &vec![1; size]) {
            Ok(()) => {}
            Err(_) => size /= 2,
        }
    }
    let refused = machine.cdi(&["lease", BENCH, "--for", "job2"])?;
    assert!(matches!(refused.code, Some(1 | 5)) && refused.out.is_empty(), "{refused:?}");
    assert_eq!(machine.file("job2"), "");
    assert_eq!(machine.leases()?.as_array().map(Vec::len), Some(1));
    let released = machine.cdi(&["release", "job1"])?;
    assert_eq!((released.code, &*released.out), (Some(0), "lease job1: released\n"), "{released:?}");
    assert_eq!(machine.file("job1"), "");
    assert_eq!(machine.leases()?.as_array().map(Vec::len), Some(0));
    fs::remove_file(&full)?;
    drop(fill);
    machine.lease(&["--for", "job3", "--count", "3"]).await?;
    machine.host.end(Signal::TERM).await?;
    drop(mounted);
    Ok(())
}
