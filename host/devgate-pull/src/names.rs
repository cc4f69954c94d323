//! Which addresses a name has, by the hosts file and the servers of resolv.conf: what the C library does with files that cannot be opened
//! here.

use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::system_conf::parse_resolv_conf;
use hickory_resolver::{Hosts, TokioResolver};
use reqwest::dns::{Addrs, Name as Asked, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

type Boxed = Box<dyn std::error::Error + Send + Sync>;

/// Looks names up.
pub(crate) struct Names {
    hosts: Hosts,
    resolver: TokioResolver,
}

impl Names {
    /// By these files.
    pub(crate) fn new(resolv_conf: &[u8], hosts: &[u8]) -> Result<Self, Boxed> {
        let mut known = Hosts::default();
        known.read_hosts_conf(hosts)?;
        let (config, options) = read(resolv_conf);
        let mut builder =
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()).with_options(options);
        builder.options_mut().ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        // It would open this node's itself.
        builder.options_mut().use_hosts_file = ResolveHosts::Never;
        let resolver = builder.build()?;
        Ok(Self { hosts: known, resolver })
    }

    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Boxed> {
        let known = self.in_hosts(name);
        if !known.is_empty() {
            return Ok(known);
        }
        let found = self.resolver.lookup_ip(name).await?;
        Ok(found.iter().collect())
    }

    /// Before any server is asked, also one about the name within a search domain.
    fn in_hosts(&self, name: &str) -> Vec<IpAddr> {
        let Ok(mut name) = Name::from_utf8(name) else {
            return Vec::new();
        };
        name.set_fqdn(true);
        let found = [RecordType::A, RecordType::AAAA].into_iter().filter_map(|kind| {
            let query = Query::query(name.clone(), kind);
            self.hosts.lookup_static_host(&query)
        });
        let records = found.flat_map(|lookup| lookup.answers().to_vec());
        records.filter_map(|record| record.data.ip_addr()).collect()
    }
}

/// As the C library reads it: what is wrong in it is passed over, and without a server it is this machine's.
fn read(resolv_conf: &[u8]) -> (ResolverConfig, ResolverOpts) {
    let text = String::from_utf8_lossy(resolv_conf);
    let counts = |line: &&str| ["nameserver", "options"].iter().any(|word| line.starts_with(word));
    let without_domains: String = text.lines().filter(counts).flat_map(|line| [line, "\n"]).collect();
    let local = || {
        let server = NameServerConfig::udp_and_tcp(IpAddr::V4(Ipv4Addr::LOCALHOST));
        (ResolverConfig::from_parts(None, Vec::new(), vec![server]), ResolverOpts::default())
    };
    let read = parse_resolv_conf(text.as_bytes()).or_else(|_| parse_resolv_conf(&without_domains));
    read.unwrap_or_else(|_| local())
}

/// As a client asks for them.
pub(crate) struct Resolver(pub(crate) Arc<Names>);

impl Resolve for Resolver {
    fn resolve(&self, name: Asked) -> Resolving {
        let names = Arc::clone(&self.0);
        Box::pin(async move {
            let found = names.addresses(name.as_str()).await?;
            // The port is the address's.
            let found: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(found)
        })
    }
}
