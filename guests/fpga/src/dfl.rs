//! FPGAs of the kernel's DFL drivers: a PCI function has a management engine (`dfl-fme.0`), which can program it, and ports
//! (`dfl-port.0`), behind each of which is an accelerator function. Only ports are ever offered.
//!
//! From `Documentation/fpga/dfl.rst` and `Documentation/ABI/testing/sysfs-platform-dfl-{fme,port}`; where devices lie is
//! `drivers/fpga/dfl.c`: `…/0000:d8:00.0/fpga_region/region0/{dfl-fme.0,dfl-port.0}`, and beneath the engine
//! `dfl-fme-region.1/fpga_region/region1`, whose `compat_id` says which bitstreams fit. With SR-IOV a port moves to a virtual function,
//! whose region has no engine.

use crate::config::{Config, Dfl};
use crate::listed::Listed;
use crate::uuid::{Uuid, function_name};
use devgate_sdk::{Device, Error, Presence, Unit, Verdict, hardware};

/// The longest text of a register: 64 bits in hexadecimal.
const MAX_REGISTER: usize = 18;

/// A PCI function with ports.
struct Card {
    /// Its PCI address.
    address: String,
    ports: Vec<Device>,
    engine: Option<Device>,
    /// Which bitstreams fit, or why that is not known.
    interface: Result<Uuid, String>,
    numa: Option<u32>,
}

/// Finds the units.
///
/// # Errors
/// When devices cannot be listed at all.
pub(crate) fn list(config: &Config, listed: &mut Listed) -> Result<(), Error> {
    if config.dfl == Dfl::Off {
        return Ok(());
    }
    let cards = match cards() {
        Ok(cards) => cards,
        Err(error) => {
            // Their regions know the ports by name at least.
            let entries = |region: &Device| region.entries("").unwrap_or_default();
            let names = hardware::devices("fpga_region")?.iter().flat_map(entries).collect::<Vec<_>>();
            for name in names.iter().filter(|name| name.starts_with("dfl-port.")) {
                listed.unread(name, &error.message);
            }
            return Ok(());
        }
    };
    for card in cards {
        match config.dfl {
            Dfl::Function => card.list_functions(config, listed),
            Dfl::Region => card.list_region(config, listed),
            Dfl::Off => {}
        }
    }
    Ok(())
}

/// How known units are, in their order.
pub(crate) fn health(units: &[Unit]) -> Vec<Verdict> {
    let cards = cards();
    let judge = |unit: &Unit| match &cards {
        Ok(cards) => verdict(cards, unit),
        Err(error) => Verdict::Unknown(error.message.clone()),
    };
    units.iter().map(judge).collect()
}

impl Card {
    fn list_functions(self, config: &Config, listed: &mut Listed) {
        for port in &self.ports {
            match self.named(port) {
                Ok((interface, function)) => {
                    let name = function_name(&interface, &function);
                    let resource = format!("{}/{name}", config.dfl_domain);
                    match self.id_of(port).and_then(|id| self.unit(id, &[port])) {
                        Ok(unit) => listed.add(resource, unit.with("afu", function.text())),
                        Err(error) => listed.unread(&port.name(), &error.message),
                    }
                }
                Err(why) => listed.unread(&port.name(), &why),
            }
        }
    }

    fn list_region(self, config: &Config, listed: &mut Listed) {
        let ports: Vec<&Device> = self.ports.iter().collect();
        let unit = self.unit(self.address.clone(), &ports);
        match self.interface.as_ref().map(|interface| known(interface, "interface")) {
            Ok(Ok(interface)) => match unit {
                Ok(unit) => listed.add(format!("{}/region-{}", config.dfl_domain, interface.text()), unit),
                Err(error) => self.unread(listed, &error.message),
            },
            Ok(Err(why)) => self.unread(listed, &why),
            Err(why) => self.unread(listed, why),
        }
    }

    fn unread(&self, listed: &mut Listed, why: &str) {
        for port in &self.ports {
            listed.unread(&port.name(), why);
        }
    }

    /// Interface and function of a port.
    fn named(&self, port: &Device) -> Result<(Uuid, Uuid), String> {
        let interface = self.interface.clone()?;
        let function = port.attribute("afu_id").map_err(|error| error.message)?;
        let function = Uuid::parse(&function).ok_or_else(|| format!("afu_id reads {function:.40}"))?;
        Ok((known(&interface, "interface")?, known(&function, "function")?))
    }

    /// The PCI address with the port's number on its card: those that the kernel counts (`dfl-port.3`) are of all cards together.
    fn id_of(&self, port: &Device) -> Result<String, Error> {
        let number = port.attribute("id")?;
        match number.parse::<u8>() {
            Ok(number) => Ok(format!("{}-p{number}", self.address)),
            Err(_) => Err(Error::invalid(format!("id reads {number:.20}"))),
        }
    }

