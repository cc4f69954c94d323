//! Components from a real registry: Debian's, with TLS of an authority of its own and a password.

mod admin;
mod beside;
mod bundle;
mod contract;
mod index;
mod mirror;

mod signed;

use crate::look::status;
use anyhow::{Context, ensure};
use devgate_tests::{Kind, Port, Setup, generic_policy, recording};
use rustix::process::Signal;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const KINDS: [Kind; 1] = [Kind { class: 0, count: 2 }];
/// What these tests need; Debian's packages are docker-registry, openssl, apache2-utils, skopeo and curl.
const TOOLS: [&str; 5] = ["docker-registry", "openssl", "htpasswd", "skopeo", "curl"];

/// A registry on this machine, with one user.
pub(crate) struct Registry {
    dir: TempDir,
    port: u16,
    /// Its own, for as long as the test: it goes and comes back.
    _held: Port,
    server: Option<Child>,
}

fn run(program: &str, dir: &Path, args: &[&str]) -> anyhow::Result<Output> {
    let output = Command::new(program).current_dir(dir).args(args).output().context(program.to_owned())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {args:?}: {said}");
    Ok(output)
}

impl Registry {
    /// Starts one; nothing where the tools are not here, which fails where CI is set.
    pub(crate) fn start() -> anyhow::Result<Option<Self>> {
        let is_there = |tool: &&str| {
            Command::new("which").arg(tool).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        if let Some(tool) = TOOLS.iter().find(|tool| !is_there(tool)) {
            ensure!(std::env::var_os("CI").is_none(), "{tool} is not installed");
            println!("skipped: {tool} is not installed");
            return Ok(None);
        }
        let dir = tempfile::Builder::new().prefix("dg-registry-").tempdir()?;
        let at = dir.path();
        let new = ["req", "-newkey", "rsa:2048", "-nodes", "-x509", "-days", "2", "-subj", "/CN=Test authority"];
        run("openssl", at, &[&new[..], &["-keyout", "ca.key", "-out", "ca.pem"]].concat())?;
        let new = ["req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "server.key"];
        run("openssl", at, &[&new[..], &["-out", "server.csr"]].concat())?;
        std::fs::write(at.join("ext"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n")?;
        let sign = ["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
        run("openssl", at, &[&sign[..], &["-days", "2", "-extfile", "ext", "-out", "server.pem"]].concat())?;
        run("htpasswd", at, &["-Bbc", "htpasswd", "anna", "secret"])?;
        std::fs::write(at.join("good.json"), credentials(0, "YW5uYTpzZWNyZXQ="))?;
        let held = Port::find()?;
        let port = held.number;
        let root = at.display();
        let config = format!(
            "version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {root}/data}}, delete: {{enabled: true}}}}
http:
  addr: 127.0.0.1:{port}
  tls: {{certificate: {root}/server.pem, key: {root}/server.key}}
auth: {{htpasswd: {{realm: test, path: {root}/htpasswd}}}}
"
        );
        std::fs::write(at.join("config.yml"), config)?;
        std::fs::write(at.join("good.json"), credentials(port, "YW5uYTpzZWNyZXQ="))?;
        std::fs::write(at.join("bad.json"), credentials(port, "YW5uYTpzZWNyZWQ="))?;
        let mut registry = Self { dir, port, _held: held, server: None };
        registry.serve()?;
        Ok(Some(registry))
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        let log = std::fs::File::create(self.path("log"))?;
        let server = Command::new("docker-registry")
            .args(["serve", "config.yml"])
            .current_dir(self.dir.path())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        self.server = Some(server);
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            ensure!(Instant::now() < deadline, "{}", std::fs::read_to_string(self.path("log"))?);
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn reference(&self, name: &str) -> String {
        format!("localhost:{}/{name}", self.port)
    }

    /// Variables of who has logged in, and trusts its authority.
    pub(crate) fn as_logged_in(&self) -> anyhow::Result<[(&'static str, String); 2]> {
        let docker = self.path("docker");
        std::fs::create_dir_all(&docker)?;
        std::fs::copy(self.path("good.json"), docker.join("config.json"))?;
        Ok([
            ("DOCKER_CONFIG", docker.display().to_string()),
            ("SSL_CERT_FILE", self.path("ca.pem").display().to_string()),
        ])
    }

    /// Options with which the program gets in.
    fn options(&self, credentials: &str) -> Vec<String> {
        let path = |name: &str| self.path(name).display().to_string();
        ["--registry-ca".to_owned(), path("ca.pem"), "--registry-config".to_owned(), path(credentials)].to_vec()
    }

    /// Runs `devgate` with them, and with a cache of its own.
    fn devgate(&self, credentials: &str, args: &[&str]) -> anyhow::Result<(Option<i32>, String, String)> {
        let output = Command::new(devgate_tests::program(args)?)
            .args(args)
            .args(self.options(credentials))
            .args([Path::new("--cache-dir"), &self.path("cache")])
            .env_remove("DOCKER_CONFIG")
            .output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((output.status.code(), text(&output.stdout), text(&output.stderr)))
    }

    /// Pushes the component that offers whatever its policy says; the reference with its digest.
    fn push(&self, name: &str) -> anyhow::Result<String> {
        let file = devgate_tests::components()?.join("generic.wasm");
        let args = ["push", &file.display().to_string(), &self.reference(name), "--output", "json"];
        let (code, out, err) = self.devgate("good.json", &args)?;
        ensure!(code == Some(0), "{err}");
        let pushed: serde_json::Value = serde_json::from_str(&out)?;
        Ok(pushed["oci"].as_str().context("oci")?.to_owned())
    }

    fn skopeo(&self, args: &[&str]) -> anyhow::Result<()> {
        run("skopeo", self.dir.path(), &[&["--insecure-policy"], args].concat()).map(drop)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}

fn credentials(port: u16, auth: &str) -> String {
    format!(r#"{{"auths": {{"localhost:{port}": {{"auth": "{auth}"}}}}}}"#)
}

/// A host whose one component is in the registry.
fn setup(registry: &Registry, component: &str) -> Setup {
    let policy = generic_policy(&KINDS).replacen("{file: generic.wasm}", component, 1);
    assert!(policy.contains(component), "{policy}");
    let options = registry.options("good.json");
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Setup::new(&policy).on(&recording(&KINDS)).args(&options)
}

#[test]
fn a_component_is_pushed_and_pulled_and_nobody_gets_in_without_the_password() -> anyhow::Result<()> {
    let Some(registry) = Registry::start()? else {
        return Ok(());
    };
    let pinned = registry.push("vendor/generic:1")?;
    ensure!(registry.push("vendor/generic:1")? == pinned, "the same component, the same digest");
    let original = std::fs::read(devgate_tests::components()?.join("generic.wasm"))?;
    let out = registry.path("out.wasm").display().to_string();
    for reference in [registry.reference("vendor/generic:1"), pinned.clone()] {
        let (code, text, err) = registry.devgate("good.json", &["pull", &reference, "--out", &out])?;
        ensure!(code == Some(0) && text.contains(&format!("component: {{oci: \"{pinned}\"}}")), "{text}{err}");
        ensure!(std::fs::read(&out)? == original);
    }
    // A tag is not taken away silently.
    let other = devgate_tests::components()?.join("overreach.wasm").display().to_string();
    let tag = registry.reference("vendor/generic:1");
    let (code, _, err) = registry.devgate("good.json", &["push", &other, &tag])?;
    ensure!(code == Some(5) && err.contains("the tag is given to sha256:"), "{code:?} {err}");
    let (code, _, err) = registry.devgate("good.json", &["push", &other, &tag, "--replace"])?;
    ensure!(code == Some(0), "{err}");
    let policy = registry.path("ext").display().to_string();
    let (code, _, err) = registry.devgate("good.json", &["push", &policy, &registry.reference("vendor/x:1")])?;
    ensure!(code == Some(5) && err.contains("nothing was pushed"), "{code:?} {err}");
    // Whoever may not.
    let fresh = ["pull", &registry.reference("vendor/other:1"), "--out", &out];
    let (code, _, err) = registry.devgate("bad.json", &fresh)?;
    ensure!(code == Some(1) && err.contains("as anna; check the password") && !err.contains("secred"), "{err}");
    let (code, _, err) = registry.devgate("ca.pem", &fresh)?;
    ensure!(code == Some(1) && err.contains("is no config.json"), "{err}");
    let plain =
        Command::new(devgate_tests::devgate()?).args(fresh).args(["--registry-config", "/dev/null"]).output()?;
    ensure!(plain.status.code() == Some(1));
    let untrusted = Command::new(devgate_tests::devgate()?)
        .args(fresh)
        .arg("--registry-config")
        .arg(registry.path("good.json"))
        .output()?;
    let err = String::from_utf8_lossy(&untrusted.stderr).into_owned();
    ensure!(
        untrusted.status.code() == Some(1) && (err.contains("ertificate") || err.contains("--registry-ca")),
        "{err}"
    );
    Ok(())
}

/// As the overlays `oci-credentials` and `oci-ca` set them, and an admin whose way out is a proxy.
#[test]
fn variables_say_who_we_are_whom_we_trust_and_which_way_to_go() -> anyhow::Result<()> {
    let Some(registry) = Registry::start()? else {
        return Ok(());
    };
    let pinned = registry.push("vendor/generic:1")?;
    let docker = registry.path("docker");
    std::fs::create_dir(&docker)?;
    std::fs::copy(registry.path("good.json"), docker.join("config.json"))?;
    let pull = |variables: &[(&str, &str)]| -> anyhow::Result<(Option<i32>, String)> {
        let output = Command::new(devgate_tests::devgate()?)
            .args(["pull", &pinned, "--out"])
            .arg(registry.path("out.wasm"))
            .args([Path::new("--cache-dir"), tempfile::tempdir_in(&docker)?.path()])
            .env_clear()
            .env("DOCKER_CONFIG", &docker)
            .env("SSL_CERT_FILE", registry.path("ca.pem"))
            .envs(variables.iter().copied())
            .output()?;
        Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
    };
    let (code, err) = pull(&[])?;
    ensure!(code == Some(0), "{err}");
    let none = registry.path("none").display().to_string();
    let (code, err) = pull(&[("DOCKER_CONFIG", &none)])?;
    ensure!(code == Some(1) && err.contains("--registry-config"), "no credentials: {err}");
    let (code, err) = pull(&[("SSL_CERT_FILE", &none)])?;
    ensure!(code == Some(1) && err.contains("--registry-ca"), "no authority: {err}");
    // A proxy that lets nobody through, and hears where to.
    let proxy = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", proxy.local_addr()?);
    let port = registry.port;
    let heard = std::thread::spawn(move || -> anyhow::Result<String> {
        let (mut client, _) = proxy.accept()?;
        let mut asked = [0; 512];
        let length = std::io::Read::read(&mut client, &mut asked)?;
        std::io::Write::write_all(&mut client, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")?;
        Ok(String::from_utf8_lossy(asked.get(..length).unwrap_or_default()).into_owned())
    });
    let (code, err) = pull(&[("HTTPS_PROXY", &url), ("NO_PROXY", "localhost")])?;
    ensure!(code == Some(0), "past the proxy: {err}");
    let (code, err) = pull(&[("HTTPS_PROXY", &url)])?;
    ensure!(code == Some(1) && err.contains("tunnel"), "{err}");
    let heard = heard.join().expect("a thread that ends")?;
    ensure!(heard.starts_with(&format!("CONNECT localhost:{port} ")), "{heard}");
    Ok(())
}

#[test]
fn what_skopeo_copies_stays_the_same_artifact() -> anyhow::Result<()> {
    let Some(registry) = Registry::start()? else {
        return Ok(());
    };
    let pinned = registry.push("vendor/generic:1")?;
    let auth = registry.path("good.json").display().to_string();
    let from = format!("docker://{}", registry.reference("vendor/generic:1"));
    let to = format!("docker://{}", registry.reference("mirror/generic:2"));
    let tls = ["--src-tls-verify=false", "--dest-tls-verify=false", "--authfile", &auth];
    registry.skopeo(&[&["copy"], &tls[..], &[&from, &to]].concat())?;
    let digest = pinned.rsplit('@').next().context("a digest")?;
    let mirrored = format!("{}@{digest}", registry.reference("mirror/generic"));
    let (code, text, err) = registry.devgate("good.json", &["inspect", &format!("oci:{mirrored}")])?;
    ensure!(code == Some(0) && text.contains("devgate:plugin"), "{text}{err}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_runs_what_it_pulled_and_needs_no_registry_after_that() -> anyhow::Result<()> {
    let Some(mut registry) = Registry::start()? else {
        return Ok(());
    };
    let pinned = registry.push("vendor/generic:1")?;
    let mut host = setup(&registry, &format!("{{oci: \"{pinned}\"}}")).start().await?;
    host.allocatable(&KINDS[0].resource(), 2).await?;
    let report = status(&host)?;
    let component = &report["plugins"][0]["component"];
    ensure!(component["file"] == pinned.as_str() && component["pinned"] == true, "{component}");
    ensure!(component["sha256"].is_string() && report["registry"]["good"] == 1, "{report}");
    // A reboot during an outage.
    host.end(Signal::TERM).await?;
    registry.stop();
    host.spawn()?;
    host.allocatable(&KINDS[0].resource(), 2).await?;
    host.logged(|line| line.message.contains("loaded")).await?;
    ensure!(status(&host)?["registry"]["good"] == 0);
    // Without the cache it waits for the registry, and says so.
    host.end(Signal::TERM).await?;
    std::fs::remove_dir_all(host.dir().join("state/components"))?;
    host.spawn()?;
    let line = host.logged(|line| line.family == "host" && line.message.contains("Connection refused")).await?;
    let name = registry.reference("vendor/generic");
    ensure!(line.message.contains(&format!("component {name}: ")), "{}", line.message);
    registry.serve()?;
    host.allocatable(&KINDS[0].resource(), 2).await?;
    Ok(())
}

/// A port on which nobody listens, and nobody else can as long as it is kept.
fn deaf() -> anyhow::Result<(OwnedFd, u16)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    let port = SocketAddrV4::try_from(getsockname(&socket)?)?.port();
    Ok((socket, port))
}

/// Nobody answers: why is shown as soon as it is known, and stays while it is tried again.
#[tokio::test(flavor = "multi_thread")]
async fn why_a_pull_fails_stays_to_be_seen_while_it_is_tried_again() -> anyhow::Result<()> {
    let (_taken, port) = deaf()?;
    let name = format!("localhost:{port}/vendor/generic@sha256:{}", "ab".repeat(32));
    let policy = generic_policy(&KINDS).replacen("{file: generic.wasm}", &format!("{{oci: \"{name}\"}}"), 1);
    let host = Setup::new(&policy).on(&recording(&KINDS)).start().await?;
    let line = host.logged(|line| line.family == "host" && line.level == "ERROR").await?;
    ensure!(
        line.message.contains("Connection refused") && line.message.contains("; tried again in "),
        "{}",
        line.message
    );
    let deadline = Instant::now() + Duration::from_secs(60);
    let (mut paused, mut trying) = (false, false);
    while !(paused && trying) {
        let plugin = &status(&host)?["plugins"][0];
        let reason = plugin["reason"].as_str().unwrap_or_default();
        ensure!(plugin["state"] == "quarantined" && reason.contains("Connection refused"), "{plugin}");
        trying |= reason.contains("\ntried again now: pulling from ");
        paused |= plugin["retry_at"].is_string();
        ensure!(Instant::now() < deadline, "{plugin}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
