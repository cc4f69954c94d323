//! `devgatectl call`: one function of a component, called by hand behind the real policy and gate, for tests in any language.

mod answer;
mod text;
mod to_do;
mod traced;

use crate::author_policy::AuthorPolicy;
use crate::cli::{CallArgs, Function};
use crate::fault_injector::{FaultInjector, Script, Seen};
use crate::inspect;
use answer::{Answer, UnitConditions, UnitVerdict};
use devgate::cli::Output;
use devgate::transfer::LARGEST;
use devgate::{exit, output, policy};
use devgate_core::workbench::{ListedPool, ListedUnit, NotGiven, Workbench};
use devgate_policy::PluginPolicy;
use devgate_runner::{CodeCache, LoadRequest, Programs, Runners};
use devgate_types::component::{Call, CallKind, Component, Profile};
use devgate_types::{CallError, Origin, Setting, escape};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
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
    /// What its author does about that.
    to_do: Option<String>,
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
    /// The answer is not what it may be, and what to do about it.
    Refused(String, &'static str),
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
    let loaded = Runners::new(Programs::beside_or_own()?, kept())?.load(&request);
    let loaded =
        loaded.map_err(|why| exit::with_code(exit::FOUND, format!("{why}\n  file: {}", args.component.display())))?;
    let injector = Arc::new(FaultInjector::new(Arc::new(loaded)));
    let bench = Workbench::new(&plugin, &node, Arc::clone(&injector) as Arc<dyn Component>)?;
    let (policy, seen, calling) = (plugin.as_ref(), Seen::default(), Function::Enumerate);
    let mut caller = Caller { args, policy, bench: &bench, injector: &injector, seen, calling };
    let (answer, error, to_do) = match caller.answer() {
        Ok(answer) => (Some(answer), None, None),
        Err(NoAnswer::Usage(why)) => return Err(exit::with_code(exit::USAGE, why)),
        Err(NoAnswer::Refused(why, to_do)) => (None, Some(why), Some(to_do.to_owned())),
        Err(NoAnswer::Failed(error)) => (None, Some(error.to_string()), to_do::about(&error, &caller.seen.asked)),
    };
    let seen = &caller.seen;
    let called = Called {
        function: caller.calling.name(),
        answer,
        error,
        to_do,
        said: bench.lines().iter().map(Said::of).collect(),
        cost: seen.cost.map(|cost| Cost::of(&cost, seen, bench.limits())),
        questions: args.trace.then(|| seen.asked.iter().map(Question::of).collect()),
    };
    match args.output {
        Output::Text => output::print(&text::of(&called))?,
        Output::Json => output::print_json(&called)?,
    }
    Ok(if called.error.is_some() { exit::FOUND } else { exit::OK })
}

/// Where this user's machine code is kept between calls: tests make many, and some languages' components take seconds to compile. Nothing
/// is where there is no such place.
fn kept() -> Option<CodeCache> {
    let named = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")))?;
    std::fs::create_dir_all(&caches).ok()?;
    CodeCache::among(&caches.join("devgate")).ok()
}