    fn unit(&self, id: String, ports: &[&Device]) -> Result<Unit, Error> {
        let mut nodes = Vec::new();
        for port in ports {
            // The port's own, whatever else the policy offers.
            let own = |node: &devgate_sdk::Node| node.owner().is_some_and(|(owner, _)| owner == port.name());
            nodes.extend(port.nodes()?.into_iter().filter(own));
        }
        let names: Vec<String> = ports.iter().map(|port| port.name()).collect();
        let mut unit =
            Unit { id, backing: ports.iter().map(|port| port.duplicate()).collect(), nodes, properties: Vec::new() };
        unit = unit.with("kind", "dfl").with("pci", self.address.clone());
        unit = unit.with("ports", names.join(" "));
        if let Ok(interface) = &self.interface {
            unit = unit.with("interface", interface.text());
        }
        if let Some(numa) = self.numa {
            unit = unit.with("numa", numa.to_string());
        }
        let said = |key: &str| self.engine.as_ref().and_then(|engine| engine.attribute(key).ok());
        for (name, key) in [("bitstream", "bitstream_id"), ("metadata", "bitstream_metadata")] {
            if let Some(value) = said(key).filter(|value| !value.is_empty() && value.len() <= MAX_REGISTER) {
                unit = unit.with(name, value);
            }
        }
        Ok(unit)
    }
}

/// A card whose registers cannot be reached reads as all ones.
fn known(uuid: &Uuid, what: &str) -> Result<Uuid, String> {
    if uuid.is_all_ones() {
        return Err(format!("its {what} id is all ones: it does not answer, or nothing is programmed"));
    }
    Ok(uuid.clone())
}

fn verdict(cards: &[Card], unit: &Unit) -> Verdict {
    let unhealthy = Verdict::Unhealthy;
    let address = unit.property("pci").unwrap_or_default();
    let Some(card) = cards.iter().find(|card| card.address == address) else {
        return unhealthy(format!("{address} has no port any more"));
    };
    match &card.interface {
        Ok(interface) => {
            if let Err(why) = known(interface, "interface") {
                return unhealthy(why);
            }
            if unit.property("interface").is_some_and(|was| was != interface.text()) {
                return unhealthy(format!("its interface is {} now", interface.text()));
            }
        }
        Err(why) => return Verdict::Unknown(why.clone()),
    }
    if unit.nodes.is_empty() {
        return unhealthy("the policy offers no node of its ports".to_owned());
    }
    for port in &unit.backing {
        match port_problem(port, unit.property("afu")) {
            Ok(None) => {}
            Ok(Some(problem)) => return unhealthy(format!("{} {problem}", port.name())),
            Err(error) if error.is_absence() => return unhealthy(format!("{} is gone", port.name())),
            Err(error) => return Verdict::Unknown(error.message),
        }
    }
    match card.engine.as_ref().and_then(engine_problem) {
        Some(problem) => unhealthy(problem),
        None => Verdict::Healthy,
    }
}

/// What is wrong with a port: another function than the one that it was offered as, a power state without any clock, errors.
fn port_problem(port: &Device, function: Option<&str>) -> Result<Option<String>, Error> {
    if let Some(was) = function {
        let now = match port.attribute("afu_id") {
            Ok(now) => now,
            Err(error) => return unreadable(error).map(Some),
        };
        if let Some(Err(why)) = Uuid::parse(&now).map(|now| known(&now, "function")) {
            return Ok(Some(format!("is not usable: {why}")));
        }
        if now != was {
            return Ok(Some(format!("has another function now: {now:.40}")));
        }
    }
    // AP6: the card keeps the function from running, as it is too hot or takes too much.
    if is_stopped(port.attribute("power_state").if_present()?.as_deref()) {
        return Ok(Some("is throttled to a stop (power_state 6)".to_owned()));
    }
    let errors = port.attribute("errors/errors").if_present()?;
    let errors = errors.filter(|errors| has_errors(errors));
    Ok(errors.map(|errors| format!("has errors {errors:.40}: write that to errors/errors to clear them")))
}

/// What it says about a port that its function cannot be read. While a port is disabled, for a reset or for partial reconfiguration,
/// `afu_id_show` in `drivers/fpga/dfl-afu-main.c` answers EBUSY.
fn unreadable(error: Error) -> Result<String, Error> {
    if error.code == "EBUSY" {
        return Ok("is being reset or programmed".to_owned());
    }
    Err(error)
}

/// `power_state_show` in `drivers/fpga/dfl-afu-main.c` writes `0x6`.
fn is_stopped(state: Option<&str>) -> bool {
    state.is_some_and(|state| state.trim_start_matches("0x") == "6")
}

