//! What this crate's tests share: a small recorded node, policies for it, and a component that is a closure.

use crate::Surroundings;
use crate::allocations::Allocations;
use crate::call::CallHost;
use crate::grants::Grants;
use crate::holders::HoldersFeed;
use crate::loader::{LoadFailure, Loader};
use crate::plugin_services::PluginServices;
use devgate_fake_node::RecordedNode;
use devgate_node::Node;
use devgate_policy::{PluginPolicy, Policy, PolicyFile};
use devgate_types::component::{Call, CallKind, Capabilities, Component, Cost, Output, Profile};
use devgate_types::{CallError, Condition, Edits, HostFault, Pool, Setting, Unit, Verdict};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Two GPUs of one vendor with a card and a render node each, one of another vendor, and three misc devices.
pub(crate) const NODE: &str = "\
P: /devices/pci0000:00/0000:00:01.0
E: SUBSYSTEM=pci
E: DRIVER=fakegpu
A: vendor=0x1234\\n
A: class=0x030000\\n
A: numa_node=1\\n
A: secret_key=canary\\n

P: /devices/pci0000:00/0000:00:01.0/drm/card0
N: dri/card0
E: SUBSYSTEM=drm
E: DEVNAME=/dev/dri/card0
E: MAJOR=226
E: MINOR=0
A: dev=226:0\\n

P: /devices/pci0000:00/0000:00:01.0/drm/renderD128
N: dri/renderD128
E: SUBSYSTEM=drm
E: DEVNAME=/dev/dri/renderD128
E: MAJOR=226
E: MINOR=128
A: dev=226:128\\n

P: /devices/pci0000:00/0000:00:02.0
E: SUBSYSTEM=pci
A: vendor=0x1234\\n
A: class=0x030000\\n
A: numa_node=-1\\n

P: /devices/pci0000:00/0000:00:02.0/drm/card1
N: dri/card1
E: SUBSYSTEM=drm
E: DEVNAME=/dev/dri/card1
E: MAJOR=226
E: MINOR=1
A: dev=226:1\\n

P: /devices/pci0000:00/0000:00:03.0
E: SUBSYSTEM=pci
A: vendor=0x9999\\n
A: class=0x030000\\n

P: /devices/pci0000:00/0000:00:03.0/drm/card2
N: dri/card2
E: SUBSYSTEM=drm
E: DEVNAME=/dev/dri/card2
E: MAJOR=226
E: MINOR=2
A: dev=226:2\\n

P: /devices/virtual/misc/fuse
N: fuse
E: SUBSYSTEM=misc
E: DEVNAME=/dev/fuse
E: MAJOR=10
E: MINOR=229
A: dev=10:229\\n

P: /devices/virtual/misc/kvm
N: kvm
E: SUBSYSTEM=misc
E: DEVNAME=/dev/kvm
E: MAJOR=10
E: MINOR=232
A: dev=10:232\\n

P: /devices/virtual/misc/uinput
N: uinput
E: SUBSYSTEM=misc
E: DEVNAME=/dev/uinput
E: MAJOR=10
E: MINOR=223
A: dev=10:223\\n
";

/// Grants GPUs of vendor 0x1234 with their card nodes, kvm as shared, fuse through host-nodes, and misc for reading.
pub(crate) const POLICY: &str = r#"
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  gpus:
    component: {file: fake.wasm}
    resources: [fake.com/gpu, fake.com/other]
    hardware:
      - {subsystem: pci, vendor: "0x1234", use: offer, nodes: [{subsystem: drm, name: "card*"}]}
      - {subsystem: misc, name: kvm, use: offer, nodes: [{access: r, shared: true}]}
      - {subsystem: misc, name: uinput, use: offer, nodes: [{access: rw}]}
      - {subsystem: misc}
    host-nodes:
      exclusive: [/dev/fuse]
    containers:
      env:
        "GPUS_{RESOURCE}": "{ids}"
    health: {check-every: 100ms, enumerate-every: 100ms, stale-after: 1s}
