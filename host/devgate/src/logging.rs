//! The log: text for people, JSON for machines, on standard error.

use crate::cli::{LogArgs, LogFormat};
use crate::exit;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging.
pub(crate) fn start(args: &LogArgs) -> anyhow::Result<()> {
    let filter = EnvFilter::builder().parse(&args.log);
    let filter = filter.map_err(|e| exit::with_code(exit::USAGE, format!("--log {}: {e}", args.log)))?;
    let terminal = std::io::stderr().is_terminal();
    let json = match args.log_format {
        LogFormat::Auto => !terminal,
        LogFormat::Text => false,
        LogFormat::Json => true,
    };
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        // A log that nobody reads any more must not end whatever wants to write to it.
        .log_internal_errors(false);
    if json {
        builder
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .init();
    } else {
        builder.with_ansi(terminal).init();
    }
    Ok(())
}
