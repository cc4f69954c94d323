//! The page in a real browser, with a component that says hostile things.

use crate::wat_component::{Memory, Unit};
use anyhow::Context;
use devgate_tests::{Host, Kind, Setup, generic_policy, recording};
use std::process::{Command, Stdio};

/// What a script or an image would do that got into the page as markup.
const HOSTILE: &str = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>";

const POLICY: &str = "\
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  hostile:
    component: {file: hostile.wasm}
    resources: [devgate.dev/hostile]
";

/// A component that has markup for ids, properties and reasons.
fn hostile() -> Vec<u8> {
    let mut memory = Memory::default();
    let mut unit = Unit::new("good");
    unit.properties.push((HOSTILE.chars().take(60).collect(), HOSTILE.to_owned()));
    let units = vec![unit, Unit::new(HOSTILE)];
    let pools = memory.pools(&[("devgate.dev/hostile".to_owned(), units), (HOSTILE.to_owned(), Vec::new())]);
    let verdicts = memory.verdicts(&[Some(HOSTILE)]);
    let failure = memory.failure(HOSTILE);
    memory.plugin(&pools, &verdicts, &failure)
}

/// The browser, if it is here; in CI it must be.
fn browser() -> anyhow::Result<Option<Command>> {
    let mut version = Command::new("chromium");
    version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    if version.status().is_ok_and(|status| status.success()) {
        return Ok(Some(Command::new("chromium")));
    }
    anyhow::ensure!(
        std::env::var_os("CI").is_none(),
        "chromium is not here, and CI must not pass without it: apt-get install chromium"
    );
    println!("SKIPPED: chromium is not here (apt-get install chromium)");
    Ok(None)
}

/// The page as the browser has made it after a while, and what the browser says.
async fn dump(mut browser: Command, host: &Host) -> anyhow::Result<(String, String)> {
    let listening = host.logged(|line| line.message.starts_with("listening on ")).await?;
    let port = listening.message.split(':').nth(2).context("a port")?;
    let profile = tempfile::tempdir()?;
    browser
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("http://127.0.0.1:{port}/"))
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || browser.output()).await??;
    let seen = String::from_utf8(output.stdout)?;
    Ok((seen, String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_says_markup_is_shown_as_text_and_nothing_of_it_runs() -> anyhow::Result<()> {
    let Some(browser) = browser()? else { return Ok(()) };
    let kind = Kind { class: 0, count: 1 };
    let setup = Setup::new(POLICY).on(&recording(&[kind])).with("hostile.wasm", hostile());
    let host = setup.args(&["--listen", "127.0.0.1:0"]).start().await?;
    host.wait(|kubelet| kubelet.devices("devgate.dev/hostile").len() == 1).await?;
    let (seen, said) = dump(browser, &host).await?;
    // The page's own script ran, and shows what the component said, in three places.
    assert!(seen.contains("good") && seen.matches("&lt;img src=x").count() >= 2, "{seen}\n{said}");
    let body = seen.split("<script>").next().context("the page before its script")?;
    assert!(!body.contains("<img"), "{body}");
    assert!(seen.contains("<title>devgate</title>"), "{seen}");
    // And on top what the status says last, with what is wrong.
    for top in [">NOT well: 1 of ", ">resource devgate.dev/hostile: 1 unhealthy<"] {
        assert!(body.contains(top), "{top}: {seen}");
    }
    assert_eq!(seen.matches("<script").count(), 1, "{seen}");
    Ok(())
}

/// In the same words as the text.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_reload_took_is_on_the_page() -> anyhow::Result<()> {
    let Some(browser) = browser()? else { return Ok(()) };
    let kinds = [Kind { class: 0, count: 1 }, Kind { class: 1, count: 2 }];
    let setup = Setup::new(&generic_policy(&kinds)).on(&recording(&kinds));
    let host = setup.args(&["--listen", "127.0.0.1:0"]).start().await?;
    for kind in kinds {
        host.allocatable(&kind.resource(), usize::try_from(kind.count)?).await?;
    }
    let none = generic_policy(&kinds).replace("subsystem: bench", "subsystem: none");
    std::fs::write(host.dir().join("policy.yaml"), none)?;
    host.logged(|line| line.message.starts_with("policy: resource devgate.dev/bench1: 2 devices before")).await?;
    let (seen, said) = dump(browser, &host).await?;
    for line in [
        "devgate.dev/bench0: 1 device before the policy was put in force, none now",
        "devgate.dev/bench1: 2 devices before the policy was put in force, none now",
    ] {
        assert!(seen.contains(line), "{line}: {seen}\n{said}");
    }
    Ok(())
}
