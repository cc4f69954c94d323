//! What is not as it should be with a GPU that works.

use crate::faults::Faults;
use crate::machine::{Function, Machine};
use crate::power::Power;
use devgate_sdk::{Condition, Effect, Error};

/// What is known of all GPUs, for one call.
pub(crate) struct Known(Faults);

impl Known {
    /// What the last look at their health has stored.
    ///
    /// # Errors
    /// Where that cannot be read.
    pub(crate) fn of(machine: &impl Machine) -> Result<Self, Error> {
        Faults::stored(machine).map(Self)
    }

    /// The conditions of a GPU.
    pub(crate) fn about(&self, function: &impl Function) -> Vec<Condition> {
        [self.row_remap(&function.name()), narrow_link(function)].into_iter().flatten().collect()
    }

    /// New work waits for a reset, which nothing else asks for: what runs may end in peace.
    fn row_remap(&self, address: &str) -> Option<Condition> {
        let why = "Xid 63: rows of its memory are remapped when it is reset next";
        self.0.has_remapped(address).then(|| Condition::new("row-remap-pending", Effect::NoNew, why))
    }
}

/// Fewer lanes than its own link has: it sits in a narrow slot, or badly.
fn narrow_link(function: &impl Function) -> Option<Condition> {
    if Power::of(function) == Power::Asleep {
        return None;
    }
    let lanes = |name| function.attribute(name).ok()?.parse::<u64>().ok();
    // 63 is what a function reads as that does not answer, and 0 as one without a link.
    let (now, most) = (lanes("current_link_width")?, lanes("max_link_width").filter(|most| *most < 63)?);
    let is_narrow = now > 0 && now < most;
    is_narrow.then(|| Condition::new("narrow-link", Effect::Inform, format!("its link has {now} of {most} lanes")))
}