"#;

/// The recorded node.
pub(crate) fn node() -> RecordedNode {
    RecordedNode::parse("test", NODE).unwrap()
}

pub(crate) fn parse(text: &str) -> Policy {
    match devgate_policy::parse(&[PolicyFile { name: "policy.yaml", text }]) {
        Ok(policy) => policy,
        Err(errors) => panic!("{errors}"),
    }
}

/// The first plugin of a policy.
pub(crate) fn plugin_policy(text: &str) -> Arc<PluginPolicy> {
    Arc::new(parse(text).plugins.values().next().unwrap().clone())
}

pub(crate) fn grants() -> Arc<Grants> {
    Arc::new(Grants::new(node().into(), plugin_policy(POLICY)))
}

/// The capabilities of a call, as the plugin layer makes them.
pub(crate) fn call_host() -> CallHost {
    host_of(grants())
}

type Enumerate = dyn Fn(&mut dyn Capabilities) -> Result<Vec<Pool>, CallError> + Send + Sync;
type Health = dyn Fn(&mut dyn Capabilities, &[Unit]) -> Result<Vec<Verdict>, CallError> + Send + Sync;
type Choose = dyn Fn(&[Unit], &[String], u32) -> Result<Vec<String>, CallError> + Send + Sync;
type Lifecycle = dyn Fn(&mut dyn Capabilities, &[Unit]) -> Result<(), CallError> + Send + Sync;
type Allocate = dyn Fn(&mut dyn Capabilities, &[Unit]) -> Result<Edits, CallError> + Send + Sync;
type Examine = dyn Fn(&[Unit]) -> Result<Vec<Vec<Condition>>, CallError> + Send + Sync;
type AllocateWith = dyn Fn(&[Unit], &[Setting]) -> Result<Edits, CallError> + Send + Sync;

/// A component whose calls are closures.
pub(crate) struct Fake {
    pub(crate) profile: Profile,
    pub(crate) enumerate: Box<Enumerate>,
    pub(crate) health: Box<Health>,
    pub(crate) allocate: Box<Allocate>,
    /// In its place where there are settings.
    pub(crate) allocate_with: Box<AllocateWith>,
    pub(crate) choose: Box<Choose>,
    pub(crate) examine: Box<Examine>,
    pub(crate) prepare: Box<Lifecycle>,
    pub(crate) release: Box<Lifecycle>,
}

impl Fake {
    /// Offers every granted PCI device with its nodes, all healthy, and sets the variable that the policy grants.
    pub(crate) fn gpus() -> Self {
        Self {
            profile: Profile::default(),
            enumerate: Box::new(gpu_pool),
            health: Box::new(|_, units| Ok(vec![Verdict::Healthy; units.len()])),
            allocate: Box::new(|_, units| {
                let ids: Vec<_> = units.iter().map(|unit| unit.id.as_str()).collect();
                let env = vec![property("GPUS_FAKE_COM_GPU", &ids.join(","))];
                Ok(Edits { env, ..Edits::default() })
            }),
            allocate_with: Box::new(|_, _| Err(CallError::Host(HostFault("exports no parameters".into())))),
            examine: Box::new(|_| Err(CallError::Host(HostFault("exports no conditions".into())))),
            choose: Box::new(|_, _, _| Err(CallError::Host(HostFault("exports no preference".into())))),
            prepare: Box::new(|_, _| Err(CallError::Host(HostFault("exports no lifecycle".into())))),
            release: Box::new(|_, _| Err(CallError::Host(HostFault("exports no lifecycle".into())))),
        }
    }
}

pub(crate) fn property(name: &str, value: &str) -> devgate_types::Property {
    devgate_types::Property { name: name.into(), value: value.into() }
}

