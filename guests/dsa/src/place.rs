//! Where a work queue is: `pci0000:6a/0000:6a:01.0/dsa0/wq0.1` is the second queue of the accelerator `dsa0`, which is
//! that function.

/// The kernel's names on the way to a queue.
#[derive(Debug, PartialEq)]
pub(crate) struct Place<'a> {
    /// The PCI function's address, which stays with the hardware.
    pub(crate) pci: &'a str,
    /// Such as `dsa0` or `iax1`: numbers that the driver gives in the order in which it finds them.
    pub(crate) accelerator: &'a str,
    /// The queue's number on its accelerator.
    pub(crate) index: &'a str,
    /// Whose plugin's name queues of this kind have: the domain of their resources.
    pub(crate) domain: &'static str,
}

impl<'a> Place<'a> {
    /// From a queue's location; nothing where it is of no kind of accelerator that is known.
    pub(crate) fn of(location: &'a str) -> Option<Self> {
        let mut names = location.rsplit('/');
        let (queue, accelerator, pci) = (names.next()?, names.next()?, names.next()?);
        let (_, index) = queue.strip_prefix("wq")?.split_once('.')?;
        // `idxd_driver_data` in drivers/dma/idxd/init.c: the two kinds that the driver knows.
        let domain = match accelerator.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "dsa" => "dsa.intel.com",
            "iax" => "iaa.intel.com",
            _ => return None,
        };
        Some(Self { pci, accelerator, index, domain })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_says_which_queue_of_which_accelerator_it_is() {
        let place = |pci, accelerator, index, domain| Some(Place { pci, accelerator, index, domain });
        let dsa = Place::of("pci0000:6a/0000:6a:01.0/dsa0/wq0.1");
        assert_eq!(dsa, place("0000:6a:01.0", "dsa0", "1", "dsa.intel.com"));
        let iaa = Place::of("pci0000:e7/0000:e7:02.0/iax13/wq13.7");
        assert_eq!(iaa, place("0000:e7:02.0", "iax13", "7", "iaa.intel.com"));
        for other in ["", "wq0.1", "a/b/engine0.1", "a/b/dsa0/group0.1", "a/b/xyz0/wq0.1", "a/b/dsa0/wq0"] {
            assert_eq!(Place::of(other), None, "{other}");
        }
    }
}
