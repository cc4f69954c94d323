//! A component that does everything right, but for the one fault that its configuration names. For tests of `devgatectl conform`,
//! each check of which must be seen to fail, and of what vendors read of their mistakes; never deploy it.
#![forbid(unsafe_code)]
#![allow(clippy::panic, reason = "faults are what it is for")]

mod fault;
mod mistake;

use devgate_sdk::{
    Condition, Conditions, Device, Edits, Effect, Error, ErrorKind, Lifecycle, Parameters, Plugin, Pool, Preference,
    Presence, Setting, Unit, Verdict,
};
use devgate_sdk::{control, files, hardware, host_paths, kernel_log, log, state};
use fault::{fails_on, has};

const RESOURCE: &str = "example.com/rack";

struct Misfit;

impl Plugin for Misfit {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        fault::waste()?;
        let racks = fault::devices(hardware::devices("rack"))?;
        if has("fails-without-devices") && racks.is_empty() {
            return Err(Error::not_found("there is no rack"));
        }
        if has("breaks-on-many") && racks.len() > 500 {
            panic!("too many racks");
        }
        mistake::looked(&racks)?;
        let generation = fault::generation(racks.len())?;
        let (mut units, mut unread) = (Vec::new(), Vec::new());
        for (n, rack) in racks.iter().enumerate() {
            match describe(rack, n, &generation) {
                Ok(unit) => units.push(unit),
                Err(error) if has("gives-up") => return Err(error),
                Err(error) => {
                    log::info(&format!("rack {} is left out: {}", rack.name(), error.message));
                    unread.push(rack.name());
                }
            }
        }
        if has("asks-n-squared") {
            // Few enough for the limits, and a hundred times as many for ten times the racks.
            for _ in 0..racks.len() * racks.len() / 20 {
                let _name = racks.first().map(Device::name);
            }
        }
        if has("lists-nothing") {
            units.clear();
        }
        if has("lists-twice")
            && let Some(rack) = racks.first()
        {
            units.push(Unit::of("again", rack.duplicate(), rack.nodes()?));
        }
        if has("takes-nodes-of-others")
            && let (Some(unit), Some(other)) = (units.first_mut(), racks.get(1))
        {
            unit.nodes = other.nodes()?;
        }
        let mut pool = Pool::new(RESOURCE, units).with_unread(&unread);
        if has("gives-nothing") {
            return Ok(vec![pool]);
        }
        pool.shared_nodes = host_paths::node_at("/dev/rackctl").if_present().unwrap_or_default().into_iter().collect();
        Ok(mistake::listed(pool))
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        if has("breaks-on-none") && units.is_empty() {
            panic!("no units");
        }
        if has("breaks-on-repeated") && units.windows(2).any(|two| matches!(two, [a, b] if a.id == b.id)) {
            panic!("one unit twice");
        }
        if has("breaks-on-many-units") && units.len() > 500 {
            panic!("too many units");
        }
        fault::looked()?;
        let events = kernel_log::since("", 16).map(|batch| batch.events.len());
        if has("breaks-without-the-log") && events.is_err_and(|error| error.is_not_granted()) {
            panic!("no log");
        }
        let mut verdicts: Vec<Verdict> = units.iter().map(judge).collect();
        if has("judges-by-company") && units.len() == 1 {
            verdicts = vec![Verdict::Unhealthy("it is alone".to_owned())];
        }
        if has("judges-all-alike")
            && let Some(bad) = verdicts.iter().find(|verdict| !matches!(verdict, Verdict::Healthy)).cloned()
        {
            verdicts.fill(bad);
        }
        if has("all-unhealthy") {
            verdicts.fill(Verdict::Unhealthy("out of order".to_owned()));
        }
        if has("answers-in-its-own-order") {
            let mut both: Vec<_> = units.iter().map(|unit| unit.id.clone()).zip(verdicts).collect();
            both.sort_by(|a, b| a.0.cmp(&b.0));
            verdicts = both.into_iter().map(|(_, verdict)| verdict).collect();
        }
        mistake::judged(&mut verdicts);
        Ok(verdicts)
    }

    fn allocate(_resource: String, units: Vec<Unit>) -> Result<Edits, Error> {
        if has("needs-enumerate-first") && state::load()?.is_empty() {
            return Err(Error::other("misfit", "nothing was enumerated"));
        }
        if has("wants-order") && !units.is_sorted_by(|a, b| a.id <= b.id) {
            return Err(Error::invalid("the units are not sorted"));
        }
        if has("looks-at-all-to-allocate") {
            for rack in hardware::devices("rack")? {
                let _name = rack.name();
            }
        }
        for rack in units.iter().flat_map(|unit| &unit.backing) {
            let serial = rack.attribute("serial");
            if has("breaks-on-gone-to-allocate") && serial.is_err() {
                panic!("the rack is gone");
            }
            serial.map_err(fault::worded)?;
        }
        let edits = mistake::given(Edits::none())?;
        Ok(match has("sets-what-is-not-granted") {
            true => edits.with_env("LD_PRELOAD", "/tmp/evil.so"),
            false => edits,
        })
    }
}

