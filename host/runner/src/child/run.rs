//! `devgate-runner`: runs one component for as long as its host asks it to.

use super::remote::Remote;
use super::{ChildError, check_build, fence, numbers};
use crate::message::kind;
use crate::message::wire::{self, from_runner, item, to_runner, verdict};
use crate::program::RUNNER;
use crate::socket::{MAX_DOWN, Socket, SocketError};
use devgate_confine::{Filter, Limits as Confinement, Network, begin, forbid};
use devgate_types::component::{Call, Capabilities, Cost, Output, Profile};
use devgate_types::load::{Admitted, Refusal};
use devgate_types::{ByteSize, CallError, Edits, Limits, Mutex, Pool, Property, Setting, Unit, Verdict};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread;

/// What this process is called by its host.
pub const NAME: &str = RUNNER;
/// Two sockets and the code, each as it was handed over and as it is read, and one that is opened to give up the rest.
const OPEN_FILES: u64 = 7;
/// What a thread needs that calls a component: its stack, and as much again for what it asks.
const LANE_STACK: usize = 2 << 20;

/// What is to be run.
#[derive(Debug)]
pub struct Loading {
    /// The machine code that `devgate-compile` of this build made of it.
    pub code: Vec<u8>,
    /// What it imports.
    pub imports: Admitted,
    /// What it is.
    pub profile: Profile,
    /// What its memories start with.
    pub memory: ByteSize,
    /// What it may be.
    pub limits: Limits,
}

/// Makes a component ready to be called.
pub type Load = fn(Loading) -> Result<Ready, Refusal>;

