//! A host that is watched: `devgate status`, the port, the page's rules, and the audit log.

mod audit;

use crate::look::{Said, look};
use anyhow::Context;
use devgate_fake_kubelet::{Pod, StandIn, StandInConfig};
use devgate_tests::{Host, Kind, Setup, devgate, generic_policy, recording};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

pub(crate) const KIND: Kind = Kind { class: 0, count: 2 };
pub(crate) const RESOURCE: &str = "devgate.dev/bench0";

fn setup() -> Setup {
    Setup::new(&generic_policy(&[KIND])).on(&recording(&[KIND])).args(&["--listen", "127.0.0.1:0"])
}

async fn started() -> anyhow::Result<Host> {
    let host = setup().start().await?;
    host.allocatable(RESOURCE, 2).await?;
    ready(&host, port(&host).await?).await?;
    Ok(host)
}

fn socket(host: &Host) -> PathBuf {
    host.dir().join("status.sock")
}

pub(crate) fn status(host: &Host, more: &[&str]) -> anyhow::Result<Said> {
    let socket = socket(host);
    let socket = socket.to_str().context("a path")?;
    look(["status", "--status-socket", socket].iter().chain(more))
}

/// The port that the host says that it listens on.
pub(crate) async fn port(host: &Host) -> anyhow::Result<u16> {
    let line = host.logged(|line| line.message.starts_with("listening on http://127.0.0.1:")).await?;
    let rest = line.message.trim_start_matches("listening on http://127.0.0.1:");
    Ok(rest.split(':').next().context("a port")?.parse()?)
}

