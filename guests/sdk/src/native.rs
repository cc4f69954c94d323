//! The contract where no component can run: what a test calls natively asks a [`Host`] that the test brought along.
//!
//! The types and functions are those of a component; what they answer comes from the host of the call that runs on this
//! thread ([`during`]). Outside of a call they panic. `devgate-testing` has such a host, which asks devgate's own plugin layer:
//! use that, and this module only to write another one.

mod capabilities;
mod handles;
mod host;
mod records;

pub use capabilities::{clock, config, control, files, hardware, host_paths, kernel_log, log, state, uevents};
pub use handles::{Device, MountSource, Node};
pub use host::{Host, during};
pub use records::{
    Condition, Edits, Effect, Error, ErrorKind, NodeKind, Origin, Pool, Property, Setting, Unit, Verdict,
};

/// What every component does.
pub trait Plugin {
    /// Everything that there is now, without its health.
    ///
    /// # Errors
    /// Where nothing can be said at all; the last list stands for a while.
    fn enumerate() -> Result<Vec<Pool>, Error>;
    /// One verdict for each unit, in the same order.
    ///
    /// # Errors
    /// Where nothing can be said at all.
    fn health(resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error>;
    /// What a container needs to use these units, besides their nodes.
    ///
    /// # Errors
    /// `busy` where trying again may help; anything else where these units cannot be given.
    fn allocate(resource: String, units: Vec<Unit>) -> Result<Edits, Error>;
}

/// Which units to take, where the component knows better than closeness in the device tree.
pub trait Preference {
    /// `size` ids out of `available`, among them all of `must_include`, best first.
    ///
    /// # Errors
    /// Where the host is to choose by itself.
    fn choose(
        resource: String,
        available: Vec<Unit>,
        must_include: Vec<String>,
        size: u32,
    ) -> Result<Vec<String>, Error>;
}

/// What is done before a container has units, and after.
pub trait Lifecycle {
    /// Before these units are given to a container.
    ///
    /// # Errors
    /// Where they must not be given.
    fn prepare(resource: String, units: Vec<Unit>) -> Result<(), Error>;
    /// When no pod holds these units any more. May be called more than once.
    ///
    /// # Errors
    /// Where they must not be given to anybody else.
    fn release(resource: String, units: Vec<Unit>) -> Result<(), Error>;
}

/// What is done in place of [`Plugin::allocate`] where a claim or its class has parameters for the driver.
pub trait Parameters {
    /// What a container needs to use these units, as these ask for it: those of classes first, at least one.
    ///
    /// # Errors
    /// As of [`Plugin::allocate`]; and where one of them is not understood.
    fn allocate_with(resource: String, units: Vec<Unit>, settings: Vec<Setting>) -> Result<Edits, Error>;
}

/// What is not as it should be with units that work, for schedulers of claims.
pub trait Conditions {
    /// The conditions of each unit, in the same order: at most 16, each key once. Called after each [`Plugin::health`].
    ///
    /// # Errors
    /// Where nothing can be said at all: the look counts as failed.
    fn examine(resource: String, units: Vec<Unit>) -> Result<Vec<Vec<Condition>>, Error>;
}

/// [`Preference::choose`].
pub type Choose = fn(String, Vec<Unit>, Vec<String>, u32) -> Result<Vec<String>, Error>;
/// [`Lifecycle::prepare`] and [`Lifecycle::release`].
pub type Work = fn(String, Vec<Unit>) -> Result<(), Error>;
/// [`Parameters::allocate_with`].
pub type AllocateWith = fn(String, Vec<Unit>, Vec<Setting>) -> Result<Edits, Error>;
/// [`Conditions::examine`].
pub type Examine = fn(String, Vec<Unit>) -> Result<Vec<Vec<Condition>>, Error>;

/// A type that [`export!`](crate::export!) made a component of. Implemented by that macro only.
pub trait Exported: Plugin + 'static {
    /// Its `preference`, if it exports one.
    const CHOOSE: Option<Choose> = None;
    /// Its `lifecycle`, if it exports one: `prepare` and `release`.
    const LIFECYCLE: Option<(Work, Work)> = None;
    /// Its `parameters`, if it exports one.
    const ALLOCATE_WITH: Option<AllocateWith> = None;
    /// Its `conditions`, if it exports one.
    const EXAMINE: Option<Examine> = None;
}
