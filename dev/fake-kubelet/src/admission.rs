//! Pods: admission, starts of their containers, and their end (`manager.go`, Allocate and GetDeviceRunContainerOptions).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::client::{CLOSING, Client};
use super::devices::Allocation;
use super::{Container, Event, Pod, Rejection, RunOptions, StandIn, go_text};
use devgate_kubelet::api;

type Reusable = BTreeMap<String, BTreeSet<String>>;

impl StandIn {
    /// Admits a pod: devices for each container, by one call of `Allocate` for each container and resource.
    ///
    /// # Errors
    /// When devices are missing or a plugin fails. The pod is lost then, as in Kubernetes.
    pub async fn admit(&self, pod: &Pod) -> Result<(), Rejection> {
        let _one_at_a_time = self.shared.admitting.lock().await;
        self.shared.lock().node.active.insert(pod.name.clone());
        self.specs().insert(pod.name.clone(), pod.clone());
        let mut reusable = Reusable::new();
        for container in &pod.containers {
            for (resource, &count) in in_random_order(&container.resources) {
                if let Err(error) = self.allocate(pod, container, resource, count, &mut reusable).await {
                    let rejection = Rejection::new(&error);
                    self.remove(&pod.name);
                    self.shared.events.push(Event::Rejected(pod.name.clone(), rejection.message.clone()));
                    return Err(rejection);
                }
            }
        }
        self.shared.events.push(Event::Admitted(pod.name.clone()));
        Ok(())
    }

    /// Starts a container of an admitted pod, for the first time or again: the cached replies of its resources, merged.
    /// Calls `PreStartContainer` where the plugin asked for it, and `Allocate` only where there is no cached reply, as
    /// after the loss of the checkpoint.
    ///
    /// # Errors
    /// When one of these fails, or the plugin is away: the kubelet would try again later.
    pub async fn start_container(&self, pod: &str, container: &str) -> Result<RunOptions, String> {
        self.allocate_what_is_missing(pod, container).await?;
        let replies = {
            let state = self.shared.lock();
            state.node.pods.get(pod).and_then(|containers| containers.get(container)).cloned().unwrap_or_default()
        };
        let mut options = RunOptions::default();
        for (resource, allocation) in in_random_order(&replies) {
            self.pre_start(resource, &allocation.ids).await?;
            options.add(&allocation.reply, self.shared.config.version);
        }
        Ok(options)
    }

    /// `manager.go`, GetDeviceRunContainerOptions: allocates anew where nothing is remembered.
    async fn allocate_what_is_missing(&self, pod: &str, container: &str) -> Result<(), String> {
        let Some(spec) = self.specs().get(pod).cloned() else {
            return Ok(());
        };
        let Some(container) = spec.containers.iter().find(|one| one.name == container) else {
            return Ok(());
        };
        let remembered = |resource: &String| {
            let state = self.shared.lock();
            let held = state.node.pods.get(pod).and_then(|c| c.get(&container.name));
            held.is_some_and(|held| held.contains_key(resource))
        };
        let _one_at_a_time = self.shared.admitting.lock().await;
        for (resource, &count) in in_random_order(&container.resources) {
            if remembered(resource) {
                continue;
            }
            self.allocate(&spec, container, resource, count, &mut Reusable::new()).await?;
        }
        Ok(())
    }

    pub(super) fn specs(&self) -> MutexGuard<'_, BTreeMap<String, Pod>> {
        self.shared.specs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pod is gone. Its devices are freed when the next pod is admitted; no plugin hears of it.
    pub fn remove(&self, pod: &str) {
        self.specs().remove(pod);
        self.shared.lock().node.active.remove(pod);
    }

    /// The pod's containers have all ended; the pod is still there, as one of a job is. Its devices are freed as those of a
    /// pod that is gone.
    pub fn end(&self, pod: &str) {
        self.shared.lock().node.active.remove(pod);
    }

    /// The names of a pod's containers, in their order; nothing where there is no such pod.
    #[must_use]
    pub fn containers(&self, pod: &str) -> Option<Vec<String>> {
        let specs = self.specs();
        let containers = specs.get(pod)?.containers.iter();
        Some(containers.map(|container| container.name.clone()).collect())
    }

