//! What was said while a component was asked, for commands that show it.

use devgate_core::Line;
use devgate_types::component::LogLevel;

/// A line's level as the log names it, or that it is the host's refusal of what the component asked for.
pub(crate) fn level(line: &Line) -> &'static str {
    match line.level {
        _ if line.refusal => "refused",
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    }
}
