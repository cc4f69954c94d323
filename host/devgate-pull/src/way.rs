//! The way to a registry: whom its certificate must come from, by which proxy it is reached, and which redirects are followed.

use crate::error::chain;
use crate::names::{Names, Resolver};
use crate::tls;
use devgate_oci::Error;
use devgate_oci::child::wire;
use devgate_types::Repository;
use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, Proxy, Url};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

/// How long to wait for a connection, and for each next byte.
const CONNECT: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(30);
/// Redirects of one request.
const REDIRECTS: usize = 5;

/// How one registry is reached.
pub(crate) struct Way {
    pub(crate) client: Client,
    /// Follows nothing: for what has credentials in its body, which a redirect would take along.
    pub(crate) direct: Client,
    pub(crate) base: Url,
    pub(crate) plain: bool,
}

impl Way {
    pub(crate) fn new(access: &wire::Access, repository: &Repository) -> Result<Self, Error> {
        let plain = access.plain_loopback;
        let redirects = Policy::custom(move |attempt| {
            if attempt.previous().len() > REDIRECTS {
                attempt.error("too many redirects")
            } else if is_safe(attempt.url(), plain) {
                attempt.follow()
            } else {
                attempt.error("it redirects to something else than HTTPS")
            }
        });
        let registry = repository.registry.as_str();
        // Docker's own registry is elsewhere than its name says.
        let host = if registry == "docker.io" { "registry-1.docker.io" } else { registry };
        let scheme = |scheme: &str| Url::parse(&format!("{scheme}://{host}/v2/{}/", repository.name));
        let base = match scheme("http") {
            Ok(url) if is_safe(&url, plain) => Ok(url),
            _ => scheme("https"),
        };
        let base = base.map_err(|_| Error::Host(format!("{registry}: is no host")))?;
        let tls = tls::config(access, base.scheme() == "https")?;
        let names = Names::new(&access.resolv_conf, &access.hosts);
        let names = names.map_err(|error| Error::Host(format!("/etc/resolv.conf or /etc/hosts: {error}")))?;
        let resolver = Arc::new(Resolver(Arc::new(names)));
        // What is not encrypted does not leave this machine: another machine's loopback is not meant.
        let proxy = match base.scheme() {
            "http" => None,
            _ => proxy(access)?,
        };
        let client = |redirects| {
            let builder = Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .dns_resolver(Arc::clone(&resolver))
                .connect_timeout(CONNECT)
                .read_timeout(IDLE)
                .redirect(redirects)
                .referer(false)
                .no_proxy()
                .user_agent(concat!("devgate/", env!("CARGO_PKG_VERSION")));
            let builder = match &proxy {
                Some(proxy) => builder.proxy(proxy.clone()),
                None => builder,
            };
            let built = builder.build();
            built.map_err(|error| Error::Host(format!("HTTP client: {}", chain(&error))))
        };
        Ok(Self { client: client(redirects)?, direct: client(Policy::none())?, base, plain })
    }
}

/// Whether what is sent there cannot be read or changed on the way.
pub(crate) fn is_safe(url: &Url, plain_loopback: bool) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let loopback = bare == "localhost"
        || bare.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || bare.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
    url.scheme() == "https" || (url.scheme() == "http" && plain_loopback && loopback)
}

/// What stands between, for what is encrypted.
fn proxy(access: &wire::Access) -> Result<Option<Proxy>, Error> {
    if access.proxy.is_empty() {
        return Ok(None);
    }
    // What is wrong is not shown: there may be a password in it. The client would pass over what it does not know.
    let wrong = || {
        let text = "HTTPS_PROXY (or ALL_PROXY): is no address of a proxy that is known here, such as http://proxy.example.com:3128";
        Error::Host(text.to_owned())
    };
    if access.proxy.split_once("://").is_some_and(|(scheme, _)| !["http", "https"].contains(&scheme)) {
        return Err(wrong());
    }
    let proxy = Proxy::https(&access.proxy).map_err(|_| wrong())?;
    Ok(Some(proxy.no_proxy(NoProxy::from_string(&access.no_proxy))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_spoken_to_without_tls_and_only_where_that_is_said() {
        let safe = |url: &str, plain: bool| is_safe(&Url::parse(url).unwrap(), plain);
        for url in ["http://localhost:5000/", "http://127.0.0.1/", "http://127.9.9.9/", "http://[::1]:5000/"] {
            assert!(safe(url, true) && !safe(url, false), "{url}");
        }
        for url in
            ["http://registry.example.com/", "http://10.0.0.1/", "http://localhost.example.com/", "ftp://localhost/"]
        {
            assert!(!safe(url, true), "{url}");
        }
        assert!(safe("https://registry.example.com/", false));
    }

    #[test]
    fn a_proxy_that_is_not_known_is_not_gone_around() {
        let of = |text: &str| proxy(&wire::Access { proxy: text.to_owned(), ..wire::Access::default() });
        assert!(of("").unwrap().is_none());
        for known in
            ["http://anna:secret@proxy.example.com:3128", "https://proxy.example.com", "proxy.example.com:3128"]
        {
            assert!(of(known).unwrap().is_some(), "{known}");
        }
        for unknown in ["socks5://anna:secret@proxy.example.com", "http://anna:secret@:x"] {
            let why = of(unknown).unwrap_err().to_string();
            assert!(why.starts_with("HTTPS_PROXY (or ALL_PROXY): is no address") && !why.contains("secret"), "{why}");
        }
    }
}
