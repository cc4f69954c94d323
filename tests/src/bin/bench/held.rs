//! The first and every later `Allocate` of an id, over the socket of the real program, beside any number of devices that are held; and
//! what the disk takes for the one record that a first one waits for.

use crate::socket::{connect, sockets, time};
use crate::table::{Table, median_and_p99};
use anyhow::{Context, ensure};
use devgate_kubelet::api::device_plugin_client::DevicePluginClient;
use devgate_tests::{Host, Kind, Setup, generic_policy};
use rustix::process::{Pid, Signal};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Instant;
use tonic::transport::Channel;

/// Devices of each of the plugins.
const EACH: u32 = 7_800;
const PLUGINS: u32 = 4;
/// How many are held while others are measured.
const HELD: [usize; 3] = [0, 1_000, 30_000];
/// Ids for one figure.
const MEASURED: usize = 200;
/// Ids whose syncs are counted.
const COUNTED: usize = 10;
/// Ids of one call that are only to be held.
const TOGETHER: usize = 100;
/// What a first allocation may take beyond the disk's part, in µs.
const BESIDE_DISK: f64 = 500.0;
/// The size of a record of one id.
const RECORD: usize = 392;

type Client = DevicePluginClient<Channel>;

/// Measures.
pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let kinds: Vec<_> = (0..PLUGINS).map(|class| Kind { class, count: EACH }).collect();
    let host = Setup::new(&generic_policy(&kinds)).of(&kinds).start().await?;
    let mut plugins = Vec::new();
    for kind in &kinds {
        host.allocatable(&kind.resource(), usize::try_from(EACH)?).await?;
        let ids: Vec<_> = host.kubelet.devices(&kind.resource()).into_keys().collect();
        plugins.push((client(&host, &kind.resource()).await?, ids));
    }
    let mut held = 0;
    for count in HELD {
        while held < count {
            for (client, free) in &mut plugins {
                let ids = free.split_off(free.len().saturating_sub(TOGETHER.min(count - held)));
                held += ids.len();
                ensure!(!ids.is_empty(), "more than there is");
                time(client, &ids).await?;
            }
        }
        let Some((client, free)) = plugins.iter_mut().max_by_key(|(_, free)| free.len()) else {
            continue;
        };
        let ids = free.split_off(free.len().saturating_sub(MEASURED));
        held += ids.len();
        let (mut disk, mut first, mut known) = (Vec::new(), Vec::new(), Vec::new());
        let record = Record::new(host.dir())?;
        for id in &ids {
            let id = std::slice::from_ref(id);
            disk.push(record.time()?);
            first.push(time(client, id).await?);
            known.push(time(client, id).await?);
        }
        let of = |what: &str| format!("{what}, {count} held");
        let ((disk, _), (first, late), (known, _)) =
            (median_and_p99(&mut disk), median_and_p99(&mut first), median_and_p99(&mut known));
        table.figure(&of("a record on the disk, median"), disk, "µs");
        table.budget(&of("first Allocate of an id, median"), first, "µs", disk + BESIDE_DISK);
        table.figure(&of("first Allocate of an id, p99"), late, "µs");
        table.figure(&of("Allocate of a known id, median"), known, "µs");
        let ids = free.split_off(free.len().saturating_sub(COUNTED));
        held += ids.len();
        if let Some(syncs) = Syncs::of(host.pid()?)? {
            for id in &ids {
                time(client, std::slice::from_ref(id)).await?;
            }
            let each = f64::from(u32::try_from(syncs.end()?)?) / f64::from(u32::try_from(ids.len())?);
            table.budget(&of("syncs of a first Allocate (strace)"), each, "", 1.0);
        }
    }
    Ok(())
}

async fn client(host: &Host, resource: &str) -> anyhow::Result<Client> {
    let name = resource.replace('/', "_");
    for socket in sockets(host.dir())? {
        if socket.to_string_lossy().contains(&name) {
            return connect(&socket).await;
        }
    }
    anyhow::bail!("{resource} has no socket")
}

/// The calls of a process by which a disk is waited for, as strace sees them.
pub(crate) struct Syncs {
    strace: Child,
    told: BufReader<ChildStderr>,
}

impl Syncs {
    const CALLS: &str = "trace=sync,syncfs,fsync,fdatasync,sync_file_range,msync";

    /// Begins to count; nothing where there is no strace here.
    pub(crate) fn of(pid: u32) -> anyhow::Result<Option<Self>> {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-e", Self::CALLS, "-p", &pid.to_string()]);
        let mut strace = match strace.stderr(Stdio::piped()).spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            strace => strace?,
        };
        let mut told = BufReader::new(strace.stderr.take().context("what strace tells")?);
        let mut line = String::new();
        told.read_line(&mut line)?;
        ensure!(line.contains("attached"), "strace: {}", line.trim());
        Ok(Some(Self { strace, told }))
    }

    /// How many there were.
    pub(crate) fn end(mut self) -> anyhow::Result<usize> {
        let pid = i32::try_from(self.strace.id())?;
        rustix::process::kill_process(Pid::from_raw(pid).context("strace's id")?, Signal::INT)?;
        let mut told = String::new();
        self.told.read_to_string(&mut told)?;
        self.strace.wait()?;
        let is_call = |line: &&str| line.contains("sync(") || line.contains("fs(") || line.contains("range(");
        Ok(told.lines().filter(is_call).count())
    }
}

/// A file as long as the journal's, which is written anew at the same place.
pub(crate) struct Record(File);

impl Record {
    pub(crate) fn new(dir: &Path) -> anyhow::Result<Self> {
        let file = File::create(dir.join("record"))?;
        file.write_all_at(&[0; 1 << 20], 0)?;
        file.sync_all()?;
        Ok(Self(file))
    }

    /// One record and one `fdatasync`, in µs.
    pub(crate) fn time(&self) -> anyhow::Result<f64> {
        let begun = Instant::now();
        self.0.write_all_at(&[1; RECORD], 0)?;
        self.0.sync_data()?;
        Ok(begun.elapsed().as_secs_f64() * 1e6)
    }
}
