//! Devices that are none: what is asked for is given, where no other has it.

use devgate_core::offer::{
    AllocateError, BoxFuture, Device, DeviceList, Driver, NodeEdit, Offer, Offers, Parameters, Reply,
};
use devgate_core::{AllocationId, Ask, Consumer, Devices, Gone, Granted, Mode, Released};
use devgate_types::{Access, ResourceName, Setting, UnitId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

pub(crate) const DRIVER: &str = "gpu.vendor.com";
pub(crate) const GPU: &str = "vendor.com/gpu";
pub(crate) const NIC: &str = "vendor.com/nic";

pub(crate) fn resource(name: &str) -> ResourceName {
    ResourceName::try_new(name).unwrap()
}

/// One resource.
pub(crate) struct Listed {
    name: ResourceName,
    driver: Option<Driver>,
    pub(crate) devices: watch::Sender<Arc<DeviceList>>,
}

impl Listed {
    pub(crate) fn new(name: &str, driver: Option<&str>, ids: &[&str]) -> Arc<Self> {
        let driver = driver.map(|name| Driver {
            name: name.into(),
            admin: name == "admin.vendor.com",
            parameters: match name {
                "told.vendor.com" => Parameters::Component,
                "deaf.vendor.com" => Parameters::Ignore,
                _ => Parameters::Refuse,
            },
            ..Driver::default()
        });
        let device = |id: &&str| Device { id: (*id).to_owned(), facts: Some(Arc::default()), ..Device::default() };
        let devices = ids.iter().map(device).collect();
        let devices = watch::Sender::new(Arc::new(DeviceList { devices }));
        Arc::new(Self { name: resource(name), driver, devices })
    }

    /// Changes a device.
    pub(crate) fn change(&self, id: &str, change: impl Fn(&mut Device)) {
        self.change_all(|device| {
            if device.id == id {
                change(device);
            }
        });
    }

    /// Changes each device.
    pub(crate) fn change_all(&self, change: impl Fn(&mut Device)) {
        self.devices.send_modify(|list| {
            let mut devices = list.devices.clone();
            devices.iter_mut().for_each(&change);
            *list = Arc::new(DeviceList { devices });
        });
    }
}

impl Offer for Listed {
    fn resource(&self) -> &ResourceName {
        &self.name
    }

    fn driver(&self) -> Option<&Driver> {
        self.driver.as_ref()
    }

    fn devices(&self) -> watch::Receiver<Arc<DeviceList>> {
        self.devices.subscribe()
    }

    fn allocate<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, Result<Arc<Reply>, AllocateError>> {
        Box::pin(async { panic!("claims are given by all devices") })
    }

    fn choose<'a>(&'a self, _: &'a [String], _: &'a [String], _: usize) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async { Vec::new() })
    }
}

/// All devices, and who has them.
pub(crate) struct Fake {
    offers: watch::Sender<Arc<[Arc<dyn Offer>]>>,
    held: Mutex<Vec<(Consumer, Mode, Granted)>>,
    next: AtomicU64,
    /// How often a component was asked for a reply.
    pub(crate) calls: AtomicU64,
    /// What a component was told with each, by the request.
    pub(crate) settings: Mutex<BTreeMap<String, Vec<Setting>>>,
    /// Ids whose component does not answer.
    pub(crate) hangs: Mutex<BTreeSet<String>>,
    /// Ids whose component does not release them, and how long it takes to fail.
    pub(crate) dirty: Mutex<BTreeMap<String, Duration>>,
    /// Ids that give nothing.
    pub(crate) empty: Mutex<BTreeSet<String>>,
    /// Ids that come with annotations.
    pub(crate) annotated: Mutex<BTreeSet<String>>,
    /// What restoring says instead of what was given.
    pub(crate) restored: Mutex<Option<Result<Reply, Gone>>>,
}

