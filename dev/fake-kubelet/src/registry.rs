//! Who is registered for which resource, with the kubelet's two ways of remembering it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::KubeletVersion;
use super::client::Client;
use devgate_kubelet::api;

/// The registered plugins of one process.
#[derive(Default)]
pub(super) struct Registry {
    /// By resource: whose calls serve it.
    endpoints: BTreeMap<String, Endpoint>,
    /// By resource: the client that a stream's end looks up, up to 1.36 whichever registered last.
    clients: BTreeMap<String, Arc<Client>>,
    /// All open streams.
    streams: Vec<Arc<Client>>,
}

/// How a resource is reached.
struct Endpoint {
    /// Nothing after a restart, until the plugin registers again.
    client: Option<Arc<Client>>,
    options: api::DevicePluginOptions,
    stopped: Option<Instant>,
}

impl Registry {
    /// After a restart: resources from the checkpoint are known, but stopped.
    pub(super) fn restored<'a>(resources: impl Iterator<Item = &'a String>) -> Self {
        let stopped = |resource: &String| {
            let endpoint =
                Endpoint { client: None, options: api::DevicePluginOptions::default(), stopped: Some(Instant::now()) };
            (resource.clone(), endpoint)
        };
        Self { endpoints: resources.map(stopped).collect(), ..Self::default() }
    }

    /// Before the plugin is dialled.
    pub(super) fn remember(&mut self, client: &Arc<Client>) {
        self.clients.insert(client.resource.clone(), Arc::clone(client));
    }

    /// The plugin could not be reached. Up to 1.36 an older client of the resource is forgotten with it: when its stream
    /// ends, its devices are not marked unhealthy.
    pub(super) fn forget(&mut self, client: &Arc<Client>, version: KubeletVersion) {
        self.clients.remove(&client.resource);
        if !version.confuses_clients()
            && let Some(endpoint) = self.endpoints.get(&client.resource)
            && let Some(older) = endpoint.client.as_ref().filter(|_| endpoint.stopped.is_none())
        {
            self.clients.insert(client.resource.clone(), Arc::clone(older));
        }
    }

    /// The plugin answered: it serves the resource from now on.
    pub(super) fn connected(&mut self, client: &Arc<Client>, options: api::DevicePluginOptions) {
        let endpoint = Endpoint { client: Some(Arc::clone(client)), options, stopped: None };
        self.endpoints.insert(client.resource.clone(), endpoint);
        self.streams.push(Arc::clone(client));
    }

    /// Whether a list of this client counts. Up to 1.36 any client's does; later only the newest's.
    pub(super) fn listens_to(&self, client: &Arc<Client>, version: KubeletVersion) -> bool {
        version.confuses_clients() || self.serves(client)
    }

    fn serves(&self, client: &Arc<Client>) -> bool {
        let endpoint = self.endpoints.get(&client.resource).and_then(|e| e.client.as_ref());
        endpoint.is_some_and(|current| Arc::ptr_eq(current, client))
    }

    /// A stream ended. Answers which client is to be disconnected for it, and whether the resource is without a plugin
    /// now.
    pub(super) fn ended(&mut self, client: &Arc<Client>, version: KubeletVersion) -> (Option<Arc<Client>>, bool) {
        self.streams.retain(|other| !Arc::ptr_eq(other, client));
        let (victim, orphaned) = if version.confuses_clients() {
            // `handler.go`, runClient: looked up by name, so it may be the wrong one.
            match self.clients.remove(&client.resource) {
                Some(found) => (Some(found), true),
                None => (None, false),
            }
        } else {
            if self.clients.get(&client.resource).is_some_and(|c| Arc::ptr_eq(c, client)) {
                self.clients.remove(&client.resource);
            }
            (Some(Arc::clone(client)), self.serves(client))
        };
        if orphaned && let Some(endpoint) = self.endpoints.get_mut(&client.resource) {
            endpoint.stopped = Some(Instant::now());
        }
        (victim, orphaned)
    }

    /// Resources whose plugin has been away for longer than `grace`; they are forgotten.
    pub(super) fn expired(&mut self, grace: Duration) -> Vec<String> {
        let expired = |e: &Endpoint| e.stopped.is_some_and(|since| since.elapsed() >= grace);
        let names: Vec<String> =
            self.endpoints.iter().filter(|(_, e)| expired(e)).map(|(name, _)| name.clone()).collect();
        for name in &names {
            self.endpoints.remove(name);
        }
        names
    }

    /// The client that serves a resource and its options.
    ///
    /// # Errors
    /// When there is none: the kubelet's text.
    pub(super) fn endpoint(&self, resource: &str) -> Result<(Arc<Client>, api::DevicePluginOptions), String> {
        let endpoint = self.endpoints.get(resource).ok_or_else(|| format!("unknown Device Plugin {resource}"))?;
        match (&endpoint.client, endpoint.stopped) {
            (Some(client), None) => Ok((Arc::clone(client), endpoint.options)),
            _ => Err(format!("endpoint {resource} has been stopped")),
        }
    }

    /// The options of a resource, none while it is unknown or restored.
    pub(super) fn options(&self, resource: &str) -> api::DevicePluginOptions {
        self.endpoints.get(resource).map(|e| e.options).unwrap_or_default()
    }

    /// Ends the streams of a resource.
    pub(super) fn disconnect(&self, resource: &str) {
        for client in self.streams.iter().filter(|c| c.resource == resource) {
            client.disconnect.cancel();
        }
    }

    /// The sockets with an open stream.
    pub(super) fn streams(&self, resource: &str) -> Vec<PathBuf> {
        self.streams.iter().filter(|c| c.resource == resource).map(|c| c.path.clone()).collect()
    }
}
