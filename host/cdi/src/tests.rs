//! A host that is none: devices of one resource, and leases of them.

mod cncf_library;
mod leases;
mod pods;
mod requests;

use crate::edits::spec;
use crate::name::Kind;
use devgate_core::offer::{AllocateError, BoxFuture, Device, DeviceList, MountEdit, NodeEdit, Offer, Offers, Reply};
use devgate_core::{AllocationId, Ask, Consumer, Devices, Gone, Granted, Released};
use devgate_fake_node::RecordedNode;
use devgate_node::Node;
use devgate_types::{Access, ResourceName, UnitId};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// Two devices with a node each, and one without.
const NODE: &str = "\
P: /devices/virtual/acme/acme0
N: acme0
E: DEVNAME=/dev/acme0
E: SUBSYSTEM=acme
E: MAJOR=240
E: MINOR=0
A: dev=240:0

P: /devices/virtual/acme/acme1
N: acme1
E: DEVNAME=/dev/acme1
E: SUBSYSTEM=acme
E: MAJOR=240
E: MINOR=1
A: dev=240:1
";

pub(crate) fn recorded() -> RecordedNode {
    RecordedNode::parse("test", NODE).unwrap()
}

pub(crate) fn node() -> Node {
    recorded().into()
}

pub(crate) fn resource() -> ResourceName {
    ResourceName::try_new("vendor.com/acme").unwrap()
}

/// Names of resources, and of leases, of every sort.
pub(crate) const RESOURCES: &str = "[a-z0-9]{1,9}(\\.[a-z0-9]{1,9}){0,3}/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
pub(crate) const LEASES: &str = "[a-z0-9]([a-z_.:-]{0,61}[a-z0-9])?";

/// What the gate may let through.
fn replies() -> impl Strategy<Value = Reply> {
    let node = (0_u8..2, "/dev/[a-z]{1,9}", prop::sample::select(vec!["r", "w", "rw", "rwm"]));
    let node = node.prop_map(|(n, container_path, access)| NodeEdit {
        // Half of them are where they are on the machine.
        container_path: if n == 0 { format!("/dev/acme{n}") } else { container_path },
        host_path: format!("/dev/acme{n}"),
        access: access.parse().unwrap(),
    });
    let mount = ("/\\PC{1,9}", "/[a-z]{1,9}", any::<bool>());
    let mount =
        mount.prop_map(|(container_path, host_path, read_only)| MountEdit { container_path, host_path, read_only });
    (
        prop::collection::btree_map("[A-Z_]{1,8}", "(?s).{0,20}", 0..4),
        prop::collection::vec(mount, 0..4),
        prop::collection::vec(node, 0..4),
    )
        .prop_map(|(env, mounts, nodes)| Reply { env, mounts, nodes, ..Reply::default() })
}

/// What a container needs to use a device.
fn reply(id: &str) -> Reply {
    let node = |path: String| NodeEdit { container_path: path.clone(), host_path: path, access: Access::READ_WRITE };
    Reply {
        env: BTreeMap::from([("ACME".to_owned(), id.to_owned())]),
        nodes: vec![node(format!("/dev/{id}"))],
        ..Reply::default()
    }
}

/// Devices of one resource. What is asked for is given, where no other has it.
pub(crate) struct Fake {
    offers: watch::Sender<Arc<[Arc<dyn Offer>]>>,
    held: Mutex<Vec<(Consumer, Granted)>>,
    next: AtomicU64,
    pub(crate) moved: AtomicU64,
    /// What restoring says instead of what was given.
    pub(crate) restored: Mutex<Option<Result<Reply, Gone>>>,
    /// Ids that a pod gets whenever they are asked for.
    pub(crate) raced: Mutex<BTreeSet<String>>,
    pub(crate) taken_back: Arc<Mutex<Vec<String>>>,
    /// Whether components do not release what is over.
    pub(crate) dirty: AtomicBool,
}

struct Acme {
    devices: watch::Sender<Arc<DeviceList>>,
    taken_back: Arc<Mutex<Vec<String>>>,
}

impl Offer for Acme {
    fn resource(&self) -> &ResourceName {
        static NAME: std::sync::OnceLock<ResourceName> = std::sync::OnceLock::new();
        NAME.get_or_init(resource)
    }

    fn devices(&self) -> watch::Receiver<Arc<DeviceList>> {
        self.devices.subscribe()
    }

    fn allocate<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<Arc<Reply>, AllocateError>> {
        Box::pin(async { Ok(Arc::new(reply(&ids[0]))) })
    }

    fn take_back<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, ()> {
        Box::pin(async { self.taken_back.lock().unwrap().extend(ids.iter().cloned()) })
    }

