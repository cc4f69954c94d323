//! A scripted resource: its devices change, and its allocations are delayed, failed and counted, as the test says.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use devgate_core::offer::{AllocateError, BoxFuture, Device, DeviceList, MountEdit, NodeEdit, Offer, Reply};
use devgate_types::ResourceName;
use tokio::sync::{Semaphore, watch};

pub(crate) struct Fake {
    resource: ResourceName,
    devices: watch::Sender<Arc<DeviceList>>,
    /// A permit for each allocation; as many as anybody wants unless the test closes the gate.
    gate: Semaphore,
    failure: Mutex<Option<AllocateError>>,
    calls: Mutex<Vec<Vec<String>>>,
    inside: AtomicUsize,
    choice: Mutex<Choice>,
    /// Added to every reply.
    extra: Mutex<Reply>,
    /// Whether it wants to know of each start of a container.
    starts: AtomicBool,
    /// What it was told of: starts, and answers that reached no kubelet.
    told: Mutex<Vec<(&'static str, Vec<String>)>>,
}

#[derive(Clone)]
pub(crate) enum Choice {
    /// The last ones by name.
    Last,
    /// Always these, right or wrong.
    These(Vec<String>),
    /// Never ends.
    Hang,
}

impl Fake {
    pub(crate) fn new(resource: &str, ids: &[&str]) -> Arc<Self> {
        let fake = Self {
            resource: ResourceName::try_new(resource).unwrap(),
            devices: watch::Sender::default(),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            failure: Mutex::default(),
            calls: Mutex::default(),
            inside: AtomicUsize::new(0),
            choice: Mutex::new(Choice::Last),
            extra: Mutex::default(),
            starts: AtomicBool::new(false),
            told: Mutex::default(),
        };
        fake.set(ids.iter().map(|id| device(id)).collect());
        Arc::new(fake)
    }

    /// Replaces the list.
    pub(crate) fn set(&self, devices: Vec<Device>) {
        self.devices.send_replace(Arc::new(DeviceList { devices }));
    }

    /// Holds every allocation from now on until [`Self::open_gate`].
    pub(crate) fn close_gate(&self) {
        self.gate.forget_permits(Semaphore::MAX_PERMITS);
    }

    pub(crate) fn open_gate(&self) {
        self.gate.add_permits(1_000);
    }

    pub(crate) fn fail(&self, failure: Option<AllocateError>) {
        *self.failure.lock().unwrap() = failure;
    }

    pub(crate) fn choose_as(&self, choice: Choice) {
        *self.choice.lock().unwrap() = choice;
    }

    pub(crate) fn add(&self, extra: Reply) {
        *self.extra.lock().unwrap() = extra;
    }

    /// Wants to know of each start from now on.
    pub(crate) fn want_starts(&self) {
        self.starts.store(true, Ordering::SeqCst);
    }

    /// What it was told of, in order, each with its ids.
    pub(crate) fn told(&self) -> Vec<(&'static str, Vec<String>)> {
        self.told.lock().unwrap().clone()
    }

    /// The ids of each allocation, in the order of the calls.
    pub(crate) fn calls(&self) -> Vec<Vec<String>> {
        self.calls.lock().unwrap().clone()
    }

    /// How many allocations are under way.
    pub(crate) fn inside(&self) -> usize {
        self.inside.load(Ordering::SeqCst)
    }

    fn reply(&self, ids: &[String]) -> Result<Arc<Reply>, AllocateError> {
        if let Some(failure) = self.failure.lock().unwrap().clone() {
            return Err(failure);
        }
        let list = self.devices.borrow().clone();
        let mut reply = self.extra.lock().unwrap().clone();
        for id in ids {
            let device = list.devices.iter().find(|device| device.id == *id);
            let device = device.ok_or_else(|| AllocateError::Unknown(format!("{}: no device {id}", self.resource)))?;
            if let Some(reason) = &device.unhealthy {
                return Err(AllocateError::Refused(format!("{}: {id} is unhealthy: {reason}", self.resource)));
            }
            reply.nodes.push(NodeEdit {
                container_path: format!("/dev/{id}"),
                host_path: format!("/dev/{id}"),
                access: "rw".parse().unwrap(),
            });
        }
        reply.mounts.push(MountEdit {
            container_path: format!("/opt/{}", self.resource),
            host_path: "/opt".to_owned(),
            read_only: true,
        });
        reply.env.insert(self.resource.as_env(), ids.join(","));
        Ok(Arc::new(reply))
    }
}

impl Offer for Fake {
    fn resource(&self) -> &ResourceName {
        &self.resource
    }

    fn devices(&self) -> watch::Receiver<Arc<DeviceList>> {
        self.devices.subscribe()
    }

    fn allocate<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<Arc<Reply>, AllocateError>> {
        Box::pin(async move {
            self.calls.lock().unwrap().push(ids.to_vec());
            self.inside.fetch_add(1, Ordering::SeqCst);
            self.gate.acquire().await.unwrap().forget();
            self.inside.fetch_sub(1, Ordering::SeqCst);
            self.reply(ids)
        })
    }

    fn take_back<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.told.lock().unwrap().push(("taken back", ids.to_vec())) })
    }

    fn starts(&self) -> bool {
        self.starts.load(Ordering::SeqCst)
    }

    fn start<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<(), AllocateError>> {
        Box::pin(async move {
            self.told.lock().unwrap().push(("started", ids.to_vec()));
            self.gate.acquire().await.unwrap().forget();
            self.failure.lock().unwrap().clone().map_or(Ok(()), Err)
        })
    }

    fn choose<'a>(
        &'a self,
        available: &'a [String],
        must_include: &'a [String],
        size: usize,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            let choice = self.choice.lock().unwrap().clone();
            match choice {
                Choice::These(ids) => ids,
                Choice::Hang => std::future::pending().await,
                Choice::Last => {
                    let mut chosen: BTreeSet<String> = must_include.iter().cloned().collect();
                    let mut rest = available.to_vec();
                    rest.sort();
                    while chosen.len() < size
                        && let Some(id) = rest.pop()
                    {
                        chosen.insert(id);
                    }
                    chosen.into_iter().collect()
                }
            }
        })
    }
}

pub(crate) fn device(id: &str) -> Device {
    Device { id: id.to_owned(), unhealthy: None, ..Device::default() }
}

pub(crate) fn unhealthy(id: &str) -> Device {
    Device { unhealthy: Some("too hot".into()), ..device(id) }
}

pub(crate) fn on_nodes(id: &str, nodes: &[u32]) -> Device {
    Device { numa_nodes: nodes.iter().copied().collect(), ..device(id) }
}
