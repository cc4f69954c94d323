//! Waiting for the network, for a program that does so beside other work.

use devgate_oci::Error;
use std::future::Future;
use std::time::Duration;

/// How long one push may take, however slowly bytes keep going.
const TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Runs what waits for the network on a thread of its own, so that it may be called anywhere. Fails as the work does, and when it is not
/// done within 15 minutes.
pub(crate) fn wait<T: Send>(work: impl Future<Output = Result<T, Error>> + Send) -> Result<T, Error> {
    let failed = |why: String| Error::Host(format!("registry: {why}"));
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let result = runtime.block_on(async { tokio::time::timeout(TIMEOUT, work).await });
        result.map_err(|_| failed(format!("was not done within {} minutes", TIMEOUT.as_secs() / 60)))?
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("registry".to_owned()).spawn_scoped(scope, run);
        let joined = thread.map_err(|error| failed(error.to_string()))?.join();
        joined.map_err(|_| failed("its thread has panicked".to_owned()))?
    })
}
