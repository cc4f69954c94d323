//! How registries are spoken to: what who does it needs of this node's files and of this program's environment, read for each time anew.

use crate::error::{Error, read_file};
use crate::message::wire;
use crate::{authorities, credentials};
use devgate_types::Repository;
use std::path::{Path, PathBuf};

/// The files that say how names are looked up, and the most that is read of each.
const RESOLV_CONF: &str = "/etc/resolv.conf";
const HOSTS: &str = "/etc/hosts";
const MAX_NAMES: u64 = 1024 * 1024;

/// All registries, and how they are spoken to.
#[derive(Debug, Clone, Default)]
pub struct Registries {
    /// A `config.json` with credentials, read anew each time.
    pub config: Option<PathBuf>,
    /// Files with certificate authorities besides the system's.
    pub authorities: Vec<PathBuf>,
    /// Whether registries on a loopback address are spoken to without TLS. Others never are.
    pub plain_loopback: bool,
}

impl Registries {
    /// All that is needed to speak about a repository, and no credentials but its own. Nothing is asked.
    pub fn access(&self, repository: &Repository) -> Result<wire::Access, Error> {
        // Without them a name is looked up by the server of this machine, or is none.
        let names = |file: &str| read_file(Path::new(file), MAX_NAMES).unwrap_or_default();
        Ok(wire::Access {
            credentials: Some(credentials::of(self.config.as_deref(), repository)?),
            authorities: authorities::of_the_system(),
            named: authorities::named(&self.authorities)?,
            plain_loopback: self.plain_loopback,
            resolv_conf: names(RESOLV_CONF),
            hosts: names(HOSTS),
            proxy: variable("HTTPS_PROXY").or_else(|| variable("ALL_PROXY")).unwrap_or_default(),
            no_proxy: variable("NO_PROXY").unwrap_or_default(),
        })
    }
}

/// A variable in upper or lower case, where it says something.
fn variable(name: &str) -> Option<String> {
    let upper = std::env::var(name);
    let said = upper.or_else(|_| std::env::var(name.to_lowercase()));
    said.ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn what_goes_out_of_the_host_has_no_credentials_of_another_repository() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("config.json");
        let text = r#"{"auths": {
            "registry.example.com/vendor": {"username": "anna", "password": "first"},
            "registry.example.com/other": {"username": "otto", "password": "second"},
            "other.example.com": {"registrytoken": "third"}
        }}"#;
        std::fs::write(&config, text).unwrap();
        let registries = Registries { config: Some(config), ..Registries::default() };
        let sent = |name: &str| {
            let repository = Repository { registry: "registry.example.com".to_owned(), name: name.to_owned() };
            let bytes = registries.access(&repository).unwrap().encode_to_vec();
            ["first", "second", "third"].map(|secret| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()))
        };
        assert_eq!(sent("vendor/gpu"), [true, false, false]);
        assert_eq!(sent("other"), [false, true, false]);
        assert_eq!(sent("third"), [false, false, false]);
    }
}
