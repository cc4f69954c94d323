//! What an admin decides about what is recorded, while no host runs.

use super::allocation::AllocationId;
use super::change::{Change, Release};
use super::journal::Book;
use super::look::Listed;
use super::store::{Read, Store};
use std::io;
use std::path::Path;

/// Why nothing was forgotten.
#[derive(Debug, thiserror::Error)]
pub enum NotForgotten {
    /// There is no such allocation.
    #[error("there is no allocation {0}; `devgate state list` shows those that there are")]
    Unknown(u64),
    /// It is not known what was handed out.
    #[error(
        "it is not known what was handed out: {0}; start devgate once, which asks the kubelet, or say `devgate state accept`"
    )]
    Incomplete(String),
    /// It cannot be read or written.
    #[error(transparent)]
    Failed(#[from] io::Error),
}

/// Ends an allocation of any consumer. Returns what it was; the state directory must be this process' alone. Fails where there is no such
/// allocation, or it cannot be recorded.
pub fn forget(dir: &Path, id: u64) -> Result<Listed, NotForgotten> {
    let Read { store, mut book, unknown, .. } = Store::open(dir, false)?;
    if let Some(why) = unknown {
        return Err(NotForgotten::Incomplete(why.to_string()));
    }
    let id = AllocationId(id);
    let allocation = book.contents().allocation(id).ok_or(NotForgotten::Unknown(id.0))?;
    let listed = Listed::of(id, allocation);
    let units = None;
    book.note(&Change::Release(Release { allocation: id, units }));
    write(store, &mut book, "a newer devgate wrote it")?;
    Ok(listed)
}

/// Takes what is recorded for all that was handed out, where that was not known. Why it was not, if so; the state directory must be
/// this process' alone.
pub fn accept(dir: &Path) -> io::Result<Option<String>> {
    let Read { store, mut book, unknown, .. } = Store::open(dir, false)?;
    let Some(why) = unknown else { return Ok(None) };
    write(store, &mut book, &why)?;
    Ok(Some(why.to_string()))
}

/// Writes all of it: nothing is ever written behind what another process wrote. `why_not` is why there is no store, where that is so.
fn write(store: Option<Store>, book: &mut Book, why_not: &str) -> io::Result<()> {
    let store = store.ok_or_else(|| io::Error::other(why_not))?;
    let mut writing = store.writer.try_lock().map_err(io::Error::other)?;
    writing.write(book.take(true))
}
