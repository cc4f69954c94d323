//! Whether a device is the one that a selector means.

use crate::config::Selector;
use crate::glob::fits;
use crate::machine::KernelDevice;
use devgate_sdk::{Error, Presence};

/// Whether everything that the selector states holds for this device of its subsystem.
///
/// # Errors
/// When an attribute that decides about it is there and cannot be read; one that is not there decides against it.
pub(crate) fn means(selector: &Selector, device: &impl KernelDevice) -> Result<bool, Error> {
    if selector.name.as_ref().is_some_and(|pattern| !fits(pattern, &device.name())) {
        return Ok(false);
    }
    if let Some(pattern) = &selector.driver
        && !device.driver().is_some_and(|driver| fits(pattern, &driver))
    {
        return Ok(false);
    }
    for (attribute, expected) in &selector.exact {
        let value = device.attribute(attribute).if_present()?;
        if value.as_deref() != Some(expected) {
            return Ok(false);
        }
    }
    for (attribute, pattern) in &selector.attributes {
        let value = device.attribute(attribute).if_present()?;
        if !value.is_some_and(|value| fits(pattern, &value)) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fake::FakeDevice;
    use devgate_sdk::ErrorKind;

    fn adapter() -> FakeDevice {
        FakeDevice::new("usb", "1-1.2", &[])
            .with("idVendor", Ok("0403"))
            .with("idProduct", Ok("6001"))
            .with("serial", Ok("A50285BI"))
            .driven_by("usb")
    }

    fn selector() -> Selector {
        Selector { subsystem: "usb".to_owned(), name: None, driver: None, exact: vec![], attributes: vec![] }
    }

    #[test]
    fn everything_stated_must_hold() {
        let usb = |product: &str| vec![("idVendor", "0403".to_owned()), ("idProduct", product.to_owned())];
        assert!(means(&selector(), &adapter()).unwrap());
        assert!(means(&Selector { exact: usb("6001"), ..selector() }, &adapter()).unwrap());
        assert!(!means(&Selector { exact: usb("6015"), ..selector() }, &adapter()).unwrap());
        let named = |name: &str, driver: &str| Selector {
            name: Some(name.to_owned()),
            driver: Some(driver.to_owned()),
            ..selector()
        };
        assert!(means(&named("1-1*", "usb"), &adapter()).unwrap());
        assert!(!means(&named("1-2*", "usb"), &adapter()).unwrap());
        assert!(!means(&named("1-1*", "usbfs"), &adapter()).unwrap());
        let serial =
            |pattern: &str| Selector { attributes: vec![("serial".to_owned(), pattern.to_owned())], ..selector() };
        assert!(means(&serial("A5*"), &adapter()).unwrap());
        assert!(!means(&serial("B5*"), &adapter()).unwrap());
    }

    #[test]
    fn what_is_not_there_does_not_match_and_what_cannot_be_read_is_an_error() {
        let interface = FakeDevice::new("usb", "1-1.2:1.0", &[]);
        let by_id = Selector { exact: vec![("idVendor", "0403".to_owned())], ..selector() };
        assert!(!means(&by_id, &interface).unwrap());
        assert!(!means(&Selector { driver: Some("*".to_owned()), ..selector() }, &interface).unwrap());
        assert!(!means(&by_id, &interface.clone().with("idVendor", Err(ErrorKind::Gone))).unwrap());
        let error = means(&by_id, &interface.with("idVendor", Err(ErrorKind::Io))).unwrap_err();
        assert!(error.kind == ErrorKind::Io);
    }
}
