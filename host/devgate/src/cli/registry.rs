//! Options for registries, and of `pull`.

use super::Output;
use clap::Args;
use devgate_oci::{Registries, Store, StoreSettings};
use devgate_runner::{Program, ProgramError};
use devgate_types::{ByteSize, Reference};
use std::path::{Path, PathBuf};

/// Where commands other than `run` look for what was pulled: where `run` keeps it, unless it is told otherwise.
pub const CACHE: &str = "/var/lib/devgate/components";

/// Said of each option: what a struct says of its own would be said of all that come after it, too.
pub const HEADING: &str = "Components from a registry";

/// What `devgate pull --help` says last.
pub(super) const PULL_HELP: &str = "\
Examples:
  devgate pull registry.example.com/vendor/gpu:1.2             the file gpu.wasm, and what to write into a policy
  devgate pull registry.example.com/vendor/gpu:1.2 --out /var/lib/devgate/components.d/gpu.wasm
  devgate pull registry.example.com/vendor/gpu@sha256:9f2c… --cosign-key vendor.pem --output json

Exit codes:
  0  the component was pulled and is what its digest and signature say
  1  the registry cannot be asked, has no such component, or the file cannot be written
  5  it is no component, is too large, or is not signed by one of the keys; nothing was written";

/// How to speak to registries, and where to keep what they give.
#[derive(Debug, Clone, Default, Args)]
pub struct RegistryArgs {
    /// Where to keep components that were pulled, each checked whenever it is used [default: components in the state directory, that is
    /// /var/lib/devgate/components]
    #[arg(long, value_name = "DIR", help_heading = HEADING)]
    pub cache_dir: Option<PathBuf>,

    /// How much to keep of components that no policy names any more
    #[arg(long, value_name = "SIZE", default_value = "512MiB", help_heading = HEADING)]
    pub cache_size: Option<ByteSize>,

    /// Credentials: a config.json, as docker and podman write it and pull secrets have it; read anew for each pull
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub registry_config: Option<PathBuf>,

    /// A file with certificate authorities in PEM that registries' certificates may come from, besides the system's; may be given
    /// several times
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub registry_ca: Vec<PathBuf>,

    /// Speak HTTP instead of HTTPS to registries on a loopback address; others are always spoken to over HTTPS
    #[arg(long, help_heading = HEADING)]
    pub registry_http: bool,
}

impl RegistryArgs {
    /// How registries are spoken to.
    pub fn registries(&self) -> Registries {
        let config = self.registry_config.clone().or_else(|| {
            let named = PathBuf::from(std::env::var_os("DOCKER_CONFIG")?).join("config.json");
            named.exists().then_some(named)
        });
        Registries { config, authorities: self.registry_ca.clone(), plain_loopback: self.registry_http }
    }

    /// The cache, and the registries behind it by this program; of a host with this state directory.
    pub fn store(&self, state_dir: Option<&Path>, pull: bool, puller: Result<Program, ProgramError>) -> Store {
        let cache = self.cache_dir.clone();
        let cache = cache.or_else(|| state_dir.map(|dir| dir.join("components")));
        Store::new(StoreSettings {
            cache: cache.unwrap_or_else(|| CACHE.into()),
            most: self.cache_size.unwrap_or(ByteSize::mib(512)),
            pull,
            registries: self.registries(),
            puller,
        })
    }
}

/// Options of `devgate pull`.
#[derive(Debug, Clone, Args)]
pub struct PullArgs {
    /// The component: registry, name, and tag or digest
    #[arg(value_name = "REFERENCE")]
    pub(crate) reference: Reference,

    /// Where to write the component; what is there is replaced [default: the last part of its name and .wasm, in this directory]
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// A public key in PEM that must have signed it with cosign; of several, one
    #[arg(long, value_name = "FILE")]
    pub(crate) cosign_key: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) registry: RegistryArgs,

    /// How to show what was pulled
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}