    fn choose<'a>(&'a self, available: &'a [String], must: &'a [String], size: usize) -> BoxFuture<'a, Vec<String>> {
        let rest = available.iter().filter(|id| !must.contains(id));
        let chosen: Vec<_> = must.iter().chain(rest).take(size).cloned().collect();
        Box::pin(async move { if chosen.len() == size { chosen } else { Vec::new() } })
    }
}

impl Fake {
    pub(crate) fn new(ids: &[&str]) -> Arc<Self> {
        Self::on(&ids.iter().map(|id| (*id, None)).collect::<Vec<_>>())
    }

    /// Devices, and the NUMA node of each.
    pub(crate) fn on(ids: &[(&str, Option<u32>)]) -> Arc<Self> {
        let device = |(id, numa): &(&str, Option<u32>)| Device {
            id: (*id).to_owned(),
            numa_nodes: numa.iter().copied().collect(),
            ..Device::default()
        };
        let devices = ids.iter().map(device).collect();
        let (devices, taken_back) = (watch::Sender::new(Arc::new(DeviceList { devices })), Arc::default());
        let offer: Arc<dyn Offer> = Arc::new(Acme { devices, taken_back: Arc::clone(&taken_back) });
        Arc::new(Self {
            offers: watch::Sender::new([offer].into()),
            held: Mutex::default(),
            next: AtomicU64::new(1),
            moved: AtomicU64::new(0),
            restored: Mutex::default(),
            raced: Mutex::default(),
            taken_back,
            dirty: AtomicBool::new(false),
        })
    }

    fn all(&self) -> Vec<String> {
        let offers = self.offers.borrow();
        let list = offers[0].devices();
        list.borrow().devices.iter().map(|device| device.id.clone()).collect()
    }

    fn holder(&self, id: &str) -> Option<Consumer> {
        let held = self.held.lock().unwrap();
        let mut found = held.iter().filter(|(_, granted)| granted.ids.iter().any(|held| held == id));
        found.next().map(|(who, _)| who.clone())
    }

    /// Its time is over.
    pub(crate) fn expire(&self, who: &Consumer) {
        self.held.lock().unwrap().retain(|(held, _)| held != who);
    }

    /// The host that follows has no memory of this one's.
    pub(crate) fn forget(&self, ids: &[&str]) {
        self.held.lock().unwrap().retain(|(_, granted)| granted.ids != ids);
    }

    /// What is offered is this from now on.
    pub(crate) fn offer(&self, offers: &[Arc<dyn Offer>]) {
        self.offers.send_replace(offers.into());
    }
}

impl Devices for Fake {
    fn offers(&self) -> Offers {
        self.offers.subscribe()
    }

    fn available(&self, _resource: &ResourceName, _who: &Consumer) -> (Vec<String>, Vec<(String, String)>) {
        let held = |id: String| Some((id.clone(), format!("is given to {}", self.holder(&id)?)));
        let free = self.all().into_iter().filter(|id| self.holder(id).is_none()).collect();
        (free, self.all().into_iter().filter_map(held).collect())
    }

    fn working(&self, _resource: &ResourceName) -> usize {
        self.all().len()
    }

    fn consumers(&self) -> BTreeSet<Consumer> {
        let held = self.held.lock().unwrap();
        let who = held.iter().map(|(who, _)| who.clone());
        who.filter(|who| *who != Consumer::Pods).collect()
    }

    fn allocate<'a>(
        &'a self,
        who: &'a Consumer,
        asks: &'a [Ask],
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Result<Vec<Granted>, AllocateError>> {
        Box::pin(async move {
            let [ask] = asks else { panic!("one at a time") };
            let pods = *who == Consumer::Pods;
            let mut has = self.held(who).into_iter();
            if let Some(held) = has.find(|held| !pods || held.ids == ask.ids) {
                return Ok(vec![held]);
            }
            let is_taken = |id: &&String| self.holder(id).is_some_and(|holder| !pods || holder != *who);
            let taken = ask.ids.iter().find(|id| is_taken(id) || self.raced.lock().unwrap().remove(*id));
            if let Some(taken) = taken {
                return Err(AllocateError::Refused(format!("{taken} is in use")));
            }
            let mut all = Reply::default();
            for reply in ask.ids.iter().map(|id| reply(id)) {
                all.env.extend(reply.env);
                all.nodes.extend(reply.nodes);
            }
            let granted = Granted {
                id: serde_json::from_value(self.next.fetch_add(1, Relaxed).into()).unwrap(),
                tag: String::new(),
                resource: ask.resource.clone(),
                ids: ask.ids.clone(),
                reply: Arc::new(all),
                left: ttl,
                told: true,
                earlier_boot: false,
            };
            self.held.lock().unwrap().push((who.clone(), granted.clone()));
            Ok(vec![granted])
        })
    }

