//! Attributes that the host never reads for a component.

/// Whether a component may read the attribute at `path`, relative to its device.
///
/// Reading some of these acts on the hardware (a PCI device's `config` and `resource0` are its registers, `vpd` can
/// hang a device for seconds), others hold what only root may know. Every component of the path is held against
/// the list. No key of the policy lifts it. The error says why the attribute is never read: the reason alone, without the path.
pub fn attribute_rule(path: &str) -> Result<(), &'static str> {
    path.split('/').try_for_each(component_rule)
}

fn component_rule(name: &str) -> Result<(), &'static str> {
    let lower = name.to_ascii_lowercase();
    if lower.contains("secret") {
        return Err("may hold a secret");
    }
    if lower.ends_with("_key") {
        return Err("may hold a key");
    }
    let numbered = lower.strip_prefix("resource").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if numbered {
        return Err("is the device's memory, reading it acts on the device");
    }
    match lower.as_str() {
        "config" => Err("is the device's configuration space, reading it acts on the device"),
        "rom" => Err("is the device's firmware, reading it acts on the device"),
        "vpd" => Err("is read from the device itself, which can hang it"),
        "eeprom" | "nvmem" => Err("is the device's own storage"),
        "msi_irqs" => Err("shows the node's interrupts"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_hardware_or_is_secret_is_not_read() {
        for refused in [
            "config",
            "rom",
            "vpd",
            "resource0",
            "resource0_wc",
            "resource12",
            "eeprom",
            "nvmem",
            "msi_irqs/42",
            "qat/wrap_key",
            "my_secret_thing",
            "SECRET",
            "a/secrets/b",
            "0000:3b:00.0/config",
            "./config",
            "x//config",
        ] {
            assert!(attribute_rule(refused).is_err(), "{refused}");
        }
        for read in [
            "vendor",
            "resource",
            "power/control",
            "configuration",
            "bConfigurationValue",
            "key",
            "keyboard",
            "prom",
            "",
        ] {
            assert_eq!(attribute_rule(read), Ok(()), "{read}");
        }
    }
}
