//! The audit log.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_what_was_given() -> anyhow::Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    let path = file.path().to_str().context("a path")?.to_owned();
    let mut host = setup().args(&["--audit-log", &path]).log("error").start().await?;
    host.allocatable(RESOURCE, 2).await?;
    host.kubelet.admit(&Pod::new("a", &[(RESOURCE, 2)])).await?;
    host.end(Signal::TERM).await?;
    let text = std::fs::read_to_string(&path)?;
    let line: serde_json::Value = serde_json::from_str(text.lines().next().context("a line")?)?;
    assert_eq!((&line["event"], &line["result"], &line["count"]), (&"allocate".into(), &"given".into(), &2.into()));
    assert_eq!(line["resource"], RESOURCE);
    Ok(())
}

/// What logrotate does: the file is moved away, and a signal says so.
#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_is_opened_anew_at_sighup() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, moved) = (dir.path().join("audit.log"), dir.path().join("audit.log.1"));
    let args = ["--audit-log", path.to_str().context("a path")?];
    let mut host = setup().args(&args).start().await?;
    host.allocatable(RESOURCE, 2).await?;
    host.kubelet.admit(&Pod::new("a", &[(RESOURCE, 1)])).await?;
    std::fs::rename(&path, &moved)?;
    rustix::process::kill_process(crate::reload::pid(&host)?, Signal::HUP)?;
    host.logged(|line| line.message.starts_with("policy: reloaded")).await?;
    for _ in 0..600 {
        if path.exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    host.kubelet.admit(&Pod::new("b", &[(RESOURCE, 1)])).await?;
    host.end(Signal::TERM).await?;
    for file in [moved, path] {
        let text = std::fs::read_to_string(&file)?;
        let given = text.lines().filter(|line| line.contains("\"given\"")).count();
        assert_eq!(given, 1, "{}: {text}", file.display());
    }
    Ok(())
}

/// Who had this at three o'clock: in the audit log where it is asked for, and never in the log.
#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_pods_only_where_it_is_asked_for() -> anyhow::Result<()> {
    for asked in [true, false] {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("audit.log");
        let mut more = vec!["--audit-log", path.to_str().context("a path")?, "--pod-resources-every", "200"];
        more.extend(asked.then_some("--audit-pods"));
        let mut host = setup().args(&more).log("debug").start().await?;
        host.allocatable(RESOURCE, 2).await?;
        let pod = Pod::new("who-had-it", &[(RESOURCE, 2)]);
        host.kubelet.admit(&pod).await?;
        let events = || -> anyhow::Result<Vec<serde_json::Value>> {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let lines = text.lines().map(serde_json::from_str::<serde_json::Value>);
            let all = lines.collect::<Result<Vec<_>, _>>()?;
            Ok(all.into_iter().filter(|line| line["pod"] == "who-had-it").collect())
        };
        let wait = async |count: usize| -> anyhow::Result<()> {
            for _ in 0..600 {
                if events()?.len() == count {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            anyhow::bail!("{:?}", events()?)
        };
        let knows = async |is_held: bool| -> anyhow::Result<()> {
            for _ in 0..600 {
                if status(&host, &[])?.out.contains("/who-had-it") == is_held {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            anyhow::bail!("{}", status(&host, &[])?.out)
        };
        knows(true).await?;
        if asked {
            wait(1).await?;
        }
        host.kubelet.remove("who-had-it");
        knows(false).await?;
        if asked {
            wait(2).await?;
        }
        // What was on its way is written by then.
        host.end(Signal::TERM).await?;
        let told: Vec<_> = events()?.iter().map(|line| (line["event"].clone(), line["count"].clone())).collect();
        let lines = [("held-by".into(), 2.into()), ("let-go".into(), 2.into())];
        let expected = if asked { &lines[..] } else { &[] };
        assert_eq!(told, expected);
        let text = host.lines().into_iter().find(|line| line.message.contains("who-had-it"));
        assert!(text.is_none(), "{text:?}");
    }
    Ok(())
}