    fn held(&self, who: &Consumer) -> Vec<Granted> {
        let held = self.held.lock().unwrap();
        let its = held.iter().filter(|(held, _)| held == who);
        its.map(|(_, granted)| granted.clone()).collect()
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
        self.moved.load(Relaxed)
    }

    fn renew(&self, who: &Consumer, ttl: Option<Duration>) -> bool {
        let mut held = self.held.lock().unwrap();
        let mut its = held.iter_mut().filter(|(held, _)| held == who);
        its.next().map(|(_, granted)| granted.left = ttl).is_some()
    }

    fn release<'a>(&'a self, who: &'a Consumer, _bound: Duration) -> BoxFuture<'a, Released> {
        Box::pin(async {
            let had = self.held(who).into_iter().next();
            self.expire(who);
            let dirty = |id: &String| (None, UnitId::try_new(id).unwrap());
            match had {
                None => Released::Nothing,
                Some(had) if self.dirty.load(Relaxed) => Released::Dirty(had.ids.iter().map(dirty).collect()),
                Some(_) => Released::Clean,
            }
        })
    }
}

#[test]
fn cdi07_nodes_carry_type_numbers_mode_and_the_access_of_the_policy() {
    let mut renamed = reply("acme1");
    renamed.nodes[0].container_path = "/dev/acme".into();
    renamed.nodes[0].access = Access::READ;
    renamed.mounts =
        vec![MountEdit { container_path: "/usr/lib/acme".into(), host_path: "/opt/acme/lib".into(), read_only: true }];
    let spec = spec(&Kind::of(&resource()), &["job1"], &renamed, &node()).unwrap().unwrap();
    assert_eq!(spec.check(), Ok(()));
    insta::assert_snapshot!(String::from_utf8(crate::files::text(&spec)).unwrap());
    let mut gone = renamed.clone();
    gone.nodes[0].host_path = "/dev/acme7".into();
    let error = super::edits::spec(&Kind::of(&resource()), &["job1"], &gone, &node()).unwrap_err();
    assert!(error.to_string().starts_with("node /dev/acme7: "), "{error}");
}

#[test]
fn cdi05_what_gives_nothing_is_no_file() {
    let nothing = Reply {
        annotations: BTreeMap::from([("a".into(), "b".into())]),
        cdi: BTreeSet::from(["vendor.com/gpu=0".to_owned()]),
        ..Reply::default()
    };
    assert_eq!(spec(&Kind::of(&resource()), &["job1"], &nothing, &node()).unwrap(), None);
}

proptest! {
    /// Neither hook nor group nor anything else that the gate did not let through.
    #[test]
    fn cdi08_nothing_is_in_a_file_that_is_not_in_the_reply(reply in replies()) {
        let Some(spec) = spec(&Kind::of(&resource()), &["job1"], &reply, &node()).unwrap() else {
            prop_assert!(reply == Reply::default());
            return Ok(());
        };
        prop_assert_eq!(spec.check(), Ok(()));
        prop_assert!(["0.3.0", "0.5.0"].contains(&&*spec.cdi_version), "what every reader takes");
        let [device] = &*spec.devices else { panic!("one device") };
        let edits = &device.container_edits;
        prop_assert!(spec.container_edits.is_empty() && edits.hooks.is_empty() && edits.additional_gids.is_empty());
        prop_assert!(edits.net_devices.is_empty() && edits.intel_rdt.is_none());
        let env: BTreeMap<_, _> = edits.env.iter().map(|env| env.split_once('=').unwrap()).map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        prop_assert_eq!(env, reply.env);
        let mounted: Vec<_> = edits.mounts.iter().map(|m| MountEdit {
            container_path: m.container_path.clone(),
            host_path: m.host_path.clone(),
            read_only: m.options[0] == "ro",
        }).collect();
        prop_assert_eq!(mounted, reply.mounts);
        let given: Vec<_> = edits.device_nodes.iter().map(|n| NodeEdit {
            container_path: n.path.clone(),
            host_path: format!("/dev/acme{}", n.minor.unwrap()),
            access: n.permissions.as_ref().unwrap().parse().unwrap(),
        }).collect();
        prop_assert_eq!(given, reply.nodes);
        let text = String::from_utf8(crate::files::text(&spec)).unwrap();
        prop_assert_eq!(serde_json::from_str::<crate::spec::Spec>(&text).unwrap(), spec);
    }
}
