//! The program: what it gives up, what it starts.

use crate::cli::Cli;
use crate::exit::{NODE, USAGE, with_code};
use crate::host::Host;
use crate::publisher::Publisher;
use crate::server::{Pace, Server, config, watch};
use crate::slices::is_subdomain;
use crate::tell::{Heard, Teller};
use anyhow::{Context, Result};
use devgate_confine::{Filter, HostFiles, drop_capabilities, fence_host, forbid, hide};
use std::fs::{Permissions, remove_file, set_permissions};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net;
use std::path::Path;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::channel;
use tokio::time::timeout;

/// What waits for the publisher: devices of a whole node may be in each.
const INPUTS: usize = 4;
const EVENTS: usize = 16;
/// How long the last word may take.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// Why nothing is published where that is so.
const NO_SLICES: &str = "the agent was not told to publish anything (--slices; with the chart: overlays.dra)";

/// Serves until it is asked to stop.
pub fn run(cli: &Cli) -> Result<()> {
    if !is_subdomain(&cli.node_name, 253) {
        let shown = devgate_types::escape(&cli.node_name, 64);
        return Err(with_code(USAGE, format!("--node-name {shown}: is no name of a node")));
    }
    start_log(cli);
    let listener = listen(&cli.socket)?;
    confine(&cli.socket)?;
    // One thread is enough: it waits most of the time, and what it computes is not waited for.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the runtime")?;
    runtime.block_on(serve(cli, listener))
}

/// Its own words alone: a client's are about each request, and known from what came of it.
fn start_log(cli: &Cli) {
    use std::io::IsTerminal;
    use tracing_subscriber::{
        Layer as _, filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _,
    };
    let own = Targets::new().with_target("devgate_agent", cli.log);
    let layer = fmt::layer().with_writer(std::io::stderr).with_target(false).log_internal_errors(false);
    let layer = match std::io::stderr().is_terminal() {
        true => layer.boxed(),
        false => layer.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(layer.with_filter(own)).init();
}

/// Nothing of this process is seen by others, and it changes no file but its socket, starts no program and gains no right. Of the kernel it
/// asks what a client of a network does, and what reads its token.
fn confine(socket: &Path) -> Result<()> {
    let refused = |error: devgate_confine::Error| {
        with_code(NODE, format!("devgate-agent: is not confined, and serves nothing: {error}"))
    };
    hide().map_err(refused)?;
    drop_capabilities().map_err(refused)?;
    let sockets = std::path::absolute(socket).ok().and_then(|path| Some(path.parent()?.to_path_buf()));
    let files = HostFiles { sockets: sockets.into_iter().collect(), ..HostFiles::default() };
    // What a kernel cannot fence is fenced by the container, whose file system is read-only.
    let landlock = fence_host(&files);
    forbid(Filter::Agent).map_err(refused)?;
    if let Err(why) = landlock {
        tracing::warn!("devgate-agent: {why}");
    }
    Ok(())
}

async fn serve(cli: &Cli, listener: net::UnixListener) -> Result<()> {
    let listener = UnixListener::from_std(listener).context("wait on the socket")?;
    let config = config(cli.kubeconfig.as_deref()).await.map_err(|why| with_code(NODE, format!("{why:#}")))?;
    let client = kube::Client::try_from(config);
    let client = client.map_err(|why| with_code(NODE, format!("API server: its client: {why}")))?;
    let (server, pace) = (Server::new(client), Pace::new());
    let (to_publisher, inputs) = channel(INPUTS);
    let (to_events, events) = channel(EVENTS);
    let (heard, hears) = tokio::sync::watch::channel(Heard::nothing());
    let mut teller = Teller::new(&server, &cli.node_name, hears, cli.events, cli.node_condition);
    let (node, heard) = (cli.node_name.as_str().into(), heard.into());
    let host = Host { server: server.clone(), node, publisher: to_publisher, heard };
    let slices = async {
        match cli.slices {
            true => watch(server.clone(), pace.clone(), cli.node_name.clone(), to_events.clone()).await,
            // Nothing is known of them, so that none is changed.
            false => to_events.closed().await,
        }
    };
    let publisher =
        Publisher::new(server.clone(), pace.clone(), cli.node_name.clone(), (!cli.slices).then_some(NO_SLICES));
    let mut term = signal(SignalKind::terminate()).context("wait for SIGTERM")?;
    let mut int = signal(SignalKind::interrupt()).context("wait for SIGINT")?;
    tracing::info!("devgate-agent: serves node {} on {}", cli.node_name, cli.socket.display());
    tokio::select! {
        () = slices => {}
        () = publisher.run(inputs, events) => {}
        () = teller.run() => {}
        () = host.serve(listener) => {}
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    tracing::info!("devgate-agent: was asked to stop; what is published stands");
    let _ = timeout(LAST_WORDS, teller.end()).await;
    // The next one finds nothing in its way.
    let _ = remove_file(&cli.socket);
    Ok(())
}

/// Listens where nobody does: what is left of a process before is replaced.
fn listen(socket: &Path) -> Result<net::UnixListener> {
    let failed =
        |why: &dyn std::fmt::Display| with_code(NODE, format!("socket {}: {why} (--socket)", socket.display()));
    match socket.symlink_metadata() {
        Ok(there) if !there.file_type().is_socket() => return Err(failed(&"is something else, and is left there")),
        Ok(_) => remove_file(socket).map_err(|why| failed(&why))?,
        Err(_) => {}
    }
    let listener = net::UnixListener::bind(socket).map_err(|why| failed(&why))?;
    listener.set_nonblocking(true).map_err(|why| failed(&why))?;
    // The host is uid 0 without CAP_DAC_OVERRIDE, and this process is neither it nor of its group: only what others may do lets it connect.
    // No other can: the directory is in this pod alone, and who connects must be root.
    set_permissions(socket, Permissions::from_mode(0o666)).map_err(|why| failed(&why))?;
    Ok(listener)
}
