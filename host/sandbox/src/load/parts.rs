//! What a component consists of once it is put together.
//!
//! wasmtime puts a component together while it compiles it: whatever is instantiated in it is written out, as often as that
//! happens, and what is passed on is copied with all that is in it. Three components within each other, each of which
//! instantiates the next a hundred times, are some hundred bytes of file and a million instances. So the same is gone through
//! here before, without making anything, and no further than the limits.

mod together;

use super::error::Refusal;
use super::scan::{at_most, invalid};
use std::collections::BTreeSet;
use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentExport, ComponentExternalKind, ComponentInstance,
    ComponentInstantiationArg, ComponentOuterAliasKind, ComponentTypeRef, Instance, Payload,
};

/// Everything that a component is put together from, each as often as it is there in the end, and what is copied with it: this
/// many take a quarter of a second and some tens of megabytes. Python's components have less than 4,000, QuickJS's 2,000.
const PARTS: u64 = 100_000;
/// Instances of components. Each call makes all of them, with tables of their own. QuickJS has some 30.
const INSTANCES: u64 = 1_000;
/// Functions that a component calls outside a module of its own, its resources' included: for each, wasmtime writes code; for
/// those of components within it, code that copies what is passed, at most some 100 KiB. QuickJS and Python have less than 100.
const LOWERED: u64 = 500;

/// How much of what there is in the end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Amount {
    parts: u64,
    instances: u64,
    lowered: u64,
    /// Instances of modules.
    pub(super) core_instances: u32,
}

impl Amount {
    fn parts(&mut self, more: u64) -> Result<(), Refusal> {
        self.parts = self.parts.saturating_add(more);
        at_most("parts when it is put together", self.parts, PARTS, None)
    }

    fn instance(&mut self) -> Result<(), Refusal> {
        self.instances = self.instances.saturating_add(1);
        at_most("instances of components within it", self.instances, INSTANCES, None)
    }

    fn lowered(&mut self) -> Result<(), Refusal> {
        self.lowered = self.lowered.saturating_add(1);
        at_most("functions to call outside its modules", self.lowered, LOWERED, None)
    }

    fn core_instance(&mut self, most: u32) -> Result<(), Refusal> {
        self.core_instances = self.core_instances.saturating_add(1);
        at_most("core instances", self.core_instances, most, Some("limits.instances"))
    }
}

/// One thing that is done to put a component together, in their order.
#[derive(Debug)]
enum Step<'a> {
    /// Anything that costs the same whatever it names, so many times.
    Plain(u64),
    /// An instance of a module.
    CoreInstance,
    /// A function that is called outside a module.
    Lower,
    Import(Kind, &'a str),
    /// A component within this one, by its place among all.
    Define(usize),
    Instantiate(u32, Vec<Named<'a>>),
    /// An instance that only collects what is there already.
    Collect(Vec<Named<'a>>),
    /// What an instance exports, by the instance's index.
    Of(Kind, u32, &'a str),
    /// A component of one that this one is within.
    Outer(Capture),
    Export(Named<'a>),
}

/// What has an index among its kind here, and what has not, because it costs the same whatever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Component,
    Instance,
    Other,
}

/// Something by its index among its kind, under a name.
#[derive(Debug)]
struct Named<'a> {
    name: &'a str,
    kind: Kind,
    index: u32,
}

/// A component that one within it takes from outside: so many levels further out, and its index there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Capture {
    levels: u32,
    index: u32,
}

/// How one component is put together.
#[derive(Debug, Default)]
struct Plan<'a> {
    steps: Vec<Step<'a>>,
    captures: BTreeSet<Capture>,
    /// Modules that it or one within it takes from outside.
    modules: u64,
}

/// How a component and all within it are put together, in the order of the file.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    plans: Vec<Plan<'a>>,
    /// The plans that the reader is within; none stands for a module.
    open: Vec<Option<usize>>,
    /// As it stands in the file, to refuse early what is too much already.
    written: Amount,
}

impl<'a> Parts<'a> {
    pub(super) fn new() -> Self {
        Self {
            plans: vec![Plan::default()],
            open: vec![Some(0)],
            written: Amount::default(),
        }
    }