/// One unit, made of one rack.
fn describe(rack: &Device, place: usize, generation: &str) -> Result<Unit, Error> {
    let name = rack.name();
    let serial = fails_on(rack.attribute("serial"))?;
    if !serial.bytes().all(|byte| byte.is_ascii_alphanumeric()) || !(4..=32).contains(&serial.len()) {
        return Err(Error::other("serial", "its serial number is none"));
    }
    let level = fails_on(rack.attribute("level")).unwrap_or_default();
    let level = level.split(' ').next().and_then(|level| level.parse::<u8>().ok());
    let _information = fails_on(files::text(&format!("/proc/misfit/{name}/information")));
    let _listed = fault::entries(files::entries("/proc/misfit"));
    let _slot = fault::link(rack.link("slot"));
    let _ports = fault::entries(rack.entries("ports"));
    let (_numa, _driver) = (rack.numa_node(), rack.driver());
    let nodes = fault::nodes(rack.nodes())?;
    if has("fails-when-ill") && rack.attribute("state")? != "ok" {
        panic!("a rack is ill");
    }
    let id = match () {
        () if has("ids-by-place") => format!("rack-{place}"),
        () if has("ids-too-long") => format!("{serial}{}", "x".repeat(64)),
        () => format!("{serial}{generation}"),
    };
    let nodes = if has("gives-nothing") { Vec::new() } else { nodes };
    let mut unit = Unit::of(id, rack.duplicate(), nodes).with("serial", serial);
    if let Some(level) = level {
        unit = unit.with("level", level.to_string());
    }
    if has("odd-properties") {
        unit = unit.with("odd", "\u{1b}[31m");
    }
    if let Some(count) = fault::counted()? {
        unit = unit.with("count", count);
    }
    Ok(unit)
}

fn judge(unit: &Unit) -> Verdict {
    let Some(rack) = unit.backing.first() else {
        return Verdict::Unhealthy("it is made of nothing".to_owned());
    };
    match rack.attribute("state") {
        Ok(state) if state == "ok" => fault::remembered().map_or(Verdict::Healthy, Verdict::Unhealthy),
        Ok(state) => {
            fault::remember("ill");
            let plain: String = state.chars().filter(char::is_ascii_graphic).take(40).collect();
            Verdict::Unhealthy(format!("its state is \"{plain}\""))
        }
        Err(_) if has("breaks-on-gone-to-judge") => panic!("the rack is gone"),
        Err(error) if has("denied-is-unhealthy") && error.kind == ErrorKind::Denied => {
            Verdict::Unhealthy("its state may not be read".to_owned())
        }
        Err(_) if has("gives-no-reason") => Verdict::Unknown(String::new()),
        Err(error) if error.is_absence() => Verdict::Unhealthy("it is gone".to_owned()),
        Err(error) => Verdict::Unknown(format!("its state cannot be read: {}", error.message)),
    }
}

impl Preference for Misfit {
    fn choose(
        _resource: String,
        available: Vec<Unit>,
        must_include: Vec<String>,
        size: u32,
    ) -> Result<Vec<String>, Error> {
        if has("breaks-on-odd-questions") && size == 0 {
            panic!("nothing is wanted");
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let size = if has("chooses-too-few") { size.saturating_sub(1) } else { size };
        let must = if has("forgets-what-must-be") { Vec::new() } else { must_include };
        let others = available.into_iter().map(|unit| unit.id).filter(|id| !must.contains(id)).collect::<Vec<_>>();
        Ok(must.into_iter().chain(others).take(size).collect())
    }
}

impl Lifecycle for Misfit {
    fn prepare(_resource: String, units: Vec<Unit>) -> Result<(), Error> {
        arm(&units, "1")
    }

    fn release(_resource: String, units: Vec<Unit>) -> Result<(), Error> {
        arm(&units, "0")
    }
}

fn arm(units: &[Unit], value: &str) -> Result<(), Error> {
    if has("one-at-a-time") && units.len() != 1 {
        return Err(Error::invalid("one unit at a time"));
    }
    for rack in units.iter().flat_map(|unit| &unit.backing) {
        let armed = rack.attribute("armed");
        if has("breaks-on-gone-to-release") && armed.is_err() {
            panic!("the rack is gone");
        }
        let armed = armed.map_err(fault::worded)?;
        let again = has("prepares-once") && value == "1" || has("releases-what-it-prepared") && value == "0";
        if again && armed == value {
            return Err(Error::other("misfit", "it is so already"));
        }
        control::write(rack, "armed", value)?;
    }
    Ok(())
}

impl Parameters for Misfit {
    fn allocate_with(resource: String, units: Vec<Unit>, settings: Vec<Setting>) -> Result<Edits, Error> {
        for Setting { json, .. } in &settings {
            if has("breaks-on-odd-parameters") && !json.starts_with('{') {
                panic!("it is no mapping");
            }
            if json != "{}" && !has("takes-any-parameters") {
                return Err(Error::invalid("it knows none of these parameters"));
            }
        }
        let edits = Self::allocate(resource, units)?;
        Ok(if has("takes-nothing-for-something") { edits.with_env("RACKS", "all") } else { edits })
    }
}

impl Conditions for Misfit {
    fn examine(_resource: String, units: Vec<Unit>) -> Result<Vec<Vec<Condition>>, Error> {
        if has("breaks-on-gone-to-examine")
            && units.iter().flat_map(|unit| &unit.backing).any(|rack| rack.attribute("serial").is_err())
        {
            panic!("the rack is gone");
        }
        let key = if has("examines-anew") { format!("look-{}", fault::looks()?) } else { "worn".to_owned() };
        let message = if has("examines-without-words") { "!" } else { "it is worn" }.to_owned();
        let worn = Condition { key, effect: Effect::Inform, message };
        Ok(units.iter().map(|_| vec![worn.clone()]).collect())
    }
}

devgate_sdk::export!(Misfit: preference, lifecycle, parameters, conditions);
