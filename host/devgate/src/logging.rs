//! The log: text for people, JSON for machines, on standard error; and the audit log beside it.

use crate::audit::Audit;
use crate::cli::{LogArgs, LogFormat};
use crate::exit;
use std::io::IsTerminal;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

/// Starts logging. The audit log is there if it is asked for, whatever the log leaves out.
pub(crate) fn start(args: &LogArgs) -> anyhow::Result<Option<Audit>> {
    let filter = EnvFilter::builder().parse(&args.log);
    let filter = filter.map_err(|e| exit::with_code(exit::USAGE, format!("--log {}: {e}", args.log)))?;
    let terminal = std::io::stderr().is_terminal();
    let coloured = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let json = match args.log_format {
        LogFormat::Auto => !terminal,
        LogFormat::Text => false,
        LogFormat::Json => true,
    };
    let layer = fmt::layer()
        .with_writer(std::io::stderr)
        .with_target(false)
        // There are spans at `trace` only: which way a call went, and how long each part of it took.
        .with_span_events(FmtSpan::CLOSE)
        // A log whose reader has gone must not end whatever wants to write to it.
        .log_internal_errors(false);
    let layer = if json {
        let json = layer.json().flatten_event(true);
        json.with_filter(filter).boxed()
    } else {
        layer.with_ansi(coloured).with_filter(filter).boxed()
    };
    let audit = args.audit_log.as_deref().map(Audit::open).transpose()?;
    tracing_subscriber::registry().with(layer).with(audit.clone()).init();
    Ok(audit)
}