/// What the management engine says of the whole card. What it does not say, says nothing.
fn engine_problem(engine: &Device) -> Option<String> {
    if let Ok(errors) = engine.attribute("errors/catfatal_errors")
        && has_errors(&errors)
    {
        return Some(format!("its card has fatal errors {errors:.40}"));
    }
    let sensors = engine.children("hwmon").unwrap_or_default();
    let alarm = |sensor: &Device| sensor.attribute("temp1_crit_alarm").is_ok_and(|alarm| alarm == "1");
    sensors.iter().any(alarm).then(|| "its card is too hot, and throttled to a stop".to_owned())
}

/// Error registers read `0x0` without one.
fn has_errors(register: &str) -> bool {
    register.trim_start_matches("0x").bytes().any(|digit| digit != b'0')
}

/// The PCI functions with ports, in the order of their addresses.
fn cards() -> Result<Vec<Card>, Error> {
    let platform = hardware::devices("platform")?;
    // Without these the ports are there all the same, and nothing fits them.
    let (regions, functions) = (hardware::devices("fpga_region"), hardware::devices("pci"));
    let of_kind = |kind: &str| -> Vec<&Device> {
        let starts = |device: &&Device| device.name().starts_with(kind);
        platform.iter().filter(starts).collect()
    };
    let engines = of_kind("dfl-fme.");
    let engine_of = |address: &str| {
        let engine = engines.iter().find(|engine| address_of(&engine.location()) == Some(address));
        engine.map(|engine| engine.duplicate())
    };
    let mut cards: Vec<Card> = Vec::new();
    for port in of_kind("dfl-port.") {
        let place = port.location();
        let Some(address) = address_of(&place) else { continue };
        if let Some(card) = cards.iter_mut().find(|card| card.address == address) {
            card.ports.push(port.duplicate());
            continue;
        }
        let engine = engine_of(address).or_else(|| {
            // A virtual function's card is managed by the physical one.
            let functions = functions.as_ref().ok()?;
            let function = functions.iter().find(|function| function.name() == address)?;
            engine_of(&function.link("physfn").ok()?)
        });
        cards.push(Card {
            address: address.to_owned(),
            interface: match (&engine, &functions, &regions) {
                (_, _, Err(error)) | (None, Err(error), _) => Err(error.message.clone()),
                (engine, _, Ok(regions)) => interface(engine.as_ref(), regions),
            },
            engine,
            numa: port.numa_node(),
            ports: vec![port.duplicate()],
        });
    }
    cards.sort_by(|a, b| a.address.cmp(&b.address));
    Ok(cards)
}

/// What fits into the region that an engine programs.
fn interface(engine: Option<&Device>, regions: &[Device]) -> Result<Uuid, String> {
    let engine = engine.ok_or("it has no dfl-fme, or the policy does not grant it")?;
    let place = format!("{}/", engine.location());
    let mut beneath = regions.iter().filter(|region| region.location().starts_with(&place));
    let region =
        beneath.next().ok_or_else(|| format!("{} has no region, or the policy does not grant it", engine.name()))?;
    if beneath.next().is_some() {
        return Err(format!("{} has more regions than one", engine.name()));
    }
    let text = region.attribute("compat_id").map_err(|error| error.message)?;
    Uuid::parse(&text).ok_or_else(|| format!("compat_id reads {text:.40}"))
}

/// The PCI function that a port or engine lies beneath: `…/0000:d8:00.0/fpga_region/region0/dfl-port.0`.
fn address_of(place: &str) -> Option<&str> {
    place.rsplit('/').nth(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_sdk::ErrorKind;

    #[test]
    fn a_port_tells_its_function() {
        let place = "pci0000:d7/0000:d7:01.0/0000:d8:00.0/fpga_region/region0/dfl-port.0";
        assert_eq!(address_of(place), Some("0000:d8:00.0"));
        assert_eq!(address_of("a/b"), None);
    }

    #[test]
    fn a_disabled_port_is_unhealthy_and_any_other_error_is_no_answer() {
        let busy = |code: &str| unreadable(Error::new(ErrorKind::Io, "attribute afu_id").with_code(code));
        assert_eq!(busy("EBUSY").unwrap(), "is being reset or programmed");
        assert_eq!(busy("EIO").unwrap_err().code, "EIO");
        assert!(unreadable(Error::not_found("attribute afu_id")).unwrap_err().is_absence());
    }

    #[test]
    fn a_function_is_stopped_in_power_state_six() {
        for (state, stopped) in
            [(Some("0x6"), true), (Some("0x0"), false), (Some("0x1"), false), (Some("0x2"), false), (None, false)]
        {
            assert_eq!(is_stopped(state), stopped, "{state:?}");
        }
    }

    #[test]
    fn registers_of_zeros_have_no_errors() {
        for (register, errors) in [("0x0", false), ("0x0000", false), ("0x4", true), ("", false), ("10", true)] {
            assert_eq!(has_errors(register), errors, "{register}");
        }
    }
}
