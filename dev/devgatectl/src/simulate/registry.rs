//! The registry of the hosts that scenarios start.

use devgate::cli::{CACHE, RegistryArgs};
use devgate_types::ByteSize;
use std::path::Path;

/// A cache that is never full by its size: a host that is started for a moment knows one policy only, and must not throw away what the
/// node's own host keeps for others.
const NEVER_FULL: ByteSize = ByteSize(u64::MAX);

/// The options of a registry, for a `devgate run` that is started. It throws nothing away that is in the cache: what this node's own host needs
/// may be there.
pub(super) fn passed_on(registry: &RegistryArgs, pull: bool) -> Vec<String> {
    let mut out = Vec::new();
    let mut add = |name: &str, value: &Path| out.extend([name.to_owned(), value.display().to_string()]);
    add("--cache-dir", registry.cache_dir.as_deref().unwrap_or(CACHE.as_ref()));
    add("--cache-size", NEVER_FULL.to_string().as_ref());
    registry.registry_config.iter().for_each(|file| add("--registry-config", file));
    registry.registry_ca.iter().for_each(|file| add("--registry-ca", file));
    out.extend(registry.registry_http.then(|| "--registry-http".to_owned()));
    out.extend((!pull).then(|| "--no-pull".to_owned()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        registry: RegistryArgs,
    }

    #[test]
    fn what_is_passed_on_is_understood_and_throws_nothing_away() {
        let registry = RegistryArgs { registry_http: true, ..RegistryArgs::default() };
        let line = ["devgate".to_owned()].into_iter().chain(passed_on(&registry, true));
        let Line { registry } = Line::try_parse_from(line).unwrap();
        assert_eq!(registry.cache_size, Some(ByteSize(u64::MAX)));
        assert_eq!(registry.cache_dir.as_deref(), Some(Path::new(CACHE)));
        assert!(registry.registry_http);
    }
}