/// Waits until it is ready: the kubelet has the devices before the host has the kubelet's answer.
pub(crate) async fn ready(host: &Host, port: u16) -> anyhow::Result<()> {
    let mut last = String::new();
    for _ in 0..600 {
        last = ask_port(port, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n").await?;
        if last.starts_with("HTTP/1.1 200 ") {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    anyhow::bail!("not ready: {last}\n{:?}", host.lines())
}

pub(crate) async fn ask_port(port: u16, request: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// What a request is answered, head and all.
async fn ask(host: &Host, request: &str) -> anyhow::Result<String> {
    ask_port(port(host).await?, request).await
}

pub(crate) async fn get(host: &Host, path: &str) -> anyhow::Result<String> {
    ask(host, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_serves_is_well_and_says_who_has_what() -> anyhow::Result<()> {
    let host = started().await?;
    host.kubelet.admit(&Pod::new("a", &[(RESOURCE, 1)])).await?;
    let said = status(&host, &[])?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.out);
    for word in [
        "bench0  serving",
        "2 devices, 0 unhealthy, 1 handed out; registered",
        "allocate",
        "\nall is well: 1 plugin, 2 devices, 1 resource\n",
    ] {
        assert!(said.out.contains(word), "{word}: {}", said.out);
    }
    let said = status(&host, &["--output", "json"])?;
    let json: serde_json::Value = serde_json::from_str(&said.out)?;
    assert_eq!(json["plugins"][0]["state"], "serving");
    assert_eq!(json["plugins"][0]["allocations"]["given"], 1);
    assert_eq!(json["kubelet"][0]["phase"], "registered");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_fails_makes_status_say_so_and_metrics_too() -> anyhow::Result<()> {
    let host = setup().with("generic.wasm", "no component").start().await?;
    host.logged(|line| line.level == "ERROR").await?;
    let said = status(&host, &[])?;
    assert_eq!(said.code, Some(5), "{}", said.out);
    assert!(
        said.out.contains("bench0  quarantined") && said.out.contains("is not a WebAssembly component"),
        "{}",
        said.out
    );
    let metrics = get(&host, "/metrics").await?;
    assert!(metrics.contains("devgate_plugin_state{plugin=\"bench0\",state=\"quarantined\"} 1"), "{metrics}");
    // Known to fail: whoever rolls out the others does not wait for it.
    assert!(get(&host, "/readyz").await?.starts_with("HTTP/1.1 200 "));
    Ok(())
}

#[test]
fn where_nothing_runs_status_says_what_to_do() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("status.sock");
    let ask = || look(["status", "--status-socket", path.to_str().context("a path")?]);
    let said = ask()?;
    assert_eq!((said.code, said.out.as_str()), (Some(4), ""));
    assert!(said.err.contains("status.sock: is not there: no devgate runs here"), "{}", said.err);
    drop(std::os::unix::net::UnixListener::bind(&path)?);
    let said = ask()?;
    assert_eq!(said.code, Some(4));
    assert!(said.err.contains("does not answer: the devgate that made it has ended"), "{}", said.err);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_is_its_owners_and_another_user_is_refused_even_where_the_file_lets_him_in() -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        // To be somebody else for a moment takes root. CI has it, and must not pass without this test.
        anyhow::ensure!(std::env::var_os("CI").is_none(), "this test needs root");
        println!("SKIPPED: a refused peer needs root");
        return Ok(());
    }
    let mut host = started().await?;
    let (socket, dir) = (socket(&host), host.dir().to_owned());
    assert_eq!(std::fs::metadata(&socket)?.permissions().mode() & 0o777, 0o600);
    let nobody = || -> anyhow::Result<(Option<i32>, String)> {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
        // A copy where that user may reach it.
        command.arg(dir.join("devgate-copy")).args(["status", "--status-socket"]).arg(&socket);
        let output = command.output().context("setpriv (util-linux) is needed")?;
        Ok((output.status.code(), String::from_utf8(output.stderr)? + &String::from_utf8(output.stdout)?))
    };
    std::fs::copy(devgate()?, dir.join("devgate-copy"))?;
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755))?;
    let (code, said) = nobody()?;
    assert_eq!(code, Some(4));
    assert!(said.contains("may not be opened: be root"), "{said}");
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o666))?;
    let (code, said) = nobody()?;
    assert_eq!(code, Some(4));
    assert!(said.contains("only root and the user that devgate runs as may ask (403 Forbidden)"), "{said}");
    assert!(!said.contains("bench0"), "{said}");
    assert_eq!(status(&host, &[])?.code, Some(0), "root still may");
    host.end(Signal::TERM).await?;
    assert!(!socket.exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_port_has_probes_numbers_and_the_page_and_never_who_has_what() -> anyhow::Result<()> {
    let host = started().await?;
    host.kubelet.admit(&Pod::new("secret-pod", &[(RESOURCE, 1)])).await?;
    assert!(get(&host, "/healthz").await?.starts_with("HTTP/1.1 200 "));
    let ready = get(&host, "/readyz").await?;
    assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");
    let page = get(&host, "/").await?;
    assert!(
        page.contains("default-src 'none'; script-src 'sha256-") && page.contains("<title>devgate</title>"),
        "{page}"
    );
    let json = get(&host, "/status").await?;
    assert!(json.contains("\"holders_known\":false") && json.contains("\"state\":\"serving\""), "{json}");
    for path in ["/metrics", "/status", "/", "/readyz"] {
        assert!(!get(&host, path).await?.contains("secret-pod"), "{path}");
    }
    // A name of somebody else's that means this machine, as a hostile page's would.
    let rebound = ask(&host, "GET /status HTTP/1.1\r\nHost: evil.example\r\n\r\n").await?;
    assert!(rebound.starts_with("HTTP/1.1 403 "), "{rebound}");
    // Nothing is changed from here, and a reload is not asked for.
    for path in ["/status", "/reload", "/reload?force"] {
        let request = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
        let other = ask(&host, &request).await?;
        assert!(other.starts_with("HTTP/1.1 405 "), "{path}: {other}");
    }
    assert!(get(&host, "/../etc/passwd").await?.starts_with("HTTP/1.1 404 "));
    Ok(())
}

/// Over a forwarded port (`ssh -L`) the local socket is as near to a browser as a port is.
#[tokio::test(flavor = "multi_thread")]
async fn the_local_socket_answers_no_page_of_somebody_elses() -> anyhow::Result<()> {
    let host = started().await?;
    let ask = async |request: &str| -> anyhow::Result<String> {
        let mut stream = UnixStream::connect(socket(&host)).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    };
    let reload = "POST /reload HTTP/1.1\r\nContent-Length: 0\r\n";
    let leases = "POST /cdi/leases HTTP/1.1\r\nContent-Length: 4\r\n";
    for (request, code) in [
        ("GET /status HTTP/1.1\r\nHost: evil.example:9464\r\n\r\n".to_owned(), 403),
        ("GET /status HTTP/1.1\r\n\r\n".to_owned(), 403),
        ("GET /status HTTP/1.1\r\nHost: localhost:9464\r\n\r\n".to_owned(), 200),
        (format!("{reload}Host: evil.example\r\n\r\n"), 403),
        (format!("{reload}Host: localhost:9464\r\nOrigin: https://evil.example\r\n\r\n"), 403),
        (format!("{reload}Host: localhost\r\n\r\n"), 200),
        (format!("{leases}Host: evil.example\r\n\r\nnull"), 403),
        (format!("{leases}Host: localhost\r\nOrigin: https://evil.example\r\n\r\nnull"), 403),
        (format!("{leases}Host: localhost\r\n\r\nnull"), 200),
        (format!("{reload}Host: localhost\r\n\r\n").replace("/reload", "/cdi/other"), 404),
        (format!("{reload}Host: localhost\r\n\r\n").replace("/reload", "/other"), 405),
        (format!("{reload}Host: localhost\r\n\r\n").replace("/reload", "/cdi/lease"), 400),
    ] {
        let answer = ask(&request).await?;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{request}{answer}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_others_reach_has_no_page_and_no_status() -> anyhow::Result<()> {
    let setup = Setup::new(&generic_policy(&[KIND])).on(&recording(&[KIND])).args(&["--listen", "0.0.0.0:0"]);
    let host = setup.start().await?;
    host.allocatable(RESOURCE, 2).await?;
    let line = host.logged(|line| line.message.starts_with("listening on http://0.0.0.0:")).await?;
    let port: u16 = line.message.split(':').nth(2).context("a port")?.parse()?;
    ready(&host, port).await?;
    for (path, code) in [("/", 404), ("/status", 404), ("/healthz", 200), ("/readyz", 200), ("/metrics", 200)] {
        let answer = ask_port(port, &format!("GET {path} HTTP/1.1\r\nHost: node-7:9464\r\n\r\n")).await?;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{path}: {answer}");
    }
    Ok(())
}

/// It holds, and nothing else.
fn only(host: &Host, condition: &str) -> anyhow::Result<()> {
    let said = status(host, &["--output", "json"])?;
    let json: serde_json::Value = serde_json::from_str(&said.out)?;
    let found: Vec<_> = json["conditions"].as_array().into_iter().flatten().collect();
    anyhow::ensure!(
        said.code == Some(5) && found.len() == 1 && found[0]["condition"] == condition,
        "{condition}: {said:?}"
    );
    Ok(())
}

/// Ready means that the first look is done, also where there is nothing to offer: at the start, and after a change of the policy.
/// That nothing is offered is no reason to hold up a rollout, and somebody should look at it.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_nothing_to_list_is_ready_and_says_so() -> anyhow::Result<()> {
    let policy = generic_policy(&[KIND]);
    let changed = |from: &str, to: &str| {
        let other = policy.replace(from, to);
        assert_ne!(other, policy, "{from}");
        other
    };
    let resources = policy.lines().find(|line| line.contains("resources:")).context("a line")?;
    let cases = [
        ("only looked at", "all-rejected", changed("use: offer, nodes: [{access: rw}]", "use: read")),
        ("left out", "nothing-listed", changed(resources, &format!("{resources}\n    only: [{{id: nothing}}]"))),
        ("refused by the gate", "all-rejected", changed(resources, "    resources: [devgate.dev/other]")),
    ];
    for (what, condition, nothing) in &cases {
        let host = Setup::new(nothing).on(&recording(&[KIND])).args(&["--listen", "127.0.0.1:0"]).start().await?;
        ready(&host, port(&host).await?).await.context(*what)?;
        only(&host, condition)?;
    }
    let host = started().await?;
    for (what, condition, nothing) in &cases {
        std::fs::write(host.dir().join("policy.yaml"), nothing)?;
        let forced = look(["reload", "--force", "--status-socket", socket(&host).to_str().context("a path")?])?;
        assert_eq!(forced.code, Some(0), "{what}: {forced:?}");
        ready(&host, port(&host).await?).await.context(*what)?;
        only(&host, condition)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_kubelet_a_host_lives_and_is_not_ready() -> anyhow::Result<()> {
    let dir = tempfile::Builder::new().prefix("dg-").tempdir()?;
    let kubelet = StandIn::new(StandInConfig::new(dir.path().join("plugins"))).await?;
    kubelet.stop().await;
    let host = setup().start_in(dir, kubelet)?;
    host.logged(|line| line.message.contains("there is no kubelet.sock")).await?;
    let answer = get(&host, "/readyz").await?;
    assert!(
        answer.starts_with("HTTP/1.1 503 ") && answer.contains("resource devgate.dev/bench0: there is no kubelet"),
        "{answer}"
    );
    assert!(get(&host, "/healthz").await?.starts_with("HTTP/1.1 200 "));
    // What it says last and what it ends with agree.
    let last = "\nNOT well: 1 of 1 resource waiting for the kubelet\nnext: devgate help kubelet-away\n";
    let said = status(&host, &[])?;
    assert_eq!((said.code, said.out.ends_with(last)), (Some(5), true), "{}", said.out);
    host.kubelet.start().await?;
    host.allocatable(RESOURCE, 2).await?;
    ready(&host, port(&host).await?).await
}
