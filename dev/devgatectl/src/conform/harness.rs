//! The component that is put to the test, and what it does where nothing is wrong.

mod relations;

use crate::fault_injector::{FaultInjector, Script, Seen};
use crate::query::{Kind, Query};
use devgate_core::offer::Reply;
use devgate_core::workbench::{Listed, ListedPool, ListedUnit, NotGiven, Workbench};
use devgate_fake_node::{Change, RecordedNode};
use devgate_node::Node;
use devgate_policy::PluginPolicy;
use devgate_types::component::{CallKind, Component, Profile};
use devgate_types::{CallError, Verdict, escape};
use relations::Relations;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The least `limits.deadline` of a call. A machine that is busy is not the component's fault; what a call computes is held to
/// `limits.cpu`.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);

/// A plugin's policy and component, a recorded node that stays as it is, and what the component does there, with nothing in its
/// way.
pub(super) struct Harness {
    pub(super) policy: Arc<PluginPolicy>,
    pub(super) node: RecordedNode,
    pub(super) injector: Arc<FaultInjector>,
    pub(super) listed: Listed,
    /// The verdicts on each pool's units, in their order.
    pub(super) verdicts: Vec<Vec<Verdict>>,
    /// Every call that was made, what it gave and what was seen of it; `enumerate` first.
    pub(super) calls: Vec<(Call, Given, Seen)>,
    relations: Relations,
}

/// One of a component's functions, and what it is called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) function: Function,
    /// The number of the pool; 0 for `enumerate`.
    pub(super) pool: usize,
    /// The unit of it that is meant; `health` is about all of them.
    pub(super) unit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Enumerate,
    Health,
    Allocate,
    Prepare,
    Release,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Given {
    Listed(Listed),
    Verdicts(Vec<Verdict>),
    /// What containers get, or why they do not: a value that the policy does not expect.
    Allocated(Result<Reply, String>),
    Done,
}

/// What came of a call.
pub(super) type Called = Result<Given, CallError>;

/// A query that the component makes on the node as recorded.
#[derive(Debug, Clone)]
pub(super) struct Dependency {
    pub(super) query: Query,
    /// The answer, where it was a text.
    pub(super) text: Option<String>,
    /// The calls that ask.
    pub(super) calls: Vec<Call>,
}

impl Harness {
    /// Makes every call once. The inner error is the call that fails although nothing is wrong.
    pub(super) fn new(
        policy: &PluginPolicy,
        node: RecordedNode,
        component: Arc<dyn Component>,
    ) -> anyhow::Result<Result<Self, String>> {
        let mut policy = policy.clone();
        policy.limits.deadline = policy.limits.deadline.max(TIMEOUT);
        let mut harness = Self {
            policy: Arc::new(policy),
            node,
            injector: Arc::new(FaultInjector::new(component)),
            listed: Listed { pools: Vec::new(), rejected: Vec::new(), contested: BTreeMap::new() },
            verdicts: Vec::new(),
            calls: Vec::new(),
            relations: Relations::default(),
        };
        let bench = harness.bench()?;
        let mut calls = vec![Call::of(Function::Enumerate, 0, 0)];
        while let Some(call) = calls.pop() {
            let (called, seen) = harness.call(&bench, call, Script::default());
            let given = match called {
                Ok(given) => given,
                // Whether each unit that may be given can be is a check of its own.
                Err(CallError::Failed(_)) if !matches!(call.function, Function::Enumerate | Function::Health) => {
                    continue;
                }
                Err(error) => return Ok(Err(format!("{call} {error}"))),
            };
            if let Given::Listed(listed) = &given {
                harness.listed = listed.clone();
                calls = harness.calls_about_units();
                calls.reverse();
            }
            if let Given::Verdicts(verdicts) = &given {
                harness.verdicts.resize(call.pool, Vec::new());
                harness.verdicts.push(verdicts.clone());
            }
            harness.calls.push((call, given, seen));
        }
        harness.verdicts.resize(harness.listed.pools.len(), Vec::new());
        harness.relations = Relations::of(&harness, &bench);
        Ok(Ok(harness))
    }

