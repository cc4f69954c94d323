//! Waiting for what comes true by itself.

use anyhow::{Result, bail};
use std::thread::sleep;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_millis(200);

/// Asks until there is an answer, and gives it. `Err` of the question is what was seen instead, and the last one is told where there is no
/// answer in time.
///
/// # Errors
/// When the time is over.
pub(crate) fn until<T>(what: &str, seconds: u64, mut ask: impl FnMut() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    loop {
        match ask() {
            Ok(answer) => return Ok(answer),
            Err(seen) if start.elapsed() > Duration::from_secs(seconds) => {
                bail!("waited {seconds} s for {what}: {seen:#}")
            }
            Err(_) => sleep(EVERY),
        }
    }
}

/// Asks for that long, and fails with the first answer that is an error: for what must stay as it is.
///
/// # Errors
/// The first that the question gives.
pub(crate) fn stays(seconds: u64, mut ask: impl FnMut() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        ask()?;
        sleep(EVERY);
    }
    Ok(())
}

/// Runs it, and says how long it took.
pub(crate) fn timed<T>(run: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let start = Instant::now();
    let done = run()?;
    Ok((done, start.elapsed().as_secs_f64()))
}