impl Fake {
    pub(crate) fn new(offers: &[Arc<Listed>]) -> Arc<Self> {
        let fake = Self {
            offers: watch::Sender::new(Arc::from([])),
            held: Mutex::default(),
            next: AtomicU64::new(1),
            calls: AtomicU64::new(0),
            settings: Mutex::default(),
            hangs: Mutex::default(),
            dirty: Mutex::default(),
            empty: Mutex::default(),
            annotated: Mutex::default(),
            restored: Mutex::default(),
        };
        fake.offer(offers);
        Arc::new(fake)
    }

    pub(crate) fn offer(&self, offers: &[Arc<Listed>]) {
        self.offers.send_replace(offers.iter().map(|offer| Arc::clone(offer) as Arc<dyn Offer>).collect());
    }

    /// A consumer has a device.
    pub(crate) fn hold(&self, who: Consumer, resource_name: &str, id: &str, told: bool, tag: &str) {
        let granted = Granted { tag: tag.into(), told, ..self.granted(&ask(resource_name, &[id])) };
        self.held.lock().unwrap().push((who, Mode::Hold, granted));
    }

    /// The node boots: what consumers have is of before.
    pub(crate) fn boot(&self) {
        self.held.lock().unwrap().iter_mut().for_each(|(.., granted)| granted.earlier_boot = true);
    }

    /// The modes of what a consumer has.
    pub(crate) fn modes(&self, who: &Consumer) -> Vec<Mode> {
        let held = self.held.lock().unwrap();
        held.iter().filter(|(held, ..)| held == who).map(|(_, mode, _)| *mode).collect()
    }

    fn granted(&self, ask: &Ask) -> Granted {
        let node = |id: &String| NodeEdit {
            container_path: format!("/dev/{id}"),
            host_path: format!("/dev/{id}"),
            access: Access::READ_WRITE,
        };
        let gives = |id: &&String| !self.empty.lock().unwrap().contains(*id);
        let nodes: Vec<_> = ask.ids.iter().filter(gives).map(node).collect();
        let env = (!nodes.is_empty()).then(|| ("ACME".to_owned(), ask.ids.join(",")));
        let mut reply = Reply { nodes, env: env.into_iter().collect(), ..Reply::default() };
        if ask.ids.iter().any(|id| self.annotated.lock().unwrap().contains(id)) {
            reply.annotations.insert("vendor.com/a".into(), "b".into());
        }
        Granted {
            id: serde_json::from_value(self.next.fetch_add(1, SeqCst).into()).unwrap(),
            tag: ask.tag.clone(),
            resource: ask.resource.clone(),
            ids: ask.ids.clone(),
            reply: Arc::new(reply),
            left: None,
            told: true,
            earlier_boot: false,
        }
    }

    fn why_not(&self, who: &Consumer, ask: &Ask) -> Option<AllocateError> {
        let offers = Arc::clone(&self.offers.borrow());
        let offer = offers.iter().find(|offer| *offer.resource() == ask.resource)?;
        let list = Arc::clone(&offer.devices().borrow());
        let held = self.held.lock().unwrap();
        ask.ids.iter().find_map(|id| {
            let Some(device) = list.devices.iter().find(|device| device.id == *id) else {
                return Some(AllocateError::Unknown(format!("device {id} is not there")));
            };
            if let Some(why) = &device.unhealthy {
                return Some(AllocateError::Refused(format!("device {id}: {why}")));
            }
            let mut others = held.iter().filter(|(other, mode, _)| other != who && *mode == Mode::Hold);
            let other = others.find(|(.., granted)| granted.ids.contains(id))?;
            (ask.mode == Mode::Hold).then(|| AllocateError::Refused(format!("device {id} is in use by {}", other.0)))
        })
    }
}

pub(crate) fn ask(name: &str, ids: &[&str]) -> Ask {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    Ask { resource: resource(name), ids, share: None, mode: Mode::Hold, tag: String::new(), settings: Vec::new() }
}

impl Devices for Fake {
    fn offers(&self) -> Offers {
        self.offers.subscribe()
    }

