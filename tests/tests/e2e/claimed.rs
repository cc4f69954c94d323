//! What claims have is as safe from `devgate cleanup --state` and `devgate state forget` as what pods have by the device plugin.

use devgate_fake_kubelet::{Pod, StandIn, StandInConfig};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

/// A CRC-32, as entries of a journal have it.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

/// An entry of a journal, as the host writes it (`host/core/src/allocations/journal/entry.rs`).
fn entry(kind: u16, what: &str) -> Vec<u8> {
    let length = u32::try_from(what.len()).unwrap();
    let tail = [&kind.to_le_bytes()[..], &[0; 18], what.as_bytes()].concat();
    let head = [&b"dgj1"[..], &length.to_le_bytes()].concat();
    let sum = crc32(&[&head[..], &tail].concat());
    let mut entry = [&head[..], &sum.to_le_bytes(), &tail].concat();
    entry.resize(entry.len().next_multiple_of(8), 0);
    entry
}

/// Has it in a state directory that a claim has `gpu0`, with this tag.
fn record(state: &Path, tag: &str) -> anyhow::Result<()> {
    let header = entry(1, r#"{"format": 1, "next": 8}"#);
    let consumer = r#"{"kind": "claim", "driver": "gpu.vendor.com", "uid": "3f2c"}"#;
    let ask = format!(r#"{{"resource": "vendor.com/gpu", "take": [{{"unit": "gpu0"}}], "tag": "{tag}"}}"#);
    let acquire = entry(2, &format!(r#"{{"consumer": {consumer}, "allocations": {{"7": {ask}}}}}"#));
    let journal = state.join("allocations");
    if state.exists() {
        std::fs::remove_dir_all(state)?;
    }
    std::fs::create_dir_all(&journal)?;
    std::fs::write(journal.join("snapshot.1"), [header.clone(), acquire, entry(8, "")].concat())?;
    Ok(std::fs::write(journal.join("journal.1"), header)?)
}

/// Runs `devgate cleanup --state`, or `devgate state forget` of the claim's; its exit code, and what it says.
fn devgate(dir: &Path, command: &str, more: &[&str]) -> anyhow::Result<(Option<i32>, String)> {
    let at = |name: &str| dir.join(name);
    let mut devgate = Command::new(devgate_tests::devgate()?);
    match command {
        "cleanup" => {
            devgate.args(["cleanup", "--state"]);
            for option in ["nfd-dir", "device-info-dir", "cdi-dir", "status-socket", "plugins-registry-dir"] {
                devgate.arg(format!("--{option}")).arg(at(option));
            }
        }
        _ => drop(devgate.args(["state", "forget", "7"])),
    }
    devgate.arg("--state-dir").arg(at("state")).args(more);
    let said = devgate.arg("--kubelet-dir").arg(at("plugins")).arg("--pod-resources-dir").arg(at("pods")).output()?;
    Ok((said.status.code(), String::from_utf8([said.stdout, said.stderr].concat())?))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_claims_of_pods_have_is_not_forgotten_unless_that_is_said() -> anyhow::Result<()> {
    for command in ["cleanup", "forget"] {
        let dir = tempfile::tempdir()?;
        let dir = dir.path();
        let pods = Some(dir.join("pods"));
        let config = StandInConfig { pod_resources_dir: pods, ..StandInConfig::new(dir.join("plugins")) };
        let kubelet = StandIn::new(config).await?;
        let refused = |tag: &str| -> anyhow::Result<String> {
            record(&dir.join("state"), tag)?;
            let (code, said) = devgate(dir, command, &[])?;
            assert!(code == Some(5) && said.contains("; nothing was ") && said.contains("--even-if-in-use"), "{said}");
            Ok(said)
        };
        let mut pod = Pod::new("one", &[]);
        pod.containers[0].claims = ["gpus".to_owned()].into();
        kubelet.admit(&pod).await?;
        let said = refused("gpu node1 default gpus")?;
        assert!(said.contains("device gpu0 of vendor.com/gpu is in use by claim default/gpus"), "{said}");
        let said = refused("of a newer devgate, who writes tags in his own way")?;
        assert!(said.contains("may be in use: which pods have claim 3f2c of gpu.vendor.com is not known"), "{said}");
        if command == "cleanup" {
            std::fs::write(dir.join("state/allocations/snapshot.1"), "{")?;
            let (code, said) = devgate(dir, command, &[])?;
            assert!(code == Some(5) && said.contains("claim default/gpus is in use, and what is kept"), "{said}");
        }

        // A claim of that name in another namespace is another one; and so is one that no pod has.
        for tag in ["gpu node1 team gpus", "gpu node1 default gpus"] {
            record(&dir.join("state"), tag)?;
            if tag.contains("default") {
                kubelet.remove("one");
            }
            let (code, said) = devgate(dir, command, &[])?;
            assert_eq!(code, Some(0), "{said}");
        }
        kubelet.admit(&pod).await?;
        record(&dir.join("state"), "gpu node1 default gpus")?;
        let (code, said) = devgate(dir, command, &["--even-if-in-use"])?;
        assert_eq!(code, Some(0), "{said}");

        // One that ended has left its socket, or its record alone. Without either there is none.
        kubelet.stop().await;
        for left in ["pods/kubelet.sock", "plugins/kubelet_internal_checkpoint"] {
            let (pods, plugins) = (dir.join("pods"), dir.join("plugins"));
            for dir in [&pods, &plugins] {
                std::fs::remove_dir_all(dir)?;
                std::fs::create_dir(dir)?;
            }
            match left.strip_prefix("pods/") {
                Some(socket) => drop(UnixListener::bind(pods.join(socket))?),
                None => std::fs::write(dir.join(left), r#"{"Data": {"PodDeviceEntries": null}, "Checksum": 1}"#)?,
            }
            let said = refused("gpu node1 default gpus")?;
            assert!(said.contains("it cannot be seen which devices pods have"), "{said}");
            std::fs::remove_file(dir.join(left))?;
        }
        let (code, said) = devgate(dir, command, &[])?;
        assert_eq!(code, Some(0), "{said}");
    }
    Ok(())
}

#[test]
fn sockets_of_drivers_go_where_no_host_serves_and_those_of_others_stay() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let dir = dir.path();
    let registry = dir.join("plugins-registry-dir");
    std::fs::create_dir(&registry)?;
    let bind = |name: &str| UnixListener::bind(registry.join(name));
    // Of a driver that has claims, the half that a host makes first; of another one, both.
    record(&dir.join("state"), "gpu node1 default gpus")?;
    for name in [".gpu.vendor.com.sock", ".nic.vendor.com.sock", "other-reg.sock", ".other.sock"] {
        drop(bind(name)?);
    }
    let alive = bind("nic.vendor.com@reg.sock")?;
    let (code, said) = devgate(dir, "cleanup", &[])?;
    let says = "nic.vendor.com@reg.sock: a devgate serves the kubelet there; end it first; nothing was removed";
    assert!(code == Some(5) && said.contains(says), "{said}");
    assert_eq!(std::fs::read_dir(&registry)?.count(), 5);
    drop(alive);
    let (code, said) = devgate(dir, "cleanup", &[])?;
    assert!(code == Some(0) && said.matches("removed  socket").count() == 3, "{said}");
    let mut left: Vec<_> =
        std::fs::read_dir(&registry)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_, _>>()?;
    left.sort();
    assert_eq!(left, [".other.sock", "other-reg.sock"]);
    Ok(())
}
