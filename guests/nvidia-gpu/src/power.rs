//! Whether asking the driver about a GPU would wake it or keep it awake.
//!
//! Reading `information` takes a reference on the GPU's runtime power (`rm_ref_dynamic_power` in `nv-procfs.c`), and newer
//! kernels wake a function for its link's attributes as well (`pci_config_pm_runtime_get` in `pci-sysfs.c`). The
//! attributes looked at here are kept by the kernel and wake nothing.

use crate::machine::Function;

/// The runtime power management of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Power {
    /// It does not sleep, so that asking changes nothing: `power/control` is `on`, as on servers, or is not there.
    AlwaysOn,
    /// It is awake and may fall asleep if it is left alone.
    MaySleep,
    /// It sleeps or is about to.
    Asleep,
}

impl Power {
    pub(crate) fn of(function: &impl Function) -> Self {
        let is = |attribute: &str, values: &[&str]| {
            let value = function.attribute(attribute);
            value.is_ok_and(|value| values.contains(&value.as_str()))
        };
        if is("power/runtime_status", &["suspended", "suspending"]) {
            Self::Asleep
        } else if is("power/control", &["auto"]) {
            Self::MaySleep
        } else {
            Self::AlwaysOn
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fake::{FakeFunction, GPU};

    #[test]
    fn the_kernel_says_who_sleeps() {
        let power = |status, control| {
            let gpu = FakeFunction::gpu(GPU).with("power/runtime_status", status);
            Power::of(&gpu.with("power/control", control))
        };
        assert_eq!(power("active", "on"), Power::AlwaysOn);
        assert_eq!(power("unsupported", "on"), Power::AlwaysOn);
        assert_eq!(power("active", "auto"), Power::MaySleep);
        assert_eq!(power("resuming", "auto"), Power::MaySleep);
        assert_eq!(power("suspended", "auto"), Power::Asleep);
        assert_eq!(power("suspending", "auto"), Power::Asleep);
    }

    #[test]
    fn a_kernel_without_power_management_lets_nothing_sleep() {
        assert_eq!(Power::of(&FakeFunction::default()), Power::AlwaysOn);
    }
}
