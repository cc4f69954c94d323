//! One manual page.

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

/// What the command line of `devgate` does not know of itself.
const OF_DEVGATE: &str = include_str!("devgate.roff");

/// A page, and the name of its file.
pub(super) struct Page {
    pub(super) file: String,
    pub(super) text: String,
}

impl Page {
    /// Of a command that was built as a part of its program.
    pub(super) fn of(command: &Command) -> Self {
        let is_devgate = command.get_name() == "devgate";
        let last = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let man = Man::new(command.clone().after_help(None::<&'static str>));
        let man = man.source(concat!("devgate ", env!("CARGO_PKG_VERSION"))).manual("User Commands");
        let mut text = Vec::new();
        // Into memory, where nothing fails.
        let _infallible = man.render(&mut text);
        let mut text = String::from_utf8_lossy(&text).into_owned();
        for block in last.split("\n\n") {
            text += &section(block);
        }
        if is_devgate {
            text += OF_DEVGATE;
        }
        Self { file: man.get_filename(), text }
    }
}

/// What `--help` says last: under a heading with a colon, as it is written; otherwise a paragraph.
fn section(block: &str) -> String {
    let mut roff = Roff::new();
    match block.split_once(":\n") {
        Some((heading, lines)) if lines.starts_with("  ") => {
            roff.control("SH", [heading.to_uppercase().as_str()]).control("nf", []);
            for line in lines.lines() {
                roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
            }
            roff.control("fi", []);
        }
        _ => {
            roff.control("PP", []).text([roman(block)]);
        }
    }
    roff.render()
}