/// Makes a call of the component, whose questions this answers.
pub type Callee = dyn Fn(&Call<'_>, Box<dyn Capabilities>) -> Result<(Output, Cost), CallError> + Send + Sync;

/// A component that can be called, once this process is confined.
pub struct Ready {
    /// What is called.
    pub call: Arc<Callee>,
    /// Whether it exports what it must, for which some of its code runs.
    pub check: Box<dyn FnOnce() -> Result<(), Refusal>>,
}

/// Does what it is called for until its host has no more for it.
#[must_use]
pub fn main(load: Load) -> ExitCode {
    match work(load) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn work(load: Load) -> Result<(), ChildError> {
    let (parent, [address_space, data]) = numbers()?;
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    let mut first = Socket::blocking(input.as_fd().try_clone_to_owned()?);
    let second = Socket::blocking(output.as_fd().try_clone_to_owned()?);
    let mut code = File::from(error.as_fd().try_clone_to_owned()?);
    if let Err(why) = confine(parent, address_space, data) {
        let why = Refusal::Host(format!("{NAME}: {why}"));
        let _ = first.send(&said(from_runner::Kind::Refused(why.into())));
        return Ok(());
    }
    let loaded = match loading(&mut first, &mut code) {
        Err(why @ ChildError::OtherBuild) => Err(Refusal::Host(format!("{NAME}: {why}"))),
        loading => loading.map(load)?,
    };
    drop(code);
    let Ready { call, check } = match loaded {
        Ok(ready) => ready,
        Err(why) => {
            let _ = first.send(&said(from_runner::Kind::Refused(why.into())));
            return Ok(());
        }
    };
    let of_second = Arc::clone(&call);
    let lane = thread::Builder::new().name("lane".into()).stack_size(LANE_STACK);
    let (here, is_here) = mpsc::sync_channel(1);
    let lane = lane.spawn(move || {
        let _ = here.send(());
        serve(second, &*of_second);
    })?;
    // What a thread does to begin, the filter forbids.
    let _ = is_here.recv();
    // Code of the component runs from here on.
    let confined = forbid(Filter::Running).map_err(|why| Refusal::Host(format!("{NAME}: {why}")));
    let ready = match confined.and_then(|()| check()) {
        Ok(()) => from_runner::Kind::Ready(wire::Ready {}),
        Err(why) => from_runner::Kind::Refused(why.into()),
    };
    let may_run = matches!(ready, from_runner::Kind::Ready(_));
    if first.send(&said(ready)).is_err() || !may_run {
        return Ok(());
    }
    serve(first, &*call);
    let _ = lane.join();
    Ok(())
}

fn confine(parent: u32, address_space: u64, data: u64) -> Result<(), ChildError> {
    let limits = Confinement {
        address_space,
        data,
        // The image of its component's first memory, where that is large.
        file_size: data,
        cpu_seconds: None,
        open_files: OPEN_FILES,
        nice: 10,
    };
    begin(parent, c"devgate-runner", &limits)?;
    fence(Network::Refused)?;
    Ok(forbid(Filter::Loading)?)
}

fn loading(host: &mut Socket, code: &mut File) -> Result<Loading, ChildError> {
    let told = |why: &dyn std::fmt::Display| ChildError::Told(why.to_string());
    let message = host.receive::<wire::ToRunner>(MAX_DOWN).map_err(|why| told(&why))?;
    let Some(to_runner::Kind::Load(load)) = message.kind else {
        return Err(told(&"it is not told what to load"));
    };
    check_build(&load.build)?;
    let mut bytes = Vec::new();
    // Without `take` it would ask how long the file is, which the filter forbids.
    code.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(Loading {
        code: bytes,
        profile: Profile {
            preference: load.preference,
            lifecycle: load.lifecycle,
            parameters: load.parameters,
            conditions: load.conditions,
            wasi: load.wasi,
            sha256: None,
        },
        imports: Admitted { served: load.imports, not_granted: load.not_granted },
        memory: ByteSize(load.memory),
        limits: load.limits.unwrap_or_default().into(),
    })
}

fn said(kind: from_runner::Kind) -> wire::FromRunner {
    wire::FromRunner { kind: Some(kind) }
}

/// One call after the other, until the host closes the socket.
pub(crate) fn serve(host: Socket, callee: &Callee) {
    let host = Arc::new(Mutex::new(host));
    loop {
        let message = host.lock().receive::<wire::ToRunner>(MAX_DOWN);
        let Ok(wire::ToRunner { kind: Some(to_runner::Kind::Call(call)) }) = message else {
            return;
        };
        let outcome = answer(&host, callee, call);
        if finish(&mut host.lock(), outcome).is_err() {
            return;
        }
    }
}

fn answer(host: &Arc<Mutex<Socket>>, callee: &Callee, call: wire::Call) -> Result<(Output, Cost), CallError> {
    let limits = call.limits.unwrap_or_default().into();
    let units: Vec<Unit> = call.units.into_iter().map(Unit::from).collect();
    let settings: Vec<Setting> = call.settings.into_iter().map(Setting::from).collect();
    let asked = Call {
        kind: kind(call.function),
        resource: &call.resource,
        units: &units,
        must_include: &call.must_include,
        size: call.size,
        settings: &settings,
    };
    callee(&asked, Box::new(Remote::new(Arc::clone(host), limits, call.config)))
}

fn finish(host: &mut Socket, outcome: Result<(Output, Cost), CallError>) -> Result<(), SocketError> {
    let done = match outcome {
        Ok((output, cost)) => {
            let verdicts = output.verdicts.into_iter().map(of_verdict);
            let choice = output.choice.into_iter().map(item::Item::Choice);
            let conditions = output.conditions.iter().map(|list| item::Item::Conditions(list.as_slice().into()));
            let items = of_pools(output.pools).into_iter().chain(verdicts).chain(of_edits(output.edits)).chain(choice);
            let items = items.chain(conditions);
            for item in items {
                host.add(&said(from_runner::Kind::Item(wire::Item { item: Some(item) })))?;
            }
            wire::Done { fault: None, memory: cost.memory.0, host_calls: cost.host_calls }
        }
        Err(error) => wire::Done { fault: Some(error.into()), ..wire::Done::default() },
    };
    host.send(&said(from_runner::Kind::Done(done)))
}

type Items = Vec<item::Item>;

fn of_pools(pools: Vec<Pool>) -> Items {
    let mut items = Items::new();
    for pool in pools {
        items.push(item::Item::Pool(pool.resource));
        for unit in pool.units {
            items.push(item::Item::Unit(wire::UnitHead {
                id: unit.id,
                backing: unit.backing.into_iter().map(|device| device.0).collect(),
                nodes: unit.nodes.into_iter().map(|node| node.0).collect(),
            }));
            items.extend(each(&unit.properties, item::Item::UnitProperty));
        }
        items.extend(pool.shared_nodes.into_iter().map(|node| item::Item::SharedNode(node.0)));
        items.extend(each(&pool.properties, item::Item::PoolProperty));
    }
    items
}

fn of_edits(edits: Edits) -> Items {
    let mut items: Items = each(&edits.env, item::Item::Env).collect();
    items.extend(edits.mounts.into_iter().map(|mount| item::Item::Mount(mount.0)));
    items.extend(each(&edits.annotations, item::Item::Annotation));
    items.extend(edits.cdi.into_iter().map(item::Item::Cdi));
    items.extend(each(&edits.properties, item::Item::EditsProperty));
    items
}

fn each(properties: &[Property], item: fn(wire::Property) -> item::Item) -> impl Iterator<Item = item::Item> {
    properties.iter().map(wire::Property::from).map(item)
}

fn of_verdict(verdict: Verdict) -> item::Item {
    let (kind, reason) = match verdict {
        Verdict::Healthy => (verdict::Kind::Healthy, String::new()),
        Verdict::Unhealthy(reason) => (verdict::Kind::Unhealthy, reason),
        Verdict::Unknown(reason) => (verdict::Kind::Unknown, reason),
    };
    item::Item::Verdict(wire::Verdict { kind: kind.into(), reason })
}
