//! The component that is put to the test, and what it does where nothing is wrong.

use super::meddler::{Meddled, Script, Seen};
use super::thing::{Kind, Thing};
use devgate_core::bench::{Bench, Listed, ListedPool, ListedUnit, NotGiven};
use devgate_fake_node::{Change, RecordedNode};
use devgate_node::{DevicePath, Node};
use devgate_policy::PluginPolicy;
use devgate_types::component::Component;
use devgate_types::component::Profile;
use devgate_types::{CallError, UnitId, Verdict, escape};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The most units of a pool that are looked at alone.
const MOST_ALONE: usize = 256;

/// The least `limits.deadline` of a call. A machine that is busy is not the component's fault; what a call computes is held to
/// `limits.cpu`.
const PATIENCE: Duration = Duration::from_secs(60);

/// A plugin's policy and component, and a recorded node that stays as it is.
pub(super) struct Subject {
    pub(super) policy: Arc<PluginPolicy>,
    pub(super) node: RecordedNode,
    component: Arc<Meddled>,
}

/// One of a component's functions, and what it is called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Enumerate,
    /// All units of the pool with this number.
    Health(usize),
    /// One unit of it.
    Allocate(usize, usize),
    Prepare(usize, usize),
    Release(usize, usize),
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Given {
    Listed(Listed),
    Verdicts(Vec<Verdict>),
    /// What containers get, or why they do not: a value that the policy does not expect.
    Allocated(Result<devgate_core::offer::Reply, String>),
    Done,
}

impl Subject {
    pub(super) fn new(policy: &PluginPolicy, node: RecordedNode, component: Arc<dyn Component>) -> Self {
        let mut policy = policy.clone();
        policy.limits.deadline = policy.limits.deadline.max(PATIENCE);
        Self {
            policy: Arc::new(policy),
            node,
            component: Arc::new(Meddled::new(component)),
        }
    }

    pub(super) fn profile(&self) -> &Profile {
        self.component.profile()
    }

    pub(super) fn meddled(&self) -> &Meddled {
        &self.component
    }

    /// A copy of the node, to be changed.
    pub(super) fn copy(&self) -> RecordedNode {
        self.node.copy()
    }

    /// A bench for the component that nothing has been done on, on the node as recorded.
    pub(super) fn bench(&self) -> anyhow::Result<Bench> {
        self.bench_on(&self.node)
    }

    /// The same on another node.
    pub(super) fn bench_on(&self, node: &Node) -> anyhow::Result<Bench> {
        Ok(Bench::new(
            &self.policy,
            node,
            Arc::clone(&self.component) as Arc<dyn Component>,
        )?)
    }

    /// Makes one call under a script.
    pub(super) fn call(
        &self,
        bench: &Bench,
        pools: &[ListedPool],
        call: &Call,
        script: Script,
    ) -> (Result<Given, CallError>, Seen) {
        self.component.under(script, || one(bench, pools, call))
    }

    /// All of a component's functions that are called for a pool's first units.
    pub(super) fn calls(&self, pools: &[ListedPool]) -> Vec<Call> {
        let mut calls = vec![Call::Enumerate];
        for (n, pool) in pools.iter().enumerate().filter(|(_, pool)| !pool.units.is_empty()) {
            calls.push(Call::Health(n));
            calls.push(Call::Allocate(n, 0));
            if pool.units.len() > 1 {
                calls.push(Call::Allocate(n, pool.units.len() - 1));
            }
            if self.profile().lifecycle {
                calls.extend([Call::Prepare(n, 0), Call::Release(n, 0)]);
            }
        }
        calls
    }
}

fn one(bench: &Bench, pools: &[ListedPool], call: &Call) -> Result<Given, CallError> {
    let unit = |pool: &usize, unit: &usize| {
        let pool = pools.get(*pool)?;
        Some((pool, std::slice::from_ref(pool.units.get(*unit)?)))
    };
    match call {
        Call::Enumerate => bench.enumerate().map(Given::Listed),
        Call::Health(n) => match pools.get(*n) {
            Some(pool) => bench.health(pool.asked(), &pool.units).map(Given::Verdicts),
            None => Ok(Given::Done),
        },
        Call::Allocate(n, m) => match unit(n, m) {
            Some((pool, units)) => match bench.allocate(pool, units) {
                Ok(reply) => Ok(Given::Allocated(Ok(reply))),
                Err(NotGiven::Refused(why)) => Ok(Given::Allocated(Err(why))),
                Err(NotGiven::Call(error)) => Err(error),
            },
            None => Ok(Given::Done),
        },
        Call::Prepare(n, m) => match unit(n, m) {
            Some((pool, units)) => bench.prepare(pool.asked(), units).map(|()| Given::Done),
            None => Ok(Given::Done),
        },
        Call::Release(n, m) => match unit(n, m) {
            Some((pool, units)) => bench.release(pool.asked(), units).map(|()| Given::Done),
            None => Ok(Given::Done),
        },
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enumerate => "enumerate",
            Self::Health(_) => "health",
            Self::Allocate(..) => "allocate",
            Self::Prepare(..) => "prepare",
            Self::Release(..) => "release",
        })
    }
}

