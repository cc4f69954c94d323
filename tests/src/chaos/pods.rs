//! The pods on the node, and the hardware that each really has: by the nodes in the kubelet's kept answers, not by ids.

use super::machine::{Hardware, Machine, SHARED, resource, resources};
use devgate_fake_kubelet::{Pod, StandIn};
use std::collections::{BTreeMap, BTreeSet};

/// A pod that was admitted.
#[derive(Debug, Clone)]
struct Running {
    name: String,
    pod: Pod,
    /// Paths of nodes, and what they led to when the pod got them.
    has: BTreeMap<String, Hardware>,
}

/// All pods, and what was ever given out.
#[derive(Debug, Default)]
pub(super) struct Pods {
    made: u64,
    running: Vec<Running>,
    /// Which hardware each id has ever been given out as.
    meant: BTreeMap<String, BTreeSet<Hardware>>,
    pub(super) admitted: u64,
    pub(super) rejected: u64,
}

impl Pods {
    /// A new pod that asks for so many of these kinds.
    pub(super) fn make(&mut self, wanted: &[(u32, usize)]) -> Pod {
        self.made += 1;
        let wanted: Vec<(String, usize)> = wanted.iter().map(|(kind, count)| (resource(*kind), *count)).collect();
        let wanted: Vec<(&str, usize)> = wanted.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        Pod::new(&format!("pod-{}", self.made), &wanted)
    }

    /// A pod was admitted: what it has. Every broken rule is named.
    pub(super) async fn admitted(&mut self, kubelet: &StandIn, machine: &Machine, pod: Pod) -> Vec<String> {
        self.admitted += 1;
        let name = pod.name.clone();
        let options = match kubelet.start_container(&name, "main").await {
            Ok(options) => options,
            // The kubelet ended meanwhile. What the pod has is not known to anybody; it goes.
            Err(_) => {
                self.may_have(machine, &pod);
                kubelet.remove(&name);
                return Vec::new();
            }
        };
        let mut broken = Vec::new();
        let mut has = BTreeMap::new();
        for path in options.devices.keys() {
            match machine.just_at(path) {
                Some(hardware) => {
                    has.insert(path.clone(), hardware);
                }
                None => broken.push(format!("{name}: got {path}, which is not there")),
            }
        }
        let wanted: usize = pod.containers.iter().flat_map(|c| c.resources.values()).sum();
        let replicas = pod.containers.iter().flat_map(|c| c.resources.get(&resource(SHARED))).sum::<usize>();
        // Several replicas of one device are one node.
        if has.len() > wanted || has.len() < wanted - replicas + usize::from(replicas > 0) {
            broken.push(format!("{name}: asked for {wanted} devices, got {:?}", has.keys()));
        }
        for other in self.running.iter().filter(|other| other.name != name) {
            for (path, hardware) in has.iter().filter(|(_, (kind, _))| *kind != SHARED) {
                if other.has.values().any(|taken| taken == hardware) {
                    broken.push(format!("{name}: got {path}, which {} has: given twice", other.name));
                }
            }
        }
        for (path, hardware) in &has {
            let id = path.trim_start_matches("/dev/").to_owned();
            self.meant.entry(id).or_default().insert(*hardware);
        }
        self.running.push(Running { name, pod, has });
        broken
    }

    /// A pod was rejected. It may have been given some of what it asked for before the rest failed, and nobody tells the host that it
    /// has nothing.
    pub(super) fn rejected(&mut self, machine: &Machine, pod: &Pod) {
        self.rejected += 1;
        self.may_have(machine, pod);
    }

    /// Any device of the kinds that a pod asked for may have been given out as what it is now.
    fn may_have(&mut self, machine: &Machine, pod: &Pod) {
        let asked = |name: &String| pod.containers.iter().any(|c| c.resources.contains_key(name));
        for (kind, _) in resources().filter(|(_, name)| asked(name)) {
            for (id, hardware) in machine.devices(kind) {
                self.meant.entry(id).or_default().insert(hardware);
            }
        }
    }

    /// The pod of this place goes; the kubelet's answer is for nobody any more.
    pub(super) fn remove(&mut self, kubelet: &StandIn, place: usize) {
        if let Some(place) = place.checked_rem(self.running.len()) {
            kubelet.remove(&self.running.remove(place).name);
        }
    }

    /// A container starts again: it has what it had.
    pub(super) async fn again(&self, kubelet: &StandIn, machine: &Machine, place: usize) -> Vec<String> {
        let running = place.checked_rem(self.running.len()).and_then(|place| self.running.get(place));
        match running {
            Some(running) => running.check(kubelet, machine).await,
            None => Vec::new(),
        }
    }

    /// All pods have what they had.
    pub(super) async fn check(&self, kubelet: &StandIn, machine: &Machine) -> Vec<String> {
        let mut broken = Vec::new();
        for running in &self.running {
            broken.extend(running.check(kubelet, machine).await);
        }
        broken
    }

    /// The node has booted again: the kubelet admits its pods once more. Those that it rejects are lost, as in Kubernetes;
    /// the others must have what they had.
    pub(super) async fn readmit(&mut self, kubelet: &StandIn, machine: &Machine) -> Vec<String> {
        let mut broken = Vec::new();
        for running in std::mem::take(&mut self.running) {
            if kubelet.admit(&running.pod).await.is_err() {
                self.rejected(machine, &running.pod);
                continue;
            }
            broken.extend(running.check(kubelet, machine).await);
            self.running.push(running);
        }
        broken
    }

    /// Whether an id can only mean what it means now, and nothing else ever meant it: then it must be healthy.
    pub(super) fn is_unambiguous(&self, id: &str, hardware: Hardware) -> bool {
        let only = |set: &BTreeSet<Hardware>| set.iter().all(|meant| *meant == hardware);
        let others = self.meant.iter().filter(|(other, _)| *other != id);
        self.meant.get(id).is_none_or(only) && !others.into_iter().any(|(_, set)| set.contains(&hardware))
    }

    /// How many run.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }
}

impl Running {
    async fn check(&self, kubelet: &StandIn, machine: &Machine) -> Vec<String> {
        let name = &self.name;
        // A kubelet that is down starts nothing.
        let Ok(options) = kubelet.start_container(name, "main").await else {
            return Vec::new();
        };
        let paths: BTreeSet<&String> = options.devices.keys().collect();
        if paths != self.has.keys().collect() {
            return vec![format!("{name}: had {:?}, gets {paths:?} now", self.has.keys())];
        }
        // One that is unplugged at the moment is nobody's.
        let changed = |(path, had): (&String, &Hardware)| {
            let now = machine.at(path)?;
            (now != *had).then(|| format!("{name}: {path} was {had:?}, and is {now:?} now"))
        };
        self.has.iter().filter_map(changed).collect()
    }
}