/// The plugin of the given policy, or of that which the component carries.
fn plugin(args: &CallArgs, component: &[u8]) -> anyhow::Result<PluginPolicy> {
    let wrong = |why: String| exit::with_code(exit::POLICY, why);
    let Some(path) = &args.policy else {
        let file = args.component.display();
        // On a machine that is real it is for its admin to say what may be read and written there.
        if !args.node_root.is_file() {
            let why = format!(
                "{file}: only a recorded node is looked at by the policy that a component carries; name one with --policy FILE"
            );
            return Err(exit::with_code(exit::USAGE, why));
        }
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

/// Makes the calls, and sees what those of the function that is asked for take.
struct Caller<'a> {
    args: &'a CallArgs,
    policy: &'a PluginPolicy,
    bench: &'a Workbench,
    injector: &'a FaultInjector,
    /// Of the calls of this function.
    seen: Seen,
    calling: Function,
}

impl Caller<'_> {
    fn answer(&mut self) -> Result<Answer, NoAnswer> {
        let (args, bench) = (self.args, self.bench);
        check(args, self.injector.profile()).map_err(NoAnswer::Usage)?;
        let listed = self.call(Function::Enumerate, || bench.enumerate())?;
        if args.function == Function::Enumerate {
            return Ok(Answer::listed(&listed));
        }
        let meant = meant(args, &listed.pools).map_err(NoAnswer::Usage)?;
        if args.function == Function::Health {
            let mut verdicts = Vec::new();
            for (pool, units) in &meant {
                let judged = self.call(Function::Health, || bench.health(&pool.asked, units))?;
                verdicts.extend(units.iter().zip(judged).map(|(unit, verdict)| UnitVerdict::of(pool, unit, verdict)));
            }
            return Ok(Answer::Verdicts { units: verdicts });
        }
        if args.function == Function::Examine {
            let (mut found, dra) = (Vec::new(), self.policy.dra.as_ref());
            for (pool, units) in &meant {
                let all = self.call(Function::Examine, || bench.examine(&pool.asked, units))?;
                found.extend(units.iter().zip(all).map(|(unit, all)| UnitConditions::of(pool, unit, all, dra)));
            }
            return Ok(Answer::Conditions { units: found });
        }
        let [(pool, units)] = meant.as_slice() else {
            let names: Vec<_> = meant.iter().map(|(pool, _)| pool.resource.to_string()).collect();
            let which = if names.is_empty() { "there is no unit".to_owned() } else { names.join(", ") };
            return Err(NoAnswer::Usage(format!("one resource's units must be meant (--resource, or ids): {which}")));
        };
        let done = |_| Answer::DONE;
        match args.function {
            Function::Choose => {
                let call = Call { size: args.count, ..pool.about(CallKind::Choose) };
                let choice = self.call(args.function, || bench.call(call, units))?.choice;
                let most = "choose so many different ids of `available`, with all of `must-include`";
                chosen(units, args.count, &choice).map_err(|why| NoAnswer::Refused(why, most))?;
                Ok(Answer::Choice { choice })
            }
            Function::Prepare => {
                Ok(self.call(args.function, || bench.call(pool.about(CallKind::Prepare), units)).map(done)?)
            }
            Function::Release => {
                Ok(self.call(args.function, || bench.call(pool.about(CallKind::Release), units)).map(done)?)
            }
            _ => match self.call(args.function, || bench.allocate(pool, units, &settings(args))) {
                Ok(reply) => Ok(Answer::Reply(Box::new(reply))),
                Err(NotGiven::Call(error)) => Err(error.into()),
                Err(NotGiven::Refused(why)) => Err(NoAnswer::Refused(
                    format!("was answered with what the policy does not grant: {why}"),
                    to_do::REFUSED,
                )),
            },
        }
    }

    /// Makes one call. What was seen of calls of another function before it is forgotten.
    fn call<T, E>(&mut self, function: Function, call: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        if self.calling != function {
            (self.calling, self.seen) = (function, Seen::default());
        }
        let (result, seen) = self.injector.under(Script::default(), call);
        self.seen.add(seen);
        result
    }
}

/// Refuses what means nothing for a function.
fn check(args: &CallArgs, profile: &Profile) -> Result<(), String> {
    let (name, missing) = (
        args.function.name(),
        match args.function {
            Function::Choose if !profile.preference => Some("preference"),
            Function::Prepare | Function::Release if !profile.lifecycle => Some("lifecycle"),
            Function::Examine if !profile.conditions => Some("conditions"),
            Function::Allocate if !settings(args).is_empty() && !profile.parameters => Some("parameters"),
            _ => None,
        },
    );
    if let Some(export) = missing {
        return Err(format!("{name}: it exports no {export}"));
    }
    if args.function != Function::Allocate && !settings(args).is_empty() {
        return Err(format!("{name}: is told nothing by claims; leave --claim and --class out"));
    }
    if args.function == Function::Enumerate && (!args.ids.is_empty() || args.resource.is_some()) {
        return Err(format!("{name}: is about all that there is; leave ids and --resource out"));
    }
    let twice = args.ids.iter().enumerate().find(|(at, id)| args.ids.iter().take(*at).any(|before| before == *id));
    match twice {
        Some((_, id)) => Err(format!("id {}: is named twice", escape(id, 80))),
        None => Ok(()),
    }
}

/// What class and claim say, in the order of the API.
fn settings(args: &CallArgs) -> Vec<Setting> {
    let setting = |origin| move |json: &String| Setting { origin, json: json.clone() };
    let of_claim = args.claim.iter().map(setting(Origin::Claim));
    args.class.iter().map(setting(Origin::Class)).chain(of_claim).collect()
}

/// Fails where the component chose what it was not offered, or another number.
fn chosen(units: &[ListedUnit], count: u32, choice: &[String]) -> Result<(), String> {
    let distinct: BTreeSet<_> = choice.iter().collect();
    let is_offered = |id: &&String| units.iter().any(|unit| unit.id.as_str() == id.as_str());
    match choice.iter().find(|id| !is_offered(id)) {
        Some(id) => Err(format!("chose {}, which was not offered", escape(id, 80))),
        None if distinct.len() != choice.len() => Err("chose a unit twice".to_owned()),
        None if u32::try_from(choice.len()).ok() != Some(count) => {
            Err(format!("chose {} units of {count}", choice.len()))
        }
        None => Ok(()),
    }
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
            let id = escape(id, 80);
            return Err(format!(
                "id {id}: enumerate does not list it, or the gate rejects it; call enumerate to see which are there"
            ));
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
            Self::Examine => "examine",
        }
    }
}
