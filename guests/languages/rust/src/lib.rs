//! Offers widgets: PCI functions of the vendor's, each with one device of the class `widget` beneath it.
#![forbid(unsafe_code)]

mod config;
#[cfg(test)]
mod tests;

use devgate_sdk::{Device, Edits, Error, Plugin, Pool, Unit, Verdict, hardware, log};

const RESOURCE: &str = "example.com/widget";

struct Widget;

impl Plugin for Widget {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        config::mode(&devgate_sdk::config::json())?;
        let (mut units, mut unread) = (Vec::new(), Vec::new());
        for card in hardware::devices("pci")? {
            let name = card.name();
            match described(card, &name) {
                Ok(unit) => units.push(unit),
                Err(error) => {
                    log::warn(&format!("{name} is not offered: {}", error.message));
                    unread.push(name);
                }
            }
        }
        Ok(vec![Pool::new(RESOURCE, units).with_unread(unread)])
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        Ok(units.iter().map(verdict).collect())
    }

    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        let mode = config::mode(&devgate_sdk::config::json())?;
        Ok(Edits::none().with_env("WIDGET_MODE", mode))
    }
}

/// A card whose driver has registered it; fails with `not-found` where it has not.
fn described(card: Device, name: &str) -> Result<Unit, Error> {
    let widgets = card.children("widget")?;
    let widget = widgets.first();
    let widget = widget.ok_or_else(|| Error::not_found("its driver has not registered it"))?;
    let (serial, firmware) = (widget.attribute("serial")?, widget.attribute("firmware")?);
    Ok(Unit::of(serial.as_str(), card, widget.nodes()?)
        .with("serial", serial)
        .with("firmware", firmware)
        .with("pci", name))
}

/// What the driver says of one widget.
fn verdict(unit: &Unit) -> Verdict {
    let asked = || match unit.backing.first().map(|card| card.children("widget")).transpose()? {
        Some(widgets) => widgets.first().map(|widget| widget.attribute("status")).transpose(),
        None => Ok(None),
    };
    match asked() {
        Ok(Some(status)) if status == "ok" => Verdict::Healthy,
        Ok(Some(status)) => Verdict::Unhealthy(format!("status reads {status}")),
        Ok(None) => Verdict::Unhealthy("its driver does not know it any more".to_owned()),
        Err(Error { message, .. }) => Verdict::Unknown(message),
    }
}

devgate_sdk::export!(Widget);
