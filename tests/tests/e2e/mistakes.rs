//! What vendors read of their mistakes: a message each, with its object, its cause and what to do. The list is the page's table too.

mod list;
mod place;

use list::{MISTAKES, Mistake};
use place::Place;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the table begins, on the page for vendors.
const HEAD: &str = "`check`, `pack` and `push` say, after the object:\n\n";

impl Mistake {
    /// Makes it in a directory of its own; the message. Fails where that lacks one of its parts, or has them in another order.
    fn told(&self) -> anyhow::Result<String> {
        let message = (self.make)(&Place::new()?)?;
        let mut rest = message.as_str();
        for part in [self.object, self.cause, self.to_do] {
            let found = rest.split_once(part);
            rest = found.ok_or_else(|| anyhow::anyhow!("{}: \"{part}\" is not in: {message}", self.what))?.1;
        }
        Ok(format!("{}:\n{message}\n", self.what))
    }
}

#[test]
fn each_mistake_is_told_with_its_object_its_cause_and_what_to_do() -> anyhow::Result<()> {
    let (next, told) = (AtomicUsize::new(0), Mutex::new(vec![String::new(); MISTAKES.len()]));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((n, mistake)) = MISTAKES.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
                    let text = mistake.told().unwrap_or_else(|why| format!("{why:#}\n"));
                    told.lock().unwrap()[n] = text;
                }
            });
        }
    });
    let told = told.into_inner().unwrap().join("\n");
    assert!(!told.contains("is not in: "), "{told}");
    insta::with_settings!({filters => vec![
        (r"\d+@0x[0-9a-f]+", "[place]"),
        (r"\[place\]( < \[place\])+", "[places]"),
        (r"\S*mistake\.rs:\d+:\d+", "[source]"),
        (r"sha256 is [0-9a-f]{64}", "sha256 is [digest]"),
        (r"127\.0\.0\.1:\d+", "[registry]"),
        (r"its \d+ms deadline", "its [n]ms deadline"),
    ]}, {
        insta::assert_snapshot!(told);
    });
    Ok(())
}

/// Of some, what to do is done.
#[test]
fn what_a_message_says_to_do_helps() -> anyhow::Result<()> {
    let at = Place::new()?;
    let said = at.with_debug_information()?.pack(&[])?.check()?;
    assert!(!said.starts_with("ERROR"), "{said}");
    let at = Place::new()?;
    let granted = "state: true\n    containers: {env: {LD_PRELOAD: [/tmp/evil.so]}}";
    let said = at.fault("sets-what-is-not-granted")?.with("state: true", granted)?.call("allocate", &["SN000000A1"])?;
    assert_eq!(said, "");
    let at = Place::new()?;
    let said = at.with_schema()?.with("fault: none", "naming: mixed")?.check()?;
    assert!(!said.starts_with("ERROR"), "{said}");
    Ok(())
}

#[test]
fn the_mistakes_on_the_page_for_vendors_are_these() -> anyhow::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/components.md");
    let page = std::fs::read_to_string(&file)?;
    let (before, rest) = page.split_once(HEAD).expect("the table");
    let (_, after) = rest.split_once("\n\n").expect("its end");
    let rows = MISTAKES.iter().map(|it| format!("- {}: `{}`: {}", it.what, it.cause, it.to_do));
    let fresh = format!("{before}{HEAD}{}\n\n{after}", rows.collect::<Vec<_>>().join("\n"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &fresh)?;
    } else {
        assert!(
            page == fresh,
            "docs/components.md is stale: run this test with UPDATE_DOCS=1, and commit what it changes"
        );
    }
    Ok(())
}
