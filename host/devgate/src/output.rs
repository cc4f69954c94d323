//! What commands show on standard output.

use crate::cli::Output;
use anyhow::Context;
use clap::builder::styling::{AnsiColor, Style};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// How a word is shown that says that something is wrong. [`print()`] leaves it out where it is not wanted.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// How a word is shown that warns.
pub const WARNING: Style = AnsiColor::Yellow.on_default();
/// How a word is shown that says what gives much away.
pub const DANGER: Style = AnsiColor::Magenta.on_default();

/// A text without colours.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Writes all of it, with colours where standard output is a terminal or `CLICOLOR_FORCE` is set, and never with `NO_COLOR`. A reader that has seen enough, such as `head`, is no error: the exit code still says what was found.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("write to standard output"),
    }
}

/// One JSON value and the end of its line, indented for those who look at it all the same.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value).context("write JSON")?;
    print(&format!("{text}\n"))
}

/// A command's answer in the form that was asked for.
pub(crate) fn show<T: serde::Serialize>(form: Output, what: &T, text: impl FnOnce(&T) -> String) -> anyhow::Result<()> {
    match form {
        Output::Text => print(&text(what)),
        Output::Json => print_json(what),
    }
}

/// Writes all of a file or nothing: a host that reads components when they change must not see half of one.
pub fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let named = || path.display().to_string();
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    anyhow::ensure!(!path.is_dir(), "{}: is a directory", named());
    let mut file = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(directory)
        .with_context(named)?;
    file.write_all(bytes).with_context(named)?;
    file.persist(path).map_err(|error| error.error).with_context(named)?;
    Ok(())
}

/// How this program is called: `devgate`, `devgatectl`, `kubectl devgate`.
pub fn program() -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&called).file_name().unwrap_or("devgate".as_ref()).to_string_lossy();
    name.replace("kubectl-", "kubectl ")
}

/// A path as a shell takes it.
pub fn quoted(path: &Path) -> String {
    let text = devgate_types::escape(&path.to_string_lossy(), 1024);
    if text.chars().all(|c| c.is_alphanumeric() || "/._-+:@,%=".contains(c)) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// So many of something: `1 device`, `2 devices`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// How many there are beyond those that are shown, if any.
pub(crate) fn beyond(all: usize, shown: usize) -> Option<usize> {
    all.checked_sub(shown).filter(|more| *more > 0)
}

/// Those that are shown, and a last one that says how many more there are, if any.
pub(crate) fn few<T>(
    all: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    shown: usize,
    more: impl FnOnce(usize) -> T,
) -> impl Iterator<Item = T> {
    let all = all.into_iter();
    let more = beyond(all.len(), shown).map(more);
    all.take(shown).chain(more)
}

/// The first of some names in one line, and how many more there are: `a, b and 3 more`.
pub(crate) fn named(names: &[String], shown: usize, between: &str) -> String {
    let text = names.iter().take(shown).cloned().collect::<Vec<_>>().join(between);
    let more = beyond(names.len(), shown).map(|more| format!(" and {more} more"));
    text + &more.unwrap_or_default()
}

/// Rows with their columns beneath each other, two spaces apart, `indent` spaces in. The last column is as long as it is.
pub fn columns<const N: usize>(indent: usize, rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (width, cell) in widths.iter().zip(row) {
            line += &format!("{cell:width$}  ");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_beneath_each_other() {
        let row = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        let text = columns(2, &[row("a", "one"), row("größer", "two"), row("", "")]);
        assert_eq!(text, "  a       one\n  größer  two\n\n");
    }
}