    /// Each function but `enumerate`, for the first units of each pool.
    fn calls_about_units(&self) -> Vec<Call> {
        let mut calls = Vec::new();
        for (pool, units) in self.listed.pools.iter().map(|pool| pool.units.len()).enumerate() {
            if units == 0 {
                continue;
            }
            calls.push(Call::of(Function::Health, pool, 0));
            calls.push(Call::of(Function::Allocate, pool, 0));
            if units > 1 {
                calls.push(Call::of(Function::Allocate, pool, units - 1));
            }
            if self.profile().lifecycle {
                calls.push(Call::of(Function::Prepare, pool, 0));
                calls.push(Call::of(Function::Release, pool, 0));
            }
        }
        calls
    }

    pub(super) fn profile(&self) -> &Profile {
        self.injector.profile()
    }

    /// A new bench on the node as recorded.
    pub(super) fn bench(&self) -> anyhow::Result<Workbench> {
        self.bench_on(&self.node)
    }

    /// A new bench on another node.
    pub(super) fn bench_on(&self, node: &Node) -> anyhow::Result<Workbench> {
        let component = Arc::clone(&self.injector) as Arc<dyn Component>;
        Ok(Workbench::new(&self.policy, node, component)?)
    }

    /// Makes one call under a script, about the units of the node as recorded.
    pub(super) fn call(&self, bench: &Workbench, call: Call, script: Script) -> (Called, Seen) {
        self.call_about(bench, &self.listed.pools, call, script)
    }

    /// The same about other units.
    pub(super) fn call_about(
        &self,
        bench: &Workbench,
        pools: &[ListedPool],
        call: Call,
        script: Script,
    ) -> (Called, Seen) {
        self.injector.under(script, || call.make(bench, pools))
    }

    /// The pools with units, and the verdicts on these.
    pub(super) fn pools(&self) -> impl Iterator<Item = (&ListedPool, &Vec<Verdict>)> {
        let pools = self.listed.pools.iter().zip(&self.verdicts);
        pools.filter(|(pool, _)| !pool.units.is_empty())
    }

    pub(super) fn units(&self) -> impl Iterator<Item = (&ListedPool, &ListedUnit)> {
        let pools = self.listed.pools.iter();
        pools.flat_map(|pool| pool.units.iter().map(move |unit| (pool, unit)))
    }

    /// Each unit with its verdict.
    pub(super) fn judged(&self) -> impl Iterator<Item = (&ListedPool, &ListedUnit, &Verdict)> {
        self.pools().flat_map(|(pool, verdicts)| {
            let units = pool.units.iter().zip(verdicts);
            units.map(move |(unit, verdict)| (pool, unit, verdict))
        })
    }

    /// The units that a query has nothing to do with. What has to do with none may say something about all of them.
    pub(super) fn unrelated(&self, query: &Query) -> Vec<&ListedUnit> {
        let others = self.units().map(|(_, unit)| unit).filter(|unit| !self.is_related(query, unit));
        let others: Vec<_> = others.collect();
        if others.len() == self.units().count() { Vec::new() } else { others }
    }

    /// The first of these that is not listed any more.
    pub(super) fn lost(&self, query: &Query, listed: &Listed) -> Option<&ListedUnit> {
        let is_lost = |unit: &&ListedUnit| !listed_units(listed).any(|other| other.id == unit.id);
        self.unrelated(query).into_iter().find(is_lost)
    }

    /// The first of these in a pool that has another verdict than it had.
    pub(super) fn misjudged(&self, query: &Query, pool: usize, verdicts: &[Verdict]) -> Option<String> {
        let units = &self.listed.pools.get(pool)?.units;
        let others = self.unrelated(query);
        let mut judged = units.iter().zip(self.verdicts.get(pool)?.iter().zip(verdicts));
        let (unit, (_, now)) = judged.find(|(unit, (before, now))| before != now && others.contains(unit))?;
        Some(format!("{}, which has nothing to do with it, is {now:?}", named(unit)))
    }

