//! A claim with one device, over a driver's socket of the real program with an agent that answers at once, beside what the disk takes for
//! one record and one file and what that agent takes; and what drivers take of a host's memory.

use crate::held::{Record, Syncs};
use crate::load::SETTLED;
use crate::socket;
use crate::table::{Table, median_and_p99};
use anyhow::{Context, ensure};
use devgate_kubelet::api::dra::dra_plugin_client::DraPluginClient;
use devgate_kubelet::api::dra::{Claim, NodePrepareResourcesRequest, NodeUnprepareResourcesRequest};
use devgate_tests::process::resident;
use devgate_tests::{Host, Kind, Setup, generic_policy};
use serde_json::{Value, json};
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tonic::transport::Channel;

type Client = DraPluginClient<Channel>;

/// Claims for one figure.
const MEASURED: u32 = 200;
/// Claims whose syncs are counted.
const COUNTED: u32 = 10;
/// What a claim may take beyond the disk's part and the agent's answer, in µs.
const BESIDE_DISK: f64 = 1_000.0;
/// The size of a file of one device.
const FILE: [u8; 480] = [b' '; 480];

/// Measures.
pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let kind = Kind { class: 0, count: MEASURED + COUNTED + 1 };
    let (host, cdi) = started(&[kind], true).await?;
    let mut client = client(&host).await?;
    let record = Record::new(host.dir())?;
    let mut asked = Asked::start(host.dir())?;
    let (mut disk, mut agent, mut first) = (Vec::new(), Vec::new(), Vec::new());
    let (mut again, mut end) = (Vec::new(), Vec::new());
    for number in 0..MEASURED {
        let claim = claim(number);
        disk.push(record.time()? + file(cdi.path())?);
        agent.push(asked.time()?);
        first.push(prepare(&mut client, &claim).await?);
        again.push(prepare(&mut client, &claim).await?);
    }
    let counted = MEASURED..MEASURED + COUNTED;
    if let Some(syncs) = Syncs::of(host.pid()?)? {
        for number in counted {
            prepare(&mut client, &claim(number)).await?;
        }
        let each = f64::from(u32::try_from(syncs.end()?)?) / f64::from(COUNTED);
        table.budget("syncs of a claim with one device (strace)", each, "", 1.0);
    }
    for number in 0..MEASURED {
        let request = NodeUnprepareResourcesRequest { claims: vec![claim(number)] };
        let begun = Instant::now();
        client.node_unprepare_resources(request).await?;
        end.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    let ((disk, _), (first, late)) = (median_and_p99(&mut disk), median_and_p99(&mut first));
    let (agent, _) = median_and_p99(&mut agent);
    table.figure("a record and a file on the disk, median", disk, "µs");
    table.figure("the agent's answer, median", agent, "µs");
    table.budget("a claim with one device, median", first, "µs", disk + agent + BESIDE_DISK);
    table.figure("a claim with one device, p99", late, "µs");
    table.figure("the same claim again, median", median_and_p99(&mut again).0, "µs");
    table.figure("the end of a claim, median", median_and_p99(&mut end).0, "µs");
    drop(host);
    memory(table).await
}

/// Of a host with eight drivers, beside the same without.
async fn memory(table: &mut Table) -> anyhow::Result<()> {
    let kinds: Vec<_> = (0..8).map(|class| Kind { class, count: 8 }).collect();
    let (with, _cdi) = started(&kinds, true).await?;
    let (without, _cdi2) = started(&kinds, false).await?;
    client(&with).await?;
    tokio::time::sleep(SETTLED).await;
    let (with, without) = (resident(with.pid()?)?.0, resident(without.pid()?)?.0);
    table.budget("eight drivers, resident memory", with - without, "MiB", 2.0);
    Ok(())
}

/// A host, and the directory of its CDI files.
async fn started(kinds: &[Kind], has_drivers: bool) -> anyhow::Result<(Host, TempDir)> {
    // Memory, as on a node.
    let cdi = tempfile::Builder::new().prefix("dg-").tempdir_in("/dev/shm")?;
    let mut policy = generic_policy(kinds);
    for Kind { class, .. } in kinds.iter().filter(|_| has_drivers) {
        let config = format!(", subsystem: bench{class}}}\n");
        policy = policy.replace(&config, &format!("{config}    dra: {{driver: bench{class}.example.com}}\n"));
    }
    let dir = cdi.path().display().to_string();
    let host = Setup::new(&policy).of(kinds).args(&["--cdi-dir", &dir]).start().await?;
    if has_drivers {
        std::fs::create_dir_all(registry(&host))?;
        tokio::spawn(agent(host.dir().join("agent.sock")));
    }
    Ok((host, cdi))
}