    /// Takes what concerns it from a file that is read in its order. The file need not be valid.
    pub(super) fn add(&mut self, payload: &Payload<'a>, instances: u32) -> Result<(), Refusal> {
        match payload {
            Payload::ModuleSection { .. } => {
                self.step(Step::Plain(1))?;
                self.open.push(None);
            }
            Payload::ComponentSection { .. } => {
                let plan = self.plans.len();
                self.step(Step::Define(plan))?;
                self.plans.push(Plan::default());
                self.open.push(Some(plan));
            }
            Payload::End(_) => {
                self.open.pop();
            }
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    match instance.map_err(invalid)? {
                        Instance::Instantiate { args, .. } => {
                            self.written.core_instance(instances)?;
                            self.plain(args.len())?;
                            self.step(Step::CoreInstance)?;
                        }
                        Instance::FromExports(exports) => self.plain(exports.len())?,
                    }
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section.clone() {
                    if matches!(function.map_err(invalid)?, CanonicalFunction::Lift { .. }) {
                        self.step(Step::Plain(1))?;
                    } else {
                        self.written.lowered()?;
                        self.step(Step::Lower)?;
                    }
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    let import = import.map_err(invalid)?;
                    self.step(Step::Import(kind_of(import.ty), import.name.name))?;
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    self.step(Step::Export(exported(&export.map_err(invalid)?)))?;
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    self.alias(&alias.map_err(invalid)?)?;
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    let step = match instance.map_err(invalid)? {
                        ComponentInstance::Instantiate { component_index, args } => {
                            self.written.instance()?;
                            Step::Instantiate(component_index, args.iter().map(passed).collect())
                        }
                        ComponentInstance::FromExports(exports) => {
                            Step::Collect(exports.iter().map(exported).collect())
                        }
                    };
                    self.step(step)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn alias(&mut self, alias: &ComponentAlias<'a>) -> Result<(), Refusal> {
        match *alias {
            ComponentAlias::InstanceExport {
                kind,
                instance_index,
                name,
            } => self.step(Step::Of(kind.into(), instance_index, name)),
            ComponentAlias::Outer {
                kind: ComponentOuterAliasKind::Component,
                count,
                index,
            } => {
                for (plan, levels) in self.captured_by(count).zip((1..=count).rev()) {
                    if let Some(plan) = plan.and_then(|plan| self.plans.get_mut(plan)) {
                        plan.captures.insert(Capture { levels, index });
                    }
                }
                self.step(Step::Outer(Capture { levels: count, index }))
            }
            ComponentAlias::Outer {
                kind: ComponentOuterAliasKind::CoreModule,
                count,
                ..
            } => {
                for plan in self.captured_by(count) {
                    if let Some(plan) = plan.and_then(|plan| self.plans.get_mut(plan)) {
                        plan.modules = plan.modules.saturating_add(1);
                    }
                }
                self.step(Step::Plain(1))
            }
            ComponentAlias::Outer { .. } | ComponentAlias::CoreInstanceExport { .. } => self.step(Step::Plain(1)),
        }
    }

    /// From the innermost outwards, those that something of so many levels further out goes through.
    fn captured_by(&self, levels: u32) -> std::vec::IntoIter<Option<usize>> {
        let levels = usize::try_from(levels).unwrap_or(usize::MAX);
        let within: Vec<_> = self.open.iter().rev().take(levels).copied().collect();
        within.into_iter()
    }

    fn plain(&mut self, names: usize) -> Result<(), Refusal> {
        self.step(Step::Plain(1 + u64::try_from(names).unwrap_or(u64::MAX - 1)))
    }

    fn step(&mut self, step: Step<'a>) -> Result<(), Refusal> {
        self.written.parts(match &step {
            Step::Plain(times) => *times,
            Step::Instantiate(_, names) | Step::Collect(names) => {
                1 + u64::try_from(names.len()).unwrap_or(u64::MAX - 1)
            }
            _ => 1,
        })?;
        let Some(plan) = self.open.last().copied().flatten() else {
            return Ok(());
        };
        let Some(plan) = self.plans.get_mut(plan) else {
            return Ok(());
        };
        if let (Step::Plain(more), Some(Step::Plain(times))) = (&step, plan.steps.last_mut()) {
            *times = times.saturating_add(*more);
        } else {
            plan.steps.push(step);
        }
        Ok(())
    }
}

impl From<ComponentExternalKind> for Kind {
    fn from(kind: ComponentExternalKind) -> Self {
        match kind {
            ComponentExternalKind::Component => Self::Component,
            ComponentExternalKind::Instance => Self::Instance,
            _ => Self::Other,
        }
    }
}

fn kind_of(ty: ComponentTypeRef) -> Kind {
    match ty {
        ComponentTypeRef::Component(_) => Kind::Component,
        ComponentTypeRef::Instance(_) => Kind::Instance,
        _ => Kind::Other,
    }
}

fn exported<'a>(export: &ComponentExport<'a>) -> Named<'a> {
    Named {
        name: export.name.name,
        kind: export.kind.into(),
        index: export.index,
    }
}

fn passed<'a>(argument: &ComponentInstantiationArg<'a>) -> Named<'a> {
    Named {
        name: argument.name,
        kind: argument.kind.into(),
        index: argument.index,
    }
}