    fn available(&self, _: &ResourceName, _: &Consumer) -> (Vec<String>, Vec<(String, String)>) {
        Default::default()
    }

    fn working(&self, _: &ResourceName) -> usize {
        0
    }

    fn consumers(&self) -> BTreeSet<Consumer> {
        self.held.lock().unwrap().iter().map(|(who, ..)| who.clone()).collect()
    }

    fn allocate<'a>(
        &'a self,
        who: &'a Consumer,
        asks: &'a [Ask],
        _: Option<Duration>,
    ) -> BoxFuture<'a, Result<Vec<Granted>, AllocateError>> {
        Box::pin(async move {
            let held = self.held(who);
            if !held.is_empty() {
                let is_same = |ask: &Ask| held.iter().any(|had| (&had.ids, &had.tag) == (&ask.ids, &ask.tag));
                let all = held.len() == asks.len() && asks.iter().all(is_same);
                return if all { Ok(held) } else { Err(AllocateError::Refused("asks for something else".into())) };
            }
            if let Some(error) = asks.iter().find_map(|ask| self.why_not(who, ask)) {
                return Err(error);
            }
            let granted: Vec<_> = asks.iter().map(|ask| self.granted(ask)).collect();
            let noted = granted.iter().zip(asks);
            let noted = noted.map(|(of, ask)| (who.clone(), ask.mode, Granted { told: false, ..of.clone() }));
            self.held.lock().unwrap().extend(noted);
            for ask in asks {
                self.calls.fetch_add(1, SeqCst);
                let request = ask.tag.split(' ').next().unwrap().to_owned();
                self.settings.lock().unwrap().insert(request, ask.settings.clone());
                if ask.ids.iter().any(|id| self.hangs.lock().unwrap().contains(id)) {
                    std::future::pending::<()>().await;
                }
                // So that who comes at the same time does.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            self.held.lock().unwrap().iter_mut().filter(|(held, ..)| held == who).for_each(|held| held.2.told = true);
            Ok(granted)
        })
    }

    fn held(&self, who: &Consumer) -> Vec<Granted> {
        let held = self.held.lock().unwrap();
        held.iter().filter(|(held, ..)| held == who).map(|(.., granted)| granted.clone()).collect()
    }

    fn restore<'a>(&'a self, who: &'a Consumer, id: AllocationId) -> BoxFuture<'a, Option<Result<Granted, Gone>>> {
        Box::pin(async move {
            let restored = self.restored.lock().unwrap().clone();
            let granted = self.held(who).into_iter().find(|granted| granted.id == id)?;
            Some(match restored {
                None => Ok(granted),
                Some(Err(gone)) => Err(gone),
                Some(Ok(reply)) => Ok(Granted { reply: Arc::new(reply), ..granted }),
            })
        })
    }

    fn times_moved(&self) -> u64 {
        0
    }

    fn renew(&self, _: &Consumer, _: Option<Duration>) -> bool {
        false
    }

    fn release<'a>(&'a self, who: &'a Consumer, bound: Duration) -> BoxFuture<'a, Released> {
        Box::pin(async move {
            let held = self.held(who);
            self.held.lock().unwrap().retain(|(held, ..)| held != who);
            let ids = held.iter().flat_map(|granted| &granted.ids);
            let dirty = self.dirty.lock().unwrap().clone();
            let dirty: Vec<_> = ids.filter_map(|id| Some((id.clone(), *dirty.get(id)?))).collect();
            let takes = dirty.iter().map(|(_, takes)| *takes).max().unwrap_or_default();
            tokio::time::sleep(takes.min(bound)).await;
            match (held.is_empty(), dirty.is_empty()) {
                (true, _) => Released::Nothing,
                (_, true) => Released::Clean,
                _ => Released::Dirty(dirty.iter().map(|(id, _)| (None, UnitId::try_new(id).unwrap())).collect()),
            }
        })
    }
}
