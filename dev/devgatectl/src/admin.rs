//! `devgatectl add` and `upgrade`: one command from a vendor's component into an admin's policy.

mod add;
mod confirm;
mod policy_text;
mod upgrade;

pub(crate) use add::add;
pub(crate) use upgrade::upgrade;

use devgate::exit;

fn refused(why: String) -> anyhow::Error {
    exit::with_code(exit::FOUND, why)
}