    /// A copy of the node without a unit; `None` if the unit is made of nothing.
    pub(super) fn without(&self, unit: &ListedUnit) -> Option<RecordedNode> {
        let node = self.node.copy();
        unplug(&node, unit).then_some(node)
    }

    /// Each query of some kinds that was made; one for each shape, related to some units and not to others if there is one.
    pub(super) fn dependencies(&self, kinds: &[Kind]) -> Vec<Dependency> {
        let mut found: BTreeMap<_, Dependency> = BTreeMap::new();
        for (call, _, seen) in &self.calls {
            for asked in seen.asked.iter().filter(|asked| kinds.contains(&asked.query.kind)) {
                let text = || String::from_utf8(asked.content.clone()?).ok();
                let known = found.entry(asked.query.shape()).or_insert_with(|| Dependency {
                    query: asked.query.clone(),
                    text: text(),
                    calls: Vec::new(),
                });
                if self.is_related_to_some(&asked.query) && !self.is_related_to_some(&known.query) {
                    known.query = asked.query.clone();
                    known.text = text();
                }
                known.text = known.text.take().or_else(text);
                if !known.calls.contains(call) {
                    known.calls.push(*call);
                }
            }
        }
        found.into_values().collect()
    }
}

impl Call {
    pub(super) fn of(function: Function, pool: usize, unit: usize) -> Self {
        Self { function, pool, unit }
    }

    fn make(self, bench: &Workbench, pools: &[ListedPool]) -> Called {
        if self.function == Function::Enumerate {
            return bench.enumerate().map(Given::Listed);
        }
        let Some(pool) = pools.get(self.pool) else {
            return Ok(Given::Done);
        };
        let one = pool.units.get(self.unit..=self.unit).unwrap_or_default();
        match self.function {
            Function::Enumerate => Ok(Given::Done),
            Function::Health => bench.health(&pool.asked, &pool.units).map(Given::Verdicts),
            Function::Allocate => match bench.allocate(pool, one, &[]) {
                Ok(reply) => Ok(Given::Allocated(Ok(reply))),
                Err(NotGiven::Refused(why)) => Ok(Given::Allocated(Err(why))),
                Err(NotGiven::Call(error)) => Err(error),
            },
            Function::Prepare => bench.call(pool.about(CallKind::Prepare), one).map(|_| Given::Done),
            Function::Release => bench.call(pool.about(CallKind::Release), one).map(|_| Given::Done),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{:?}", self.function).to_lowercase())
    }
}

/// How a call broke what holds for every component: no trap, no limit exceeded, the contract kept. That it fails in its own
/// words is its right.
pub(super) fn broke<T>(result: &Result<T, CallError>) -> Option<String> {
    match result {
        Ok(_) | Err(CallError::Failed(_)) => None,
        Err(error) => Some(error.to_string()),
    }
}

/// Takes away what a unit is made of, or its nodes where it is made of nothing; whether there was anything.
pub(super) fn unplug(node: &RecordedNode, unit: &ListedUnit) -> bool {
    let devices = unit.backing.iter().map(|device| Change::RemoveDevice(device.location().to_owned()));
    let nodes = unit.nodes.iter().filter(|_| unit.backing.is_empty());
    let nodes = nodes.map(|granted| Change::RemoveNode(granted.node.path.clone()));
    let removed = devices.chain(nodes).filter(|change| node.apply(change.clone()).is_ok());
    removed.count() > 0
}

/// All units that are listed.
pub(super) fn listed_units(listed: &Listed) -> impl Iterator<Item = &ListedUnit> {
    listed.pools.iter().flat_map(|pool| &pool.units)
}

/// A unit's id for people.
pub(super) fn named(unit: &ListedUnit) -> String {
    escape(unit.id.as_str(), 80)
}
