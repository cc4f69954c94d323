//! FPGAs of XRT (Alveo and its like): a card has a management function, which can flash it, and a user function, which computes. Only user
//! functions are ever offered.
//!
//! What is where, from the drivers' sources (`src/runtime_src/core/pcie/driver/linux/xocl`); all of it lies beneath the PCI function:
//!
//! - `user_pf`, `mgmt_pf`: there on a function of that kind, and empty; they stay while the card is reset (`userpf/xocl_sysfs.c`).
//! - `rom.u.N/VBNV`: the shell, such as `xilinx_u250_gen3x16_xdma_shell_4_1`; `timestamp` beside it (`subdev/feature_rom.c`).
//!   `NAME.u.N` are platform devices, for parts of the card that come and go with its shell: while a shell is flashed there is no `rom.u.N`.
//! - `xmc.u.N/serial_num`, or `hwmon_sdm.u.N/serial_num` on newer cards: the card's serial number.
//! - `drm/renderD128`: the node. `xfpga!dma.qdma.u256.0` of the class `xrt_user`: that of the QDMA engine, for shells that have one.
//! - `dev_offline`, `ready`: whether the function is reset, and whether the management side answers.

use crate::config::{Config, Xrt};
use crate::listed::Listed;
use devgate_sdk::{Device, Error, Node, Presence, Unit, Verdict, hardware};

/// Parts of a card that know its serial number, by how their names start.
const BOARD: [&str; 2] = ["xmc.u.", "hwmon_sdm.u."];

/// Boards with several user functions, and how many: a card of these is whole with all of them.
const SEVERAL: [(&str, usize); 1] = [("u30", 2)];

/// The longest name of a resource behind its domain.
const MAX_NAME: usize = 63;
/// The longest serial number, which is half of that on the cards that there are.
const MAX_SERIAL: usize = 64;

/// What lies beneath functions.
struct Around {
    /// Nodes of the driver's own class.
    engines: Vec<Device>,
    /// Platform devices.
    parts: Vec<Device>,
}

impl Around {
    fn now() -> Result<Self, Error> {
        Ok(Self { engines: hardware::devices("xrt_user")?, parts: hardware::devices("platform")? })
    }
}

/// A user function that has a shell.
struct Function {
    device: Device,
    address: String,
    /// `xilinx_u250_gen3x16_xdma_shell_4_1-0`: the shell and when it was made.
    shell: String,
    serial: Option<String>,
    nodes: Vec<Node>,
}

/// Finds the units.
///
/// # Errors
/// When devices cannot be listed at all.
pub(crate) fn list(config: &Config, listed: &mut Listed) -> Result<(), Error> {
    if config.xrt == Xrt::Off {
        return Ok(());
    }
    let around = Around::now();
    let mut functions = Vec::new();
    for device in user_functions(&around)? {
        let address = device.name();
        match function(device, around.as_ref()) {
            Ok(function) => functions.push(function),
            Err(why) => listed.unread(&address, &why),
        }
    }
    while let Some(first) = functions.pop() {
        let mut members = vec![first];
        if config.xrt == Xrt::Card {
            let of_card = |other: &mut Function| members.iter().any(|member| member.is_on_card_of(other));
            let others: Vec<Function> = functions.extract_if(.., of_card).collect();
            members.extend(others);
        }
        members.sort_by(|a, b| a.address.cmp(&b.address));
        let Some(shell) = members.first().map(|first| first.shell.clone()) else {
            continue;
        };
        let several = SEVERAL.iter().find(|(board, _)| model(&shell) == Some(*board));
        match several.filter(|_| config.xrt == Xrt::Card) {
            Some((board, whole)) if members.len() != *whole => {
                let why = format!("a card {board} has {whole} functions, {} of this one can be told", members.len());
                for member in members {
                    listed.unread(&member.address, &why);
                }
            }
            _ => listed.add(format!("{}/{shell}", config.xrt_domain), unit(config, members)),
        }
    }
    Ok(())
}

/// How known units are, in their order.
pub(crate) fn health(units: &[Unit]) -> Vec<Verdict> {
    let parts = hardware::devices("platform");
    let judge = |unit: &Unit| match &parts {
        Ok(parts) => verdict(unit, parts),
        Err(error) => Verdict::Unknown(error.message.clone()),
    };
    units.iter().map(judge).collect()
}

fn verdict(unit: &Unit, parts: &[Device]) -> Verdict {
    for device in &unit.backing {
        match problem(device, parts, unit.property("shell")) {
            Ok(None) => {}
            Ok(Some(problem)) => return Verdict::Unhealthy(format!("{} {problem}", device.name())),
            Err(error) if error.is_absence() => return Verdict::Unhealthy(format!("{} is gone", device.name())),
            Err(error) => return Verdict::Unknown(error.message),
        }
    }
    if unit.nodes.is_empty() {
        return Verdict::Unhealthy("the policy offers no node of it".to_owned());
    }
    Verdict::Healthy
}

impl Function {
    fn is_on_card_of(&self, other: &Self) -> bool {
        self.serial.is_some() && self.serial == other.serial && self.shell == other.shell
    }
}

/// What is wrong with a function. The order is that in which a flash takes things away.
fn problem(device: &Device, parts: &[Device], shell: Option<&str>) -> Result<Option<String>, Error> {
    match device.driver().as_deref() {
        Some("xocl") => {}
        Some(other) => return Ok(Some(format!("is bound to {other} now"))),
        None => return Ok(Some("has no driver now".to_owned())),
    }
    let [offline, ready] = [device.attribute("dev_offline").if_present()?, device.attribute("ready").if_present()?];
    match offline.as_deref() {
        Some("0") => {}
        None if !is_user(device)? => return Ok(Some("is no user function any more".to_owned())),
        _ => return Ok(Some("is being reset".to_owned())),
    }
    match shell_of(device, parts)? {
        None => return Ok(Some("has no shell now: one is being flashed".to_owned())),
        Some(now) if shell.is_some_and(|was| was != now) => {
            return Ok(Some(format!("has another shell now: {now}")));
        }
        Some(_) => {}
    }
    // Old drivers have no such attribute.
    let ready = ready.is_none_or(|ready| ready == "0x1");
    Ok((!ready).then(|| "is not ready: its management function does not answer".to_owned()))
}

