//! Manual pages and completions of shells, as `devgatectl` writes them.

use crate::process;
use crate::workspace::built;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// The shells, and what each calls a program's file.
const SHELLS: [(&str, &str, &str); 3] = [("bash", "", ""), ("zsh", "_", ""), ("fish", "", ".fish")];

/// Writes `man` and `completions` of both programs into a folder. They are the same whatever the program was built for, so it is the
/// one that tests have.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let program = built(&["devgatectl"])?.join("devgatectl");
    process::run(Command::new(&program).arg("man").arg("--out").arg(folder.join("man")))?;
    for (shell, before, after) in SHELLS {
        let place = folder.join("completions").join(shell);
        std::fs::create_dir_all(&place).with_context(|| format!("create {}", place.display()))?;
        for of in ["devgate", "devgatectl"] {
            let script = process::read(Command::new(&program).args(["completions", shell, of]))?;
            let file = place.join(format!("{before}{of}{after}"));
            std::fs::write(&file, script + "\n").with_context(|| format!("write {}", file.display()))?;
        }
    }
    Ok(())
}