/// What no component may do whatever it is told, if this is it: trap, exceed a limit, break the contract. That it fails in its
/// own words is its right.
pub(super) fn broke<T>(result: &Result<T, CallError>) -> Option<String> {
    match result {
        Ok(_) | Err(CallError::Failed(_)) => None,
        Err(error) => Some(error.to_string()),
    }
}

/// What the component does on the node as recorded, with nothing in its way.
pub(super) struct Baseline {
    pub(super) listed: Listed,
    /// The verdicts on each pool's units, in their order.
    pub(super) verdicts: Vec<Vec<Verdict>>,
    /// Every call that was made, what it gave and what was seen of it.
    pub(super) calls: Vec<(Call, Given, Seen)>,
    relations: HashMap<UnitId, Relations>,
}

/// What a unit has to do with, beyond what it is made of.
#[derive(Debug, Default)]
struct Relations {
    /// Its id, the names of its devices, and what its properties say: a part of a device often names that.
    words: BTreeSet<String>,
    /// Devices, by location, and paths that its health is judged by, and not that of every unit.
    judged_by: BTreeSet<String>,
}

impl Baseline {
    /// # Errors
    /// With the call that fails where nothing is wrong.
    pub(super) fn of(subject: &Subject) -> anyhow::Result<Result<Self, String>> {
        let bench = subject.bench()?;
        let (listed, seen) = subject.call(&bench, &[], &Call::Enumerate, Script::default());
        let listed = match listed {
            Ok(Given::Listed(listed)) => listed,
            Ok(_) => return Ok(Err("enumerate gave no list".to_owned())),
            Err(error) => return Ok(Err(format!("enumerate {error}"))),
        };
        let mut calls = vec![(Call::Enumerate, Given::Listed(listed.clone()), seen)];
        let mut verdicts = vec![Vec::new(); listed.pools.len()];
        for call in subject.calls(&listed.pools).into_iter().skip(1) {
            let (given, seen) = subject.call(&bench, &listed.pools, &call, Script::default());
            let given = match given {
                Ok(given) => given,
                // Whether each unit that may be given can be is a check of its own.
                Err(CallError::Failed(_)) if !matches!(call, Call::Health(_)) => continue,
                Err(error) => return Ok(Err(format!("{call} {error}"))),
            };
            if let (Call::Health(n), Given::Verdicts(given)) = (&call, &given)
                && let Some(verdicts) = verdicts.get_mut(*n)
            {
                verdicts.clone_from(given);
            }
            calls.push((call, given, seen));
        }
        let relations = relations(subject, &bench, &listed);
        Ok(Ok(Self {
            listed,
            verdicts,
            calls,
            relations,
        }))
    }

    /// Whether a thing may have to do with a unit: it is of a device that the unit is made of, of one above or beneath it or
    /// that its properties name, is a path that names it, or decides about its health.
    pub(super) fn touches(&self, thing: &Thing, unit: &ListedUnit) -> bool {
        let relations = self.relations.get(unit.id());
        let named = |name: &str| relations.is_some_and(|relations| relations.words.contains(name));
        let judges = |what: &str| relations.is_some_and(|relations| relations.judged_by.contains(what));
        if thing.location.is_empty() {
            let nodes = unit.nodes().iter().any(|node| node.node.path == thing.path);
            return nodes || thing.path.split('/').any(named) || judges(&thing.path);
        }
        let is_above = |above: &str, beneath: &str| {
            beneath == above || beneath.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
        };
        let mut devices = devices(unit);
        devices
            .any(|device| is_above(&thing.location, device.location()) || is_above(device.location(), &thing.location))
            || named(thing.device())
            || judges(&thing.location)
    }

    /// Whether a unit may go with another one: it has to do with what that is made of.
    pub(super) fn goes_with(&self, unit: &ListedUnit, gone: &ListedUnit) -> bool {
        let of = |device: &DevicePath| Thing {
            kind: Kind::Word,
            location: device.location().to_owned(),
            path: String::new(),
        };
        unit.id() == gone.id() || gone.backing().iter().any(|device| self.touches(&of(device), unit))
    }

