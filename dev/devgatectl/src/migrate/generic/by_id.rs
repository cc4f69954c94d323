//! Links to serial lines by what the USB device says of itself, as udev makes them: `usb-VENDOR_MODEL_SERIAL-if00-port0`.

use super::kernel::Kernel;

/// The least that is taken for a serial number: shorter ones are mostly a part of the model's name.
const MIN_SERIAL: usize = 6;

/// The USB device that the link's name tells, if it does: by its serial number, or by vendor and product where it has no texts.
pub(super) fn usb(path: &str) -> Option<Kernel> {
    let name = path.trim_end().strip_prefix("/dev/serial/by-id/usb-")?;
    let (device, interface) = name.rsplit_once("-if")?;
    let (before, serial) = device.rsplit_once('_')?;
    let is_interface = interface.split("-port").all(|n| n == "*" || n.bytes().all(|b| b.is_ascii_hexdigit()));
    if !is_interface {
        return None;
    }
    let is_id = |text: &str| text.len() == 4 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if is_id(before) && is_id(serial) {
        return Some(Kernel::usb(Some((before.to_owned(), serial.to_owned())), None));
    }
    // Only letters and digits are in the link as they are in the device.
    let is_plain = serial.bytes().all(|b| b.is_ascii_alphanumeric());
    let is_serial = serial.len() >= MIN_SERIAL && is_plain && serial.bytes().any(|b| b.is_ascii_digit());
    is_serial.then(|| Kernel::usb(None, Some(serial.to_owned())))
}