    /// The ids that a container of a pod holds, by resource.
    #[must_use]
    pub fn held(&self, pod: &str, container: &str) -> BTreeMap<String, BTreeSet<String>> {
        let state = self.shared.lock();
        let held = state.node.pods.get(pod).and_then(|containers| containers.get(container));
        let ids = |(resource, allocation): (&String, &Allocation)| (resource.clone(), allocation.ids.clone());
        held.into_iter().flatten().map(ids).collect()
    }

    /// Asks the plugin of a resource which of the available devices it would give; nothing where it has no preferences. As the
    /// kubelet asks before it admits a pod, and without a pod.
    ///
    /// # Errors
    /// As of the call, in the kubelet's words.
    pub async fn preferred(
        &self,
        resource: &str,
        available: &BTreeSet<String>,
        must_include: &BTreeSet<String>,
        size: usize,
    ) -> Result<Option<Vec<String>>, String> {
        let (client, options) = {
            let state = self.shared.lock();
            let process = state.process.as_ref().ok_or("kubelet stopped")?;
            process.registry.endpoint(resource)?
        };
        if !options.get_preferred_allocation_available {
            return Ok(None);
        }
        let request = api::PreferredAllocationRequest {
            container_requests: vec![api::ContainerPreferredAllocationRequest {
                available_device_i_ds: available.iter().cloned().collect(),
                must_include_device_i_ds: must_include.iter().cloned().collect(),
                allocation_size: i32::try_from(size).unwrap_or(i32::MAX),
            }],
        };
        let mut plugin = client.plugin().ok_or("plugin not connected")?;
        let answer = plugin.get_preferred_allocation(request).await;
        let answer = answer.map_err(|status| go_text(&status))?.into_inner();
        let first = answer.container_responses.into_iter().next().unwrap_or_default();
        Ok(Some(first.device_i_ds))
    }

