//! What is known of a component before it runs, and why one does not: what a look at its file finds, and what of it the policy must grant.

mod file;
mod imports;
mod inspection;
mod refusal;
mod scan;

pub use file::check_file;
pub use imports::{CONTRACT, GRANTED_WASI, Interface, Need, WASI, check_imports, profile};
pub use inspection::{Contents, Import, Inspection};
pub use refusal::{LoadError, Refusal, RefusedImport};
pub use scan::{Counts, Scan};
