//! The Debian package: its bytes, its contents, what lintian says, and its whole life on a machine with systemd.

mod root;

use super::Outcome;
use crate::dist::Out;
use crate::workspace::{self, target};
use crate::{components, package, process, shipped, static_binary};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a package has in it, besides pages of documentation.
const CONTENTS: &str = "xtask/src/test/package/contents.txt";

/// Where it puts pages and what they link to.
const DOCUMENTATION: &str = "/usr/share/doc/devgate/";

/// The package is the same bytes when it is made again, is as Debian wants it, and installs, upgrades and goes.
pub(super) fn check() -> Result<Outcome> {
    match tools() {
        Ok(()) => {}
        Err(error) if std::env::var_os("CI").is_none() => return Ok(Outcome::Skipped(format!("{error:#}"))),
        Err(error) => return Err(error),
    }
    // For who has one at hand: building takes minutes.
    let binary = match std::env::var_os("DEVGATE_BINARY") {
        Some(file) => PathBuf::from(file),
        None => static_binary::for_tests(static_binary::Product::Devgate)?,
    };
    components::build()?;
    let file = package::build(&binary, &Out::default().folder()?)?;
    let again = tempfile::tempdir_in(target()?)?;
    super::image::same(&file, &package::build(&binary, again.path())?)?;
    process::run(
        Command::new("lintian")
            .args(["--fail-on", "error,warning", "--tag-display-limit", "0", "--allow-root"])
            .arg(&file),
    )?;
    contents(&file)?;
    root::take(&file, &root::LIFE)?;
    root::take(&file, &root::PODMAN)?;
    Ok(Outcome::Passed)
}

fn tools() -> Result<()> {
    let needed = [
        ("lintian", "lintian"),
        ("mmdebstrap", "mmdebstrap"),
        ("systemd-nspawn", "systemd-container"),
        ("dpkg-deb", "dpkg"),
    ];
    for (program, package) in needed {
        if !process::answers(Command::new(program).arg("--version")) {
            bail!("there is no {program} here; install it (Debian: apt-get install {package})");
        }
    }
    if process::read(Command::new("id").arg("-u"))? != "0" {
        bail!("installing the package in a root of its own needs root");
    }
    Ok(())
}

/// Fails where the package has other files, or with other modes, than is written down.
fn contents(file: &Path) -> Result<()> {
    let listing = process::read(Command::new("dpkg-deb").arg("--contents").arg(file))?;
    let pages = shipped::files()?;
    let now = shown(&listing, &pages)?;
    for page in &pages {
        let name = format!(" .{DOCUMENTATION}{}\n", page.display());
        if !format!("{listing}\n").contains(&name) {
            bail!("the package lacks {}", page.display());
        }
    }
    let kept = workspace::root().join(CONTENTS);
    let before = std::fs::read_to_string(&kept).with_context(|| format!("read {}", kept.display()))?;
    if now == before {
        return Ok(());
    }
    let new = target()?.join("contents.txt");
    std::fs::write(&new, &now).with_context(|| format!("write {}", new.display()))?;
    let mut diff = Command::new("diff");
    // Its status says that they differ.
    let _ = diff.arg("--unified").arg(&kept).arg(&new).status();
    bail!("the package has other contents than {CONTENTS}; where that is meant: cp {} {CONTENTS}", new.display());
}

/// Modes, owners and names, sorted, without folders and what has a list of its own: pages, and what they link to.
fn shown(listing: &str, pages: &[PathBuf]) -> Result<String> {
    let mut lines = Vec::new();
    for line in listing.lines().filter(|line| !line.starts_with('d')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [mode, owner, _size, _day, _time, path, link @ ..] = words.as_slice() else {
            bail!("dpkg-deb --contents says {line:?}");
        };
        let (mode, owner, path) = (*mode, *owner, path.trim_start_matches('.'));
        let page = path.strip_prefix(DOCUMENTATION).map(Path::new);
        let is_listed = page.is_some_and(|page| pages.iter().any(|known| known == page));
        if !(is_listed && mode == "-rw-r--r--" && owner == "0/0") {
            let link: String = link.iter().map(|word| format!(" {word}")).collect();
            lines.push((path, format!("{mode} {owner} {path}{link}\n")));
        }
    }
    lines.sort_unstable();
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_told_without_what_differs_from_build_to_build() {
        let listing = "drwxr-xr-x 0/0 0 2026-11-18 11:06 ./usr/\n\
                       -rwxr-xr-x 0/0 35265160 2026-11-18 11:06 ./usr/libexec/devgate/devgate\n\
                       lrwxrwxrwx 0/0 0 2026-11-18 11:06 ./usr/bin/devgate -> ../libexec/devgate/devgate\n\
                       -rw-r--r-- 0/0 705 2026-11-18 11:06 ./etc/default/devgate\n\
                       -rw-r--r-- 0/0 9 2026-11-18 11:06 ./usr/share/doc/devgate/docs/policy.md\n";
        let pages = [PathBuf::from("docs/policy.md")];
        let expected = "-rw-r--r-- 0/0 /etc/default/devgate\n\
                        lrwxrwxrwx 0/0 /usr/bin/devgate -> ../libexec/devgate/devgate\n\
                        -rwxr-xr-x 0/0 /usr/libexec/devgate/devgate\n";
        assert_eq!(shown(listing, &pages).unwrap(), expected);
        let all = shown(listing, &[]).unwrap();
        assert!(all.ends_with("/usr/share/doc/devgate/docs/policy.md\n"), "{all}");
        assert!(shown("-rw-r--r-- what", &pages).is_err());
    }
}
