//! `devgatectl call`: one function of a component, called by hand behind the real policy and gate, for tests in any language.

mod answer;
mod text;
mod traced;

use crate::author_policy::AuthorPolicy;
use crate::cli::{CallArgs, Function};
use crate::fault_injector::{FaultInjector, Script, Seen};
use crate::inspect;
use answer::{Answer, UnitVerdict};
use devgate::cli::Output;
use devgate::transfer::LARGEST;
use devgate::{exit, output, policy};
use devgate_core::workbench::{ListedPool, ListedUnit, NotGiven, Workbench};
use devgate_policy::PluginPolicy;
use devgate_runner::{LoadRequest, Programs, Runners};
use devgate_types::component::Component;
use devgate_types::{CallError, escape};
use serde::Serialize;
use std::sync::Arc;
use traced::{Cost, Question, Said};

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Called {
    function: &'static str,
    /// `None` where the call failed.
    answer: Option<Answer>,
    /// Why it failed.
    error: Option<String>,
    /// What the component said, and what it asked for and did not get.
    said: Vec<Said>,
    /// What the call took.
    cost: Option<Cost>,
    /// Each question to the host, with --trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    questions: Option<Vec<Question>>,
}

/// Why there is no answer.
enum NoAnswer {
    /// What was asked for is not there.
    Usage(String),
    Failed(CallError),
    Refused(String),
}

impl From<CallError> for NoAnswer {
    fn from(error: CallError) -> Self {
        Self::Failed(error)
    }
}

/// Runs the command.
pub(crate) fn call(args: &CallArgs) -> anyhow::Result<u8> {
    let bytes = inspect::read(&args.component, LARGEST.0)?;
    let plugin = Arc::new(plugin(args, &bytes)?);
    let node = crate::node::open(&args.node_root)?;
    let request = LoadRequest {
        plugin: plugin.name.as_str(),
        bytes: &bytes,
        sha256: None,
        limits: plugin.limits.clone(),
        grants: &|interface| plugin.grants(interface),
    };
    let loaded = Runners::new(Programs::beside_or_own()?, None)?.load(&request);
    let loaded =
        loaded.map_err(|why| exit::with_code(exit::FOUND, format!("{why}\n  file: {}", args.component.display())))?;
    let injector = Arc::new(FaultInjector::new(Arc::new(loaded)));
    let bench = Workbench::new(&plugin, &node, Arc::clone(&injector) as Arc<dyn Component>)?;
    let (answer, seen) = injector.under(Script::default(), || answer(args, &bench, injector.as_ref()));
    let (answer, error) = match answer {
        Ok(answer) => (Some(answer), None),
        Err(NoAnswer::Usage(why)) => return Err(exit::with_code(exit::USAGE, why)),
        Err(NoAnswer::Refused(why)) => (None, Some(why)),
        Err(NoAnswer::Failed(error)) => (None, Some(error.to_string())),
    };
    let called = Called {
        function: args.function.name(),
        answer,
        error,
        said: bench.lines().iter().map(Said::of).collect(),
        cost: seen.cost.map(|cost| Cost::of(&cost, &seen, bench.limits())),
        questions: args.trace.then(|| questions(&seen)),
    };
    match args.output {
        Output::Text => output::print(&text::of(&called))?,
        Output::Json => output::print_json(&called)?,
    }
    Ok(if called.error.is_some() { exit::FOUND } else { exit::OK })
}

fn questions(seen: &Seen) -> Vec<Question> {
    seen.asked.iter().map(Question::of).collect()
}

/// The plugin of the given policy, or of that which the component carries.
fn plugin(args: &CallArgs, component: &[u8]) -> anyhow::Result<PluginPolicy> {
    let wrong = |why: String| exit::with_code(exit::POLICY, why);
    let Some(path) = &args.policy else {
        let file = args.component.display();
        let carried =
            AuthorPolicy::of(component).map_err(|why| wrong(format!("{file}: the policy that it carries {why:#}")))?;
        let none = || wrong(format!("{file}: carries no policy; name one with --policy FILE"));
        return Ok(carried.ok_or_else(none)?.plugin().clone());
    };
    let policy = policy::read(std::slice::from_ref(path))?;
    let is_meant = |plugin: &&PluginPolicy| args.plugin.as_ref().is_none_or(|name| plugin.name.as_str() == name);
    let mut meant = policy.plugins.values().filter(is_meant);
    match (meant.next(), meant.next()) {
        (Some(plugin), None) => Ok(plugin.clone()),
        (None, _) => {
            let named = args.plugin.as_ref().map(|name| format!(" {}", escape(name, 80))).unwrap_or_default();
            Err(wrong(format!("policy {}: has no plugin{named}", path.display())))
        }
        _ => {
            let names: Vec<_> = policy.plugins.keys().map(ToString::to_string).collect();
            Err(wrong(format!(
                "policy {}: has the plugins {}; name one with --plugin",
                path.display(),
                names.join(", ")
            )))
        }
    }
}