    async fn pre_start(&self, resource: &str, ids: &BTreeSet<String>) -> Result<(), String> {
        let endpoint = {
            let state = self.shared.lock();
            let process = state.process.as_ref().ok_or("kubelet stopped")?;
            // A resource that was restored and has not registered again has no options: the call is skipped.
            if !process.registry.options(resource).pre_start_required {
                return Ok(());
            }
            process.registry.endpoint(resource)?
        };
        let mut plugin = endpoint.0.plugin().ok_or("plugin not connected")?;
        let mut request =
            tonic::Request::new(api::PreStartContainerRequest { devices_ids: ids.iter().cloned().collect() });
        request.set_timeout(self.shared.config.pre_start_timeout);
        let call = tokio::time::timeout(self.shared.config.pre_start_timeout, plugin.pre_start_container(request));
        match call.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(status)) => Err(go_text(&status)),
            Err(_) => Err("rpc error: code = DeadlineExceeded desc = context deadline exceeded".to_owned()),
        }
    }

    async fn allocate(
        &self,
        pod: &Pod,
        container: &Container,
        resource: &str,
        count: usize,
        reusable: &mut Reusable,
    ) -> Result<(), String> {
        let Some(need) = self.need(pod, container, resource, count, reusable)? else {
            return Ok(());
        };
        let ids = self.choose(&need).await?;
        let request = api::AllocateRequest {
            container_requests: vec![api::ContainerAllocateRequest {
                // In random order, as a set of Go's is listed.
                devices_ids: ids.iter().cloned().collect::<HashSet<_>>().into_iter().collect(),
            }],
        };
        let mut plugin = need.client.plugin().ok_or("plugin not connected")?;
        // Without a deadline.
        let response = while_alive(&need, plugin.allocate(request)).await?;
        let reply = response.container_responses.into_iter().next();
        let reply = reply.ok_or("no containers return in allocation response")?;
        let left = reusable.entry(resource.to_owned()).or_default();
        if container.init {
            left.extend(ids.iter().cloned());
        } else {
            left.retain(|id| !ids.contains(id));
        }
        let mut state = self.shared.lock();
        let containers = state.node.pods.entry(pod.name.clone()).or_default();
        let resources = containers.entry(container.name.clone()).or_default();
        resources.insert(resource.to_owned(), Allocation { ids, reply });
        self.shared.save(&state);
        Ok(())
    }

    /// What is still to be allocated for a container, or nothing where it has its devices already.
    fn need(
        &self,
        pod: &Pod,
        container: &Container,
        resource: &str,
        count: usize,
        reusable: &Reusable,
    ) -> Result<Option<Need>, String> {
        let mut state = self.shared.lock();
        state.node.free_removed();
        let state = &*state;
        let process = state.process.as_ref().ok_or("kubelet stopped")?;
        let devices = state.node.devices.get(resource);
        let devices = devices.ok_or_else(|| format!("cannot allocate unregistered device {resource}"))?;
        if devices.healthy.is_empty() {
            return Err(format!("no healthy devices present; cannot allocate unhealthy devices {resource}"));
        }
        let held = state.node.pods.get(&pod.name).and_then(|c| c.get(&container.name)).and_then(|r| r.get(resource));
        if let Some(held) = held {
            if !held.ids.is_subset(&devices.healthy) {
                return Err(format!(
                    "previously allocated devices are no longer healthy; cannot allocate unhealthy devices {resource}"
                ));
            }
            if held.ids.len() != count {
                return Err(format!(
                    "pod {:?} container {:?} changed request for resource {resource:?} from {} to {count}",
                    pod.name,
                    container.name,
                    held.ids.len()
                ));
            }
            return Ok(None);
        }
        let reused = reusable.get(resource).into_iter().flatten().take(count).cloned().collect::<BTreeSet<_>>();
        let allocated = state.node.allocated(resource);
        let available: BTreeSet<String> = devices.healthy.difference(&allocated).cloned().collect();
        let missing = count - reused.len();
        if available.len() < missing {
            return Err(format!(
                "requested number of devices unavailable for {resource}. Requested: {missing}, Available: {}",
                available.len()
            ));
        }
        let chosen = container.chosen.get(resource).cloned();
        if let Some(taken) = chosen.iter().flatten().find(|id| !available.contains(*id)) {
            return Err(format!("device {taken} of {resource} was chosen and is not available"));
        }
        let (client, options) = process.registry.endpoint(resource)?;
        Ok(Some(Need { count, chosen, reused, available, client, options, alive: process.alive.clone() }))
    }

    /// Which devices to take: those of init containers, then what the plugin prefers, then any.
    async fn choose(&self, need: &Need) -> Result<BTreeSet<String>, String> {
        if let Some(chosen) = &need.chosen {
            return Ok(chosen.clone());
        }
        let mut ids = need.reused.clone();
        let missing = need.count - ids.len();
        if need.options.get_preferred_allocation_available && missing > 0 && need.available.len() > missing {
            let available = need.available.union(&ids).cloned().collect();
            let request = api::PreferredAllocationRequest {
                container_requests: vec![api::ContainerPreferredAllocationRequest {
                    available_device_i_ds: available,
                    must_include_device_i_ds: ids.iter().cloned().collect(),
                    allocation_size: i32::try_from(need.count).unwrap_or(i32::MAX),
                }],
            };
            let mut plugin = need.client.plugin().ok_or("plugin not connected")?;
            let answer = while_alive(need, plugin.get_preferred_allocation(request)).await?;
            let preferred = answer.container_responses.into_iter().next().unwrap_or_default();
            // What is not available is ignored, what is too much is cut.
            for id in preferred.device_i_ds {
                if ids.len() < need.count && need.available.contains(&id) {
                    ids.insert(id);
                }
            }
        }
        let rest: HashSet<&String> = need.available.difference(&ids).collect();
        let rest: Vec<String> = rest.into_iter().take(need.count - ids.len()).cloned().collect();
        ids.extend(rest);
        Ok(ids)
    }
}

/// As Go goes through a map.
fn in_random_order<T>(map: &BTreeMap<String, T>) -> HashMap<&String, &T> {
    map.iter().collect()
}

/// What a container still needs of a resource, and who gives it.
struct Need {
    count: usize,
    chosen: Option<BTreeSet<String>>,
    reused: BTreeSet<String>,
    available: BTreeSet<String>,
    client: Arc<Client>,
    options: api::DevicePluginOptions,
    alive: CancellationToken,
}

/// A call's answer, or the error as the kubelet would print it; ends with the connection and with the process.
async fn while_alive<T>(
    need: &Need,
    call: impl Future<Output = Result<tonic::Response<T>, tonic::Status>>,
) -> Result<T, String> {
    tokio::select! {
        // An answer that came before the connection was closed counts, as frames are read in order.
        biased;
        result = call => result.map(tonic::Response::into_inner).map_err(|status| {
            let closed = need.client.disconnect.is_cancelled();
            if closed { CLOSING.to_owned() } else { go_text(&status) }
        }),
        () = need.alive.cancelled() => Err("kubelet stopped".to_owned()),
    }
}