/// What [`Fake::gpus`] enumerates.
pub(crate) fn gpu_pool(host: &mut dyn Capabilities) -> Result<Vec<Pool>, CallError> {
    let mut units = Vec::new();
    for device in host.devices("pci").unwrap() {
        let id = host.device_name(device).unwrap();
        units.push(Unit {
            id,
            backing: vec![device],
            nodes: host.nodes(device).unwrap_or_default(),
            properties: vec![],
        });
    }
    Ok(vec![Pool { resource: "fake.com/gpu".into(), units, shared_nodes: vec![], properties: vec![] }])
}

impl Component for Fake {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn call(&self, call: &Call<'_>, host: &mut dyn Capabilities) -> Result<(Output, Cost), CallError> {
        let (units, mut output) = (call.units, Output::default());
        match call.kind {
            CallKind::Enumerate => output.pools = (self.enumerate)(host)?,
            CallKind::Health => output.verdicts = (self.health)(host, units)?,
            CallKind::Allocate if !call.settings.is_empty() => {
                output.edits = (self.allocate_with)(units, call.settings)?
            }
            CallKind::Allocate => output.edits = (self.allocate)(host, units)?,
            CallKind::Choose => output.choice = (self.choose)(units, call.must_include, call.size)?,
            CallKind::Examine => output.conditions = (self.examine)(units)?,
            CallKind::Prepare => (self.prepare)(host, units)?,
            CallKind::Release => (self.release)(host, units)?,
        }
        Ok((output, Cost::default()))
    }
}

/// Loads fakes by the policy's component file; one that is not there cannot be loaded.
#[derive(Default)]
pub(crate) struct FakeLoader(pub(crate) Mutex<HashMap<String, Arc<dyn Component>>>);

impl FakeLoader {
    pub(crate) fn with(fakes: impl IntoIterator<Item = (&'static str, Fake)>) -> Arc<dyn Loader> {
        let map =
            fakes.into_iter().map(|(file, fake)| (file.to_owned(), Arc::new(fake) as Arc<dyn Component>)).collect();
        Arc::new(Self(Mutex::new(map)))
    }
}

impl Loader for FakeLoader {
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        let devgate_policy::ComponentSource::File { path, .. } = &policy.component else {
            return Err(LoadFailure::Host("has no registry".to_owned()));
        };
        let found = self.0.lock().unwrap().get(path).cloned();
        found.ok_or_else(|| LoadFailure::Host(format!("plugin {}: {path}: no such file", policy.name)))
    }

    fn digest(&self, policy: &PluginPolicy) -> Result<Option<[u8; 32]>, LoadFailure> {
        Ok(self.load(policy)?.profile().sha256)
    }

    fn stamp(&self, _: &PluginPolicy) -> u64 {
        self.0.lock().unwrap().len() as u64
    }
}

/// What plugins run on in a test.
pub(crate) fn around(node: &Node, loader: Arc<dyn Loader>, allocations: &Allocations) -> Surroundings {
    Surroundings { node: node.clone(), loader, allocations: allocations.clone(), holders: HoldersFeed::none() }
}

/// The capabilities of a call under another policy on another node.
pub(crate) fn call_host_on(node: &Node, policy: &str) -> CallHost {
    host_of(Arc::new(Grants::new(node.clone(), plugin_policy(policy))))
}

/// The capabilities of a call with these grants and nothing kept.
pub(crate) fn host_of(grants: Arc<Grants>) -> CallHost {
    let services = Arc::new(PluginServices::none(&grants.policy, None));
    host_with(grants, services)
}

/// The same with what its plugin has besides.
pub(crate) fn host_with(grants: Arc<Grants>, services: Arc<PluginServices>) -> CallHost {
    let limits = Arc::new(grants.policy.limits.clone());
    CallHost::new(grants, services, limits)
}

/// A policy of one plugin `p` with one resource `fake.com/x` and these further lines, each with four spaces in front.
pub(crate) fn policy_of(lines: &str) -> String {
    format!(
        "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  p:\n    component: {{file: fake.wasm}}\n    resources: [fake.com/x]\n{lines}"
    )
}
