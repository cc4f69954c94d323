//! A release's layout, mirrored into a registry: components come from there by digest and key, and a mirror that lacks something takes nothing away.

use super::signed::shown;
use super::*;

/// A registry, and a layout beside it of what would be at registry.example.com.
struct Mirror {
    registry: Registry,
}

impl Mirror {
    fn open() -> anyhow::Result<Option<Self>> {
        let Some(registry) = Registry::start()? else {
            return Ok(None);
        };
        shown(registry.dir.path(), "key", &[])?;
        Ok(Some(Self { registry }))
    }

    fn at(&self, name: &str) -> String {
        self.registry.path(name).display().to_string()
    }

    /// Writes a component into the layout, signed; the digest of its manifest.
    fn release(&self, file: &str, tag: &str) -> anyhow::Result<String> {
        let to = format!("registry.example.com/components/{tag}");
        let args = ["push", file, &to, "--layout", &self.at(LAYOUT), "--key", &self.at("vendor.key")];
        let output =
            Command::new(devgate_tests::devgatectl()?).args(args).args(["--output", "json"]).env_clear().output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let pushed: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let digest = pushed["oci"].as_str().and_then(|oci| oci.strip_prefix(&format!("{to}@")));
        Ok(digest.context("a reference with a digest")?.to_owned())
    }

    /// Runs the line of docs/install.md, as its reader would.
    fn mirror(&self) -> anyhow::Result<()> {
        let index: serde_json::Value =
            serde_json::from_slice(&std::fs::read(self.registry.path(LAYOUT).join("index.json"))?)?;
        let names = index["manifests"].as_array().into_iter().flatten();
        let names = names.filter_map(|one| one["annotations"]["org.opencontainers.image.ref.name"].as_str());
        let list: String = names.map(|name| format!("{name}\n")).collect();
        std::fs::write(self.registry.path(LAYOUT).join("references.txt"), list)?;
        let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/install.md"))?;
        let line =
            page.lines().find_map(|line| line.strip_prefix("$ while read name; ")).context("a line that mirrors")?;
        let line = format!("while read name; {line}")
            .replace("mirror.example.com", &format!("localhost:{}", self.registry.port));
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", &line]).current_dir(self.registry.dir.path());
        let output = shell.env("REGISTRY_AUTH_FILE", "good.json").env("SSL_CERT_FILE", "ca.pem").output()?;
        ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// What the policy says of a component, by digest and key.
    fn component(&self, digest: &str) -> String {
        let name = self.registry.reference("components/generic");
        format!("{{oci: \"{name}@{digest}\", signature: {{cosign-key: vendor.pem}}}}")
    }

    /// The file in which the registry keeps a component's bytes.
    fn blob(&self, component: &Path) -> anyhow::Result<PathBuf> {
        let hex = devgate_types::Digest(devgate_runner::digest(&std::fs::read(component)?)).hex();
        Ok(self.registry.path("data/docker/registry/v2/blobs/sha256").join(&hex[..2]).join(hex).join("data"))
    }
}

const LAYOUT: &str = "devgate-0.1.0-oci";

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_without_a_blob_is_an_error_and_what_was_in_force_goes_on() -> anyhow::Result<()> {
    let Some(mirror) = Mirror::open()? else {
        return Ok(());
    };
    let first = devgate_tests::components()?.join("generic.wasm");
    let (bytes, next) = (std::fs::read(&first)?, mirror.registry.path("next.wasm"));
    std::fs::write(&next, [&bytes[..], &[0, 2, 1, b'x']].concat())?;
    let one = mirror.release(&first.display().to_string(), "generic:1")?;
    let two = mirror.release(&next.display().to_string(), "generic:2")?;
    mirror.mirror()?;
    let kept = std::fs::read(mirror.blob(&next)?)?;
    std::fs::remove_file(mirror.blob(&next)?)?;

    let key = std::fs::read(mirror.registry.path("vendor.pem"))?;
    let host = setup(&mirror.registry, &mirror.component(&one)).with("vendor.pem", key).start().await?;
    host.allocatable(&KINDS[0].resource(), 2).await?;
    let in_force = |digest: &str| -> anyhow::Result<bool> {
        let report = status(&host)?;
        let file = report["plugins"][0]["component"]["file"].as_str().unwrap_or_default();
        Ok(file.ends_with(digest) && report["plugins"][0]["state"] == "serving")
    };
    ensure!(in_force(&one)?, "{}", status(&host)?);

    let policy = host.dir().join("policy.yaml");
    let text = std::fs::read_to_string(&policy)?;
    let write = |text: &str| -> anyhow::Result<()> {
        std::fs::write(policy.with_extension("new"), text)?;
        Ok(std::fs::rename(policy.with_extension("new"), &policy)?)
    };
    write(&text.replace(&one, &two))?;
    let line = host.logged(|line| line.message.starts_with("policy: not reloaded")).await?;
    let lacks =
        Path::new(&mirror.blob(&next)?).parent().and_then(|blob| blob.file_name()).context("a blob")?.to_owned();
    let lacks = format!("its registry has no sha256:{}, which its own manifest names", lacks.display());
    ensure!(line.level == "ERROR" && line.message.contains(&lacks), "{}", line.message);
    ensure!(line.message.contains("what was in force goes on"), "{}", line.message);
    ensure!(in_force(&one)?, "{}", status(&host)?);
    host.allocatable(&KINDS[0].resource(), 2).await?;
    // It is tried again by itself, seldom; and at once for another word of the admin's.
    std::fs::write(mirror.blob(&next)?, kept)?;
    write(&format!("{}# mirrored anew\n", text.replace(&one, &two)))?;
    let deadline = Instant::now() + Duration::from_secs(60);
    while !in_force(&two)? {
        ensure!(Instant::now() < deadline, "{}", status(&host)?);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    host.allocatable(&KINDS[0].resource(), 2).await?;
    Ok(())
}