fn answer(args: &CallArgs, bench: &Workbench, component: &dyn Component) -> Result<Answer, NoAnswer> {
    let profile = component.profile();
    let missing = match args.function {
        Function::Choose if !profile.preference => Some("preference"),
        Function::Prepare | Function::Release if !profile.lifecycle => Some("lifecycle"),
        _ => None,
    };
    if let Some(export) = missing {
        return Err(NoAnswer::Usage(format!("{}: it exports no {export}", args.function.name())));
    }
    let listed = bench.enumerate()?;
    let meant = match args.function {
        Function::Enumerate => return Ok(Answer::listed(&listed)),
        _ => meant(args, &listed.pools).map_err(NoAnswer::Usage)?,
    };
    if args.function == Function::Health {
        return verdicts(bench, &meant);
    }
    let [(pool, units)] = meant.as_slice() else {
        let names: Vec<_> = meant.iter().map(|(pool, _)| pool.resource.to_string()).collect();
        let which = if names.is_empty() { "there is no unit".to_owned() } else { names.join(", ") };
        return Err(NoAnswer::Usage(format!("one resource's units must be meant (--resource, or ids): {which}")));
    };
    match args.function {
        Function::Choose => Ok(Answer::Choice { choice: bench.choose(&pool.asked, units, &[], args.count)? }),
        Function::Prepare => bench.prepare(&pool.asked, units).map(|()| Answer::DONE).map_err(Into::into),
        Function::Release => bench.release(&pool.asked, units).map(|()| Answer::DONE).map_err(Into::into),
        _ => match bench.allocate(pool, units) {
            Ok(reply) => Ok(Answer::Reply(Box::new(reply))),
            Err(NotGiven::Call(error)) => Err(error.into()),
            Err(refused @ NotGiven::Refused(_)) => Err(NoAnswer::Refused(refused.to_string())),
        },
    }
}

fn verdicts(bench: &Workbench, meant: &[(&ListedPool, Vec<ListedUnit>)]) -> Result<Answer, NoAnswer> {
    let mut verdicts = Vec::new();
    for (pool, units) in meant {
        let judged = bench.health(&pool.asked, units)?;
        verdicts.extend(units.iter().zip(judged).map(|(unit, verdict)| UnitVerdict::of(pool, unit, verdict)));
    }
    Ok(Answer::Verdicts { units: verdicts })
}

/// The units that are meant, by pool, in the order of the ids.
fn meant<'a>(args: &CallArgs, pools: &'a [ListedPool]) -> Result<Vec<(&'a ListedPool, Vec<ListedUnit>)>, String> {
    let is_meant = |pool: &&ListedPool| args.resource.as_ref().is_none_or(|name| pool.resource.as_str() == name);
    let among: Vec<_> = pools.iter().filter(is_meant).collect();
    if let (Some(name), true) = (&args.resource, among.is_empty()) {
        let names: Vec<_> = pools.iter().map(|pool| pool.resource.to_string()).collect();
        return Err(format!("resource {}: is not listed; those are: {}", escape(name, 160), names.join(", ")));
    }
    let mut meant: Vec<(&ListedPool, Vec<ListedUnit>)> = Vec::new();
    if args.ids.is_empty() {
        let with_units = among.into_iter().filter(|pool| !pool.units.is_empty());
        return Ok(with_units.map(|pool| (pool, pool.units.clone())).collect());
    }
    for id in &args.ids {
        let of = |pool: &&'a ListedPool| Some((*pool, pool.units.iter().find(|unit| unit.id.as_str() == id)?));
        let Some((pool, unit)) = among.iter().find_map(of) else {
            return Err(format!("id {}: enumerate does not list it, or the gate rejects it", escape(id, 80)));
        };
        match meant.iter_mut().find(|(known, _)| known.resource == pool.resource) {
            Some((_, units)) => units.push(Arc::clone(unit)),
            None => meant.push((pool, vec![Arc::clone(unit)])),
        }
    }
    Ok(meant)
}

impl Function {
    const fn name(self) -> &'static str {
        match self {
            Self::Enumerate => "enumerate",
            Self::Health => "health",
            Self::Allocate => "allocate",
            Self::Choose => "choose",
            Self::Prepare => "prepare",
            Self::Release => "release",
        }
    }
}