fn registry(host: &Host) -> PathBuf {
    host.dir().join("registry")
}

/// A connection to the first driver's socket, which gives the last device.
async fn client(host: &Host) -> anyhow::Result<Client> {
    let path = registry(host).join(".bench0.example.com.sock");
    let begun = Instant::now();
    loop {
        let ready = async {
            let mut client = DraPluginClient::new(socket::channel(&path).await?);
            prepare(&mut client, &claim(0)).await?;
            client.node_unprepare_resources(NodeUnprepareResourcesRequest { claims: vec![claim(0)] }).await?;
            anyhow::Ok(client)
        };
        match ready.await {
            Ok(client) => return Ok(client),
            Err(error) if begun.elapsed() > Duration::from_secs(60) => return Err(error.context("a driver")),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// The claim that has a device, and its name.
fn claim(number: u32) -> Claim {
    Claim { namespace: "default".to_owned(), uid: format!("uid-{number}"), name: format!("bench0-{number}") }
}

/// In µs.
async fn prepare(client: &mut Client, claim: &Claim) -> anyhow::Result<f64> {
    let request = NodePrepareResourcesRequest { claims: vec![claim.clone()] };
    let begun = Instant::now();
    let answer = client.node_prepare_resources(request).await?;
    let took = begun.elapsed().as_secs_f64() * 1e6;
    let answer = answer.into_inner().claims.remove(&claim.uid).context("no answer to the claim")?;
    ensure!(answer.error.is_empty() && answer.devices.len() == 1, "{}", answer.error);
    Ok(took)
}

/// A file as long as one of a claim's, in place as that is; in µs.
fn file(dir: &Path) -> anyhow::Result<f64> {
    let (new, path) = (dir.join(".new"), dir.join("floor"));
    let begun = Instant::now();
    std::fs::write(&new, FILE)?;
    std::fs::rename(new, path)?;
    Ok(begun.elapsed().as_secs_f64() * 1e6)
}

/// Another agent, in a thread of its own, that is asked as a host asks.
struct Asked(std::io::BufReader<std::os::unix::net::UnixStream>);

impl Asked {
    fn start(dir: &Path) -> anyhow::Result<Self> {
        let socket = dir.join("asked.sock");
        let listener = std::os::unix::net::UnixListener::bind(&socket)?;
        let stream = std::os::unix::net::UnixStream::connect(socket)?;
        let (other, _) = listener.accept()?;
        other.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || runtime.block_on(async { answer(UnixStream::from_std(other)?).await }));
        Ok(Self(std::io::BufReader::new(stream)))
    }

    /// From a question to its answer, in µs.
    fn time(&mut self) -> anyhow::Result<f64> {
        let (asked, mut line) = (json!({"claim": {"ask": 1, "name": "bench0-0"}}), String::new());
        let begun = Instant::now();
        self.0.get_mut().write_all(format!("{asked}\n").as_bytes())?;
        ensure!(self.0.read_line(&mut line)? > 0, "the agent answers nothing");
        Ok(begun.elapsed().as_secs_f64() * 1e6)
    }
}

/// Answers at once: each claim has the device of its name.
async fn agent(socket: PathBuf) -> anyhow::Result<()> {
    let listener = UnixListener::bind(socket)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(answer(stream));
    }
}

async fn answer(stream: UnixStream) -> anyhow::Result<()> {
    let (from, mut to) = stream.into_split();
    let mut lines = BufReader::new(from).lines();
    while let Some(line) = lines.next_line().await? {
        let said: Value = serde_json::from_str(&line)?;
        let Some(asked) = said.get("claim") else { continue };
        let device = json!({"request": "one", "pool": "node-1", "device": asked.get("name")});
        let claim = json!({"allocated": {"devices": [device]}});
        let answer = json!({"claim": {"ask": asked.get("ask"), "claim": claim}});
        to.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}
