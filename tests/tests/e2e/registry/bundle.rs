//! A component that is signed as cosign 3 does: a bundle that refers to it.

use super::signed::shown;
use super::*;

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

impl Registry {
    /// Sends a file with curl, which knows nothing of devgate; what it is answered, with its head.
    fn curl(&self, more: &[&str]) -> anyhow::Result<String> {
        let options = ["-sS", "--fail", "--cacert", "ca.pem", "-u", "anna:secret", "-i"];
        let output = run("curl", self.dir.path(), &[&options[..], more].concat())?;
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Puts bytes there; digest and size, as a descriptor has them.
    fn put_blob(&self, repository: &str, bytes: &[u8]) -> anyhow::Result<String> {
        std::fs::write(self.path("blob"), bytes)?;
        let url = format!("https://localhost:{}/v2/{repository}/blobs/uploads/", self.port);
        let begun = self.curl(&["-X", "POST", &url])?;
        let location = begun
            .lines()
            .find_map(|line| line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("location")));
        let location = location.context("a location")?.1.trim();
        let hex = devgate_types::Digest(devgate_runner::digest(bytes)).hex();
        let url = format!("{location}&digest=sha256:{hex}");
        let put = ["-X", "PUT", "-H", "Content-Type: application/octet-stream", "--data-binary", "@blob", &url];
        self.curl(&put)?;
        Ok(format!(r#""digest":"sha256:{hex}","size":{}"#, bytes.len()))
    }

    /// Puts a manifest there, under a tag or, without one, its digest.
    fn put_manifest(&self, repository: &str, tag: Option<&str>, kind: &str, text: &str) -> anyhow::Result<String> {
        std::fs::write(self.path("manifest"), text)?;
        let digest = format!("sha256:{}", devgate_types::Digest(devgate_runner::digest(text.as_bytes())).hex());
        let name = tag.unwrap_or(&digest);
        let url = format!("https://localhost:{}/v2/{repository}/manifests/{name}", self.port);
        let kind = format!("Content-Type: {kind}");
        self.curl(&["-X", "PUT", "-H", &kind, "--data-binary", "@manifest", &url])?;
        Ok(format!(r#""digest":"{digest}","size":{}"#, text.len()))
    }

    /// States something of an artifact, and has its statement refer to it. The registry knows no referrers, so that their list is under a tag, as cosign's
    /// library writes it: with the configuration's type in place of the manifest's.
    fn state(&self, pinned: &str, what: &str, key: &str) -> anyhow::Result<()> {
        let (repository, hex) = ("vendor/generic", pinned.split_once("@sha256:").context("a digest")?.1);
        let statement = format!(
            r#"{{"_type":"https://in-toto.io/Statement/v1","subject":[{{"digest":{{"sha256":"{hex}"}}}}],"predicateType":"{what}","predicate":{{}}}}"#
        );
        let kind = "application/vnd.in-toto+json";
        let message = format!("DSSEv1 {} {kind} {} {statement}", kind.len(), statement.len());
        let at = self.dir.path();
        std::fs::write(at.join("payload"), &message)?;
        std::fs::write(at.join("statement"), &statement)?;
        run("openssl", at, &["dgst", "-sha256", "-sign", key, "-out", "signature", "payload"])?;
        let base64 = |file| anyhow::Ok(String::from_utf8(run("openssl", at, &["base64", "-A", "-in", file])?.stdout)?);
        let bundle = format!(
            r#"{{"mediaType":"{BUNDLE}","verificationMaterial":{{"publicKey":{{"hint":""}}}},"dsseEnvelope":{{"payload":"{}","payloadType":"{kind}","signatures":[{{"sig":"{}"}}]}}}}"#,
            base64("statement")?,
            base64("signature")?
        );
        let (config, layer) = (self.put_blob(repository, b"{}")?, self.put_blob(repository, bundle.as_bytes())?);
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","artifactType":"{BUNDLE}","config":{{"mediaType":"{EMPTY}",{config}}},"layers":[{{"mediaType":"{BUNDLE}",{layer}}}]}}"#
        );
        let manifest = self.put_manifest(repository, None, MANIFEST, &manifest)?;
        let index = format!(
            r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{{"mediaType":"{MANIFEST}","artifactType":"{EMPTY}",{manifest}}}]}}"#
        );
        self.put_manifest(repository, Some(&format!("sha256-{hex}")), INDEX, &index)?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_that_consents_counts_and_one_that_only_states_something_does_not() -> anyhow::Result<()> {
    let Some(registry) = Registry::start()? else {
        return Ok(());
    };
    let pinned = registry.push("vendor/generic:1")?;
    let at = registry.dir.path();
    shown(at, "key", &[])?;
    registry.state(&pinned, "https://cosign.sigstore.dev/attestation/vuln/v1", "vendor.key")?;
    let component = format!("{{oci: \"{pinned}\", signature: {{cosign-key: vendor.pem}}}}");
    let host =
        setup(&registry, &component).with("vendor.pem", std::fs::read(registry.path("vendor.pem"))?).start().await?;
    let line = host.logged(|line| line.family == "refused").await?;
    ensure!(line.message.contains("is not signed by a key of the policy"), "{}", line.message);
    registry.state(&pinned, "https://sigstore.dev/cosign/sign/v1", "vendor.key")?;
    host.allocatable(&KINDS[0].resource(), 2).await?;
    Ok(())
}