    pub(super) fn units(&self) -> impl Iterator<Item = (&ListedPool, &ListedUnit)> {
        let pools = self.listed.pools.iter();
        pools.flat_map(|pool| pool.units.iter().map(move |unit| (pool, unit)))
    }

    /// A unit with its verdict.
    pub(super) fn judged(&self) -> impl Iterator<Item = (&ListedPool, &ListedUnit, &Verdict)> {
        let pools = self.listed.pools.iter().zip(&self.verdicts);
        pools.flat_map(|(pool, verdicts)| {
            let units = pool.units.iter().zip(verdicts);
            units.map(move |(unit, verdict)| (pool, unit, verdict))
        })
    }

    /// Each thing that was asked about, what it was, and the calls that asked; one for each shape, of a unit if there is one.
    pub(super) fn things(&self, kinds: &[Kind]) -> Vec<Wanted> {
        let mut found: BTreeMap<_, Wanted> = BTreeMap::new();
        for (call, _, seen) in &self.calls {
            for asked in seen.asked.iter().filter(|asked| kinds.contains(&asked.thing.kind)) {
                let wanted = found.entry(asked.thing.shape()).or_insert_with(|| Wanted {
                    thing: asked.thing.clone(),
                    text: asked.text.clone(),
                    calls: Vec::new(),
                });
                let better = touches_some(self, &asked.thing) && !touches_some(self, &wanted.thing);
                if better {
                    wanted.thing = asked.thing.clone();
                    wanted.text.clone_from(&asked.text);
                }
                wanted.text = wanted.text.take().or_else(|| asked.text.clone());
                if !wanted.calls.contains(call) {
                    wanted.calls.push(call.clone());
                }
            }
        }
        found.into_values().collect()
    }
}

/// Something that the component asks about.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) thing: Thing,
    /// What it was, as text or bytes; nothing where it was not there.
    pub(super) text: Option<Vec<u8>>,
    pub(super) calls: Vec<Call>,
}

fn touches_some(baseline: &Baseline, thing: &Thing) -> bool {
    let touched = baseline
        .units()
        .filter(|(_, unit)| baseline.touches(thing, unit))
        .count();
    touched > 0 && touched < baseline.units().count()
}

/// The devices that a unit is made of, and those that its nodes belong to.
fn devices(unit: &ListedUnit) -> impl Iterator<Item = &DevicePath> {
    let owners = unit.nodes().iter().filter_map(|node| node.owner.as_ref());
    unit.backing().iter().chain(owners)
}

fn relations(subject: &Subject, bench: &Bench, listed: &Listed) -> HashMap<UnitId, Relations> {
    let mut relations: HashMap<UnitId, Relations> = HashMap::new();
    let mut judges: HashMap<String, usize> = HashMap::new();
    for pool in &listed.pools {
        for unit in pool.units.iter().take(MOST_ALONE) {
            let (_, seen) = subject.meddled().under(Script::default(), || {
                let _verdict = bench.health(pool.asked(), std::slice::from_ref(unit));
            });
            let place = |thing: &Thing| match thing.location.is_empty() {
                true => thing.path.clone(),
                false => thing.location.clone(),
            };
            let known = relations.entry(unit.id().clone()).or_default();
            known.judged_by = seen.asked.iter().map(|asked| place(&asked.thing)).collect();
            for place in &known.judged_by {
                *judges.entry(place.clone()).or_default() += 1;
            }
            let separates = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, ':' | '.' | '_' | '-');
            let values = unit.properties().iter().flat_map(|(_, value)| value.split(separates));
            let values = values.filter(|word| word.len() > 2).map(str::to_owned);
            let names = devices(unit).map(|device| device.name().to_owned());
            known.words = values.chain(names).chain([unit.id().to_string()]).collect();
        }
    }
    // What every verdict is made of says nothing about one of them: a component may look at the whole node for each.
    let all = relations.len();
    for known in relations.values_mut() {
        known
            .judged_by
            .retain(|place| judges.get(place).is_none_or(|units| *units < all));
    }
    relations
}

/// Takes away what a unit is made of, or its nodes where it is made of nothing; whether there was anything.
pub(super) fn unplug(node: &RecordedNode, unit: &ListedUnit) -> bool {
    let mut any = false;
    for device in unit.backing() {
        any |= node.apply(Change::RemoveDevice(device.location().to_owned())).is_ok();
    }
    if unit.backing().is_empty() {
        for granted in unit.nodes() {
            any |= node.apply(Change::RemoveNode(granted.node.path.clone())).is_ok();
        }
    }
    any
}

/// A unit's id for people.
pub(super) fn named(unit: &ListedUnit) -> String {
    escape(unit.id().as_str(), 80)
}