fn function(device: Device, around: Result<&Around, &Error>) -> Result<Function, String> {
    let text = |error: Error| error.message;
    let around = around.map_err(|error| error.message.clone())?;
    let shell = shell_of(&device, &around.parts).map_err(text)?;
    let shell = shell.ok_or("it has no shell: one is being flashed, or the card is not set up")?;
    let render = |node: &Node| node.path().starts_with("/dev/dri/renderD");
    let mut nodes: Vec<Node> = device.nodes().map_err(text)?.into_iter().filter(render).collect();
    let place = format!("{}/", device.location());
    for engine in &around.engines {
        if engine.location().starts_with(&place) && engine.name().contains("dma.qdma.") {
            nodes.extend(engine.nodes().map_err(text)?);
        }
    }
    Ok(Function { address: device.name(), serial: serial(&device, &around.parts), shell, nodes, device })
}

fn unit(config: &Config, members: Vec<Function>) -> Unit {
    let join = |part: fn(&Function) -> String| members.iter().map(part).collect::<Vec<_>>().join(" ");
    let pci = join(|member| member.address.clone());
    let nodes = join(|member| member.nodes.first().map(Node::path).unwrap_or_default());
    let mut unit = Unit {
        id: members.first().map(|member| member.address.clone()).unwrap_or_default(),
        backing: Vec::new(),
        nodes: Vec::new(),
        properties: Vec::new(),
    };
    unit = unit.with("kind", "xrt").with("pci", pci).with("node", nodes);
    if let Some(first) = members.first() {
        unit = unit.with("shell", first.shell.clone());
        if let Some(model) = model(&first.shell) {
            unit = unit.with("model", model);
        }
        if let Some(numa) = first.device.numa_node() {
            unit = unit.with("numa", numa.to_string());
        }
        if let (true, Some(serial)) = (config.serial, &first.serial) {
            unit = unit.with("serial", serial.clone());
        }
    }
    for member in members {
        unit.backing.push(member.device);
        unit.nodes.extend(member.nodes);
    }
    unit
}

/// `u250` of `xilinx_u250_gen3x16_xdma_shell_4_1`: vendor, board, name and version are what `VBNV` stands for.
fn model(shell: &str) -> Option<&str> {
    shell.split('_').nth(1).filter(|board| !board.is_empty())
}

/// Functions that the policy grants and that are not management's, whatever else it grants.
fn user_functions(around: &Result<Around, Error>) -> Result<Vec<Device>, Error> {
    let mut functions = match (hardware::devices("pci"), around) {
        (Ok(functions), _) => functions,
        (Err(_), Ok(_)) => Vec::new(),
        (Err(error), Err(_)) => return Err(error),
    };
    // Those that have a shell are known by that, should they not be listed.
    let parts = around.iter().flat_map(|around| &around.parts);
    for function in parts.filter(|part| part.name().starts_with("rom.u.")).filter_map(Device::parent) {
        if !functions.iter().any(|known| known.location() == function.location()) {
            functions.push(function);
        }
    }
    functions.retain(|function| is_user(function).unwrap_or(false));
    Ok(functions)
}

fn is_user(device: &Device) -> Result<bool, Error> {
    Ok(device.attribute("user_pf").if_present()?.is_some())
}

/// The shell with its time, as its resource is named. Nothing while there is none.
fn shell_of(function: &Device, parts: &[Device]) -> Result<Option<String>, Error> {
    let mut roms = parts_of(function, parts, &["rom.u."]);
    let Some(rom) = roms.next() else {
        return Ok(None);
    };
    // It may go while it is read.
    let read = |key: &str| rom.attribute(key).if_present();
    let (Some(name), Some(time)) = (read("VBNV")?, read("timestamp")?) else {
        return Ok(None);
    };
    let shell = format!("{name}-{time}");
    let may = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if shell.len() > MAX_NAME || !shell.chars().all(may) {
        return Err(Error::invalid(format!("VBNV and timestamp read {shell:.80}")));
    }
    Ok((!name.is_empty()).then_some(shell))
}

/// The card's serial number. Cards of clouds have none.
fn serial(function: &Device, parts: &[Device]) -> Option<String> {
    let mut boards = parts_of(function, parts, &BOARD);
    boards.find_map(|board| {
        board.attribute("serial_num").ok().filter(|serial| !serial.is_empty() && serial.len() <= MAX_SERIAL)
    })
}

/// The parts of a function whose names start with one of these. They lie right beneath it.
fn parts_of<'a>(function: &Device, parts: &'a [Device], starts: &'a [&str]) -> impl Iterator<Item = &'a Device> {
    let place = function.location();
    let is_part = move |part: &&Device| {
        let found = part.location();
        let name = found.strip_prefix(&place).and_then(|rest| rest.strip_prefix('/'));
        name.is_some_and(|name| starts.iter().any(|start| name.starts_with(start)))
    };
    parts.iter().filter(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_name_their_board() {
        assert_eq!(model("xilinx_u250_gen3x16_xdma_shell_4_1-0"), Some("u250"));
        assert_eq!(model("golden"), None);
        assert_eq!(model("xilinx__x"), None);
    }
}
