//! What was said in a plugin's calls, for commands that show it instead of logging it.

use devgate_types::Mutex;
use devgate_types::component::LogLevel;
use std::sync::Arc;

/// The most lines that are kept, and shown.
const MAX_LINES: usize = 20;

/// A line of a component, or of the host about what the component asked for and does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// How much it matters; in the component's own opinion, where it is its line.
    pub level: LogLevel,
    /// Whether the host says it: a refusal.
    pub refusal: bool,
    /// Escaped.
    pub text: String,
}

/// The lines so far. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogCapture(Arc<Mutex<Vec<Line>>>);

impl LogCapture {
    /// Keeps a line, unless it is the vendor's own business, has been said before, or there are enough: what warns is kept
    /// rather than what does not.
    pub(crate) fn line(&self, line: Line) {
        let mut lines = self.0.lock();
        if line.level == LogLevel::Debug || lines.contains(&line) {
            return;
        }
        if lines.len() >= MAX_LINES {
            let Some(least) = lines.iter().rposition(|kept| kept.level < line.level) else {
                return;
            };
            lines.remove(least);
        }
        lines.push(line);
    }

    /// All that was kept, in the order in which it was said.
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(level: LogLevel, text: &str) -> Line {
        Line { level, refusal: false, text: text.to_owned() }
    }

    #[test]
    fn each_line_is_kept_once_and_chatter_hides_no_warning() {
        let log_capture = LogCapture::default();
        log_capture.line(line(LogLevel::Debug, "for the vendor"));
        for n in 0..1_000 {
            log_capture.line(line(LogLevel::Info, &n.to_string()));
            log_capture.line(line(LogLevel::Info, "again"));
        }
        assert_eq!(log_capture.lines().len(), MAX_LINES);
        log_capture.clone().line(line(LogLevel::Error, "odd"));
        let lines = log_capture.lines();
        assert_eq!((lines.len(), lines.last().unwrap().text.as_str()), (MAX_LINES, "odd"));
        assert!(lines.iter().all(|line| line.level > LogLevel::Debug));
    }
}
