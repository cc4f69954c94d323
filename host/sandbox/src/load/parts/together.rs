//! Putting a component together without making anything, as wasmtime's compiler does it (`inline.rs` of `wasmtime-environ`).
//!
//! Nothing here goes deeper than memory for it was counted: what is copied is counted with all that is in it, so that things
//! within things are some hundred deep when the count ends.

use super::super::error::Refusal;
use super::{Amount, Capture, Kind, Named, Parts, Plan, Step};
use devgate_types::GuestText;
use std::collections::HashMap;
use std::rc::Rc;

/// Something that was put together.
#[derive(Debug, Clone)]
enum Item<'a> {
    Component(Rc<Component<'a>>),
    Instance(Rc<Made<'a>>),
    /// A function, a module, a type, a value.
    Other,
    /// Comes from the host: all that is in it does, and takes no room here.
    Host,
}

/// A component that can be instantiated, with what it takes from those that it is within.
#[derive(Debug)]
struct Component<'a> {
    plan: usize,
    captured: HashMap<Capture, Item<'a>>,
    size: u64,
}

/// An instance, by what it exports.
#[derive(Debug)]
struct Made<'a> {
    exports: HashMap<&'a str, Item<'a>>,
    size: u64,
}

impl Item<'_> {
    /// What a copy of it takes.
    fn size(&self) -> u64 {
        match self {
            Self::Component(component) => component.size,
            Self::Instance(made) => made.size,
            Self::Other | Self::Host => 1,
        }
    }
}

/// A component that is being instantiated.
struct Frame<'p, 'a> {
    component: Rc<Component<'a>>,
    steps: std::slice::Iter<'p, Step<'a>>,
    /// What it imports; nothing for the outermost, which gets everything from the host.
    passed: Option<HashMap<&'a str, Item<'a>>>,
    components: Vec<Item<'a>>,
    instances: Vec<Item<'a>>,
    exports: HashMap<&'a str, Item<'a>>,
}

impl<'a> Parts<'a> {
    /// How much there is once it is put together: the file has been read to its end and is valid.
    ///
    /// # Errors
    /// What is more than its limit, `instances` for core instances. What cannot be followed is refused.
    pub(in super::super) fn together(&self, instances: u32) -> Result<Amount, Refusal> {
        let mut amount = Amount::default();
        let outermost = Component {
            plan: 0,
            captured: HashMap::new(),
            size: 1,
        };
        let mut frames = vec![self.frame(Rc::new(outermost), None)?];
        while let Some(frame) = frames.last_mut() {
            let Some(step) = frame.steps.next() else {
                let exports = frames.pop().map(|frame| frame.exports).unwrap_or_default();
                if let Some(outer) = frames.last_mut() {
                    outer.instances.push(collected(exports, &mut amount)?);
                }
                continue;
            };
            match step {
                Step::Plain(times) => amount.parts(*times)?,
                Step::CoreInstance => {
                    amount.parts(1)?;
                    amount.core_instance(instances)?;
                }
                Step::Lower => {
                    amount.parts(1)?;
                    amount.lowered()?;
                }
                Step::Import(kind, name) => {
                    let item = match &frame.passed {
                        None => Item::Host,
                        Some(passed) => passed.get(name).cloned().unwrap_or(Item::Other),
                    };
                    frame.push(*kind, item, &mut amount)?;
                }
                Step::Define(plan) => {
                    let item = frame.define(*plan, self.plan(*plan)?)?;
                    frame.push(Kind::Component, item, &mut amount)?;
                }
                Step::Instantiate(component, arguments) => {
                    amount.instance()?;
                    let Item::Component(component) = frame.item(Kind::Component, *component)? else {
                        return Err(lost());
                    };
                    let passed = frame.named(arguments, &mut amount)?;
                    let inner = self.frame(component, Some(passed))?;
                    frames.push(inner);
                }
                Step::Collect(exports) => {
                    let exports = frame.named(exports, &mut amount)?;
                    let made = collected(exports, &mut amount)?;
                    frame.instances.push(made);
                }
                Step::Of(kind, instance, name) => {
                    let item = match frame.item(Kind::Instance, *instance)? {
                        Item::Instance(made) => made.exports.get(name).cloned().ok_or_else(lost)?,
                        Item::Host => Item::Host,
                        _ => return Err(lost()),
                    };
                    frame.push(*kind, item, &mut amount)?;
                }
                Step::Outer(capture) => {
                    let item = frame.outer(*capture)?;
                    frame.push(Kind::Component, item, &mut amount)?;
                }
                Step::Export(export) => {
                    let item = frame.item(export.kind, export.index)?;
                    frame.exports.insert(export.name, item.clone());
                    frame.push(export.kind, item, &mut amount)?;
                }
            }
        }
        Ok(amount)
    }

