//! Claims of dynamic resource allocation: a kubelet's pods have devices by them, which a driver says when they are over. What a
//! container gets by one stands in files, one for each request and resource, which are there before the kubelet is answered.

use crate::claim::{Claim, ClaimError};
use crate::files::{FileError, Unwritten};
use crate::keep::Keeper;
use crate::leases::RELEASE_PATIENCE;
use crate::named::Named;
use devgate_core::{Ask, Consumer, Devices, Granted, Released};
use devgate_types::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The claims of a host, whose files a keeper keeps.
pub struct Claims {
    keeper: Arc<Keeper>,
    /// Those that were told again what they have: containers of this boot may have what was given in an earlier one.
    again: Mutex<BTreeSet<Consumer>>,
}

impl Claims {
    /// The claims that are recorded.
    #[must_use]
    pub fn new(keeper: Arc<Keeper>) -> Self {
        Self { keeper, again: Mutex::default() }
    }

    fn devices(&self) -> &dyn Devices {
        &*self.keeper.devices
    }

    fn named(&self, who: &Consumer) -> Vec<Named> {
        self.devices().held(who).into_iter().map(|granted| Named::new(who.clone(), granted)).collect()
    }

    /// All that have something.
    #[must_use]
    pub fn all(&self) -> Vec<Consumer> {
        let all = self.devices().consumers().into_iter();
        all.filter(|who| who.driver().is_some()).collect()
    }

    /// What a claim has, as it was told.
    #[must_use]
    pub fn held(&self, who: &Consumer) -> Vec<Claim> {
        let is_again = self.again.lock().contains(who);
        let claim = |named: &Named| {
            let claim = Claim::new(named, &named.granted.reply);
            Claim { earlier_boot: claim.earlier_boot && !is_again, ..claim }
        };
        self.named(who).iter().map(claim).collect()
    }

    /// What a claim was told before, with what stands for it today, and its files say so. Nothing where it was told nothing, or not of
    /// all.
    pub async fn again(&self, who: &Consumer) -> Result<Option<Vec<Claim>>, ClaimError> {
        let _turn = self.keeper.turns.lock(&[who.to_string()]).await;
        let held = self.devices().held(who);
        if held.is_empty() || held.iter().any(|granted| !granted.told) {
            return Ok(None);
        }
        self.again.lock().insert(who.clone());
        let mut all = Vec::with_capacity(held.len());
        for granted in held {
            let named = || Named::new(who.clone(), granted.clone());
            let Some(now) = self.keeper.renew(named()).await else {
                return Ok(None);
            };
            let now = now?;
            if let Some(why) = self.keeper.problem(&named()) {
                return Err(ClaimError::NoFile(who.clone(), why));
            }
            all.push(Claim::new(&named(), &now.reply));
        }
        Ok(Some(all))
    }

    /// Gives all of this to a claim, or nothing. Its files are there when this returns.
    pub async fn give(&self, who: &Consumer, asks: &[Ask]) -> Result<Vec<Claim>, ClaimError> {
        let _turn = self.keeper.turns.lock(&[who.to_string()]).await;
        let held = self.devices().held(who);
        let is_new = held.iter().any(|granted| !granted.told) || held.is_empty();
        if is_new && !held.is_empty() {
            // What was only noted may be of an earlier allocation, and a device that two files name is none.
            for named in self.named(who) {
                self.keeper.take_away(&named).map_err(Unwritten::from)?;
            }
            self.devices().release(who, RELEASE_PATIENCE).await;
        }
        let given = self.put(who, self.devices().allocate(who, asks, None).await?).await;
        if given.is_err() && is_new {
            // What could not be written is not there; what of it is noted is tried to be removed with the next look.
            self.devices().release(who, RELEASE_PATIENCE).await;
        }
        given
    }

    async fn put(&self, who: &Consumer, granted: Vec<Granted>) -> Result<Vec<Claim>, ClaimError> {
        if let Some(granted) = granted.iter().find(|granted| !granted.reply.annotations.is_empty()) {
            return Err(ClaimError::Annotations(granted.resource.clone()));
        }
        let mut all = Vec::with_capacity(granted.len());
        for granted in granted {
            let named = Named::new(who.clone(), granted);
            all.push(Claim::new(&named, &named.granted.reply));
            self.keeper.put(named).await?;
        }
        Ok(all)
    }

    /// A claim is over: its files go first, so that no container gets what may be another's. Fails only where a file cannot be removed.
    pub async fn end(&self, who: &Consumer) -> Result<Released, FileError> {
        self.end_where(who, |_| true).await
    }

    /// The same, where what a claim has is not what it should have by now.
    pub async fn end_where(&self, who: &Consumer, is_over: impl Fn(&[Claim]) -> bool) -> Result<Released, FileError> {
        let _turn = self.keeper.turns.lock(&[who.to_string()]).await;
        if !is_over(&self.held(who)) {
            return Ok(Released::Nothing);
        }
        for named in self.named(who) {
            self.keeper.take_away(&named)?;
        }
        self.again.lock().remove(who);
        Ok(self.devices().release(who, RELEASE_PATIENCE).await)
    }

    /// Has what a driver's claims have in files, as far as that can be: before a kubelet hears of the driver.
    pub async fn settle(&self, of: &str) {
        for who in self.all().into_iter().filter(|who| who.driver() == Some(of)) {
            let _turn = self.keeper.turns.lock(&[who.to_string()]).await;
            for named in self.named(&who) {
                self.keeper.renew(named).await;
            }
        }
    }
}
