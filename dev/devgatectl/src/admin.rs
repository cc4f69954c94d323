//! `devgatectl add` and `upgrade`: one command from a vendor's component into an admin's policy.

mod add;
mod confirm;
mod upgrade;

pub(crate) use add::add;
pub(crate) use upgrade::upgrade;