    fn plan(&self, plan: usize) -> Result<&Plan<'a>, Refusal> {
        self.plans.get(plan).ok_or_else(lost)
    }

    fn frame(
        &self,
        component: Rc<Component<'a>>,
        passed: Option<HashMap<&'a str, Item<'a>>>,
    ) -> Result<Frame<'_, 'a>, Refusal> {
        let plan = self.plan(component.plan)?;

        Ok(Frame {
            component,
            steps: plan.steps.iter(),
            passed,
            components: Vec::new(),
            instances: Vec::new(),
            exports: HashMap::new(),
        })
    }
}

impl<'a> Frame<'_, 'a> {
    /// A component within this one, with what it takes from here.
    fn define(&self, plan: usize, of: &Plan<'a>) -> Result<Item<'a>, Refusal> {
        let mut captured = HashMap::new();
        let mut size = 1_u64.saturating_add(of.modules);
        for capture in &of.captures {
            let item = self.outer(Capture {
                levels: capture.levels.saturating_sub(1),
                index: capture.index,
            })?;
            size = size.saturating_add(item.size());
            captured.insert(*capture, item);
        }
        Ok(Item::Component(Rc::new(Component { plan, captured, size })))
    }

    fn outer(&self, capture: Capture) -> Result<Item<'a>, Refusal> {
        if capture.levels == 0 {
            return self.item(Kind::Component, capture.index);
        }
        self.component.captured.get(&capture).cloned().ok_or_else(lost)
    }

    fn item(&self, kind: Kind, index: u32) -> Result<Item<'a>, Refusal> {
        let among = match kind {
            Kind::Component => &self.components,
            Kind::Instance => &self.instances,
            Kind::Other => return Ok(Item::Other),
        };
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        among.get(index).cloned().ok_or_else(lost)
    }

    fn named(&self, names: &[Named<'a>], amount: &mut Amount) -> Result<HashMap<&'a str, Item<'a>>, Refusal> {
        amount.parts(1)?;
        let mut items = HashMap::new();
        for named in names {
            let item = self.item(named.kind, named.index)?;
            amount.parts(item.size())?;
            items.insert(named.name, item);
        }
        Ok(items)
    }

    /// Gives it the next index among its kind.
    fn push(&mut self, kind: Kind, item: Item<'a>, amount: &mut Amount) -> Result<(), Refusal> {
        amount.parts(item.size())?;
        match kind {
            Kind::Component => self.components.push(item),
            Kind::Instance => self.instances.push(item),
            Kind::Other => {}
        }
        Ok(())
    }
}

fn collected<'a>(exports: HashMap<&'a str, Item<'a>>, amount: &mut Amount) -> Result<Item<'a>, Refusal> {
    let mut size = 1_u64;
    for item in exports.values() {
        size = size.saturating_add(item.size());
    }
    amount.parts(size)?;
    Ok(Item::Instance(Rc::new(Made { exports, size })))
}

/// Only what is valid is followed, so this is a component that comes from the host, or something that this does not know.
fn lost() -> Refusal {
    Refusal::Invalid(GuestText::new(
        "it instantiates or passes on what cannot be followed to its definition",
    ))
}
