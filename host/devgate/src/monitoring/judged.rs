//! How the host is, for its agent, which tells the cluster of it.

use super::{Monitored, Report, conditions::Ready};
use devgate_cdi::ClaimTag;
use devgate_core::status::{DeviceStatus, HolderStatus};
use devgate_core::{Consumer, Devices};
use devgate_dra::{Holds, Judged, Unhealthy, User};
use devgate_types::escape;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(2);

/// The most characters of a reason.
const MAX_REASON: usize = 256;

/// Claims that have a device, by its resource and id.
type Claims = BTreeMap<(String, String), Vec<User>>;

/// Says how the host is whenever it is otherwise, for as long as it is polled.
pub(crate) async fn tell(monitored: Monitored, to: watch::Sender<Option<Arc<Judged>>>) {
    loop {
        let looked = monitored.clone();
        // A report of ten thousand devices takes milliseconds.
        if let Ok(Some(now)) = tokio::task::spawn_blocking(move || judge(&looked)).await {
            to.send_if_modified(|told| {
                let is_new = told.as_deref() != Some(&now);
                if is_new {
                    *told = Some(Arc::new(now));
                }
                is_new
            });
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn judge(monitored: &Monitored) -> Option<Judged> {
    let Monitored::Serves(serving) = monitored else { return None };
    Some(of(&monitored.report(), &claims(&*serving.requests.devices)))
}

fn claims(devices: &dyn Devices) -> Claims {
    let mut all = Claims::new();
    for who in devices.consumers() {
        let Consumer::Claim { uid, .. } = &who else { continue };
        for granted in devices.held(&who) {
            let Some(ClaimTag { namespace, name, .. }) = ClaimTag::read(&granted.tag) else { continue };
            for id in &granted.ids {
                let unit = id.rsplit_once("::").map_or(id.as_str(), |(unit, _)| unit);
                let user = User::Claim { namespace: namespace.clone(), name: name.clone(), uid: uid.clone() };
                all.entry((granted.resource.to_string(), unit.to_owned())).or_default().push(user);
            }
        }
    }
    all
}

fn of(report: &Report, claims: &Claims) -> Judged {
    let holds = report.conditions.iter().map(|found| Holds {
        condition: found.condition.as_str().to_owned(),
        of: found.of.clone(),
        why: escape(&found.why, 2 * MAX_REASON),
        starting: found.condition.ready() == Ready::No,
    });
    let resources = report.plugins.iter().flat_map(|plugin| &plugin.resources);
    let mut unhealthy = resources.flat_map(|resource| {
        resource.devices.iter().filter_map(|device| {
            let why: String = device.unhealthy.as_ref()?.chars().take(MAX_REASON).collect();
            let by_claims = claims.get(&(resource.name.clone(), device.id.clone()));
            let (resource, id) = (resource.name.clone(), device.id.clone());
            Some(Unhealthy { resource, id, why, users: users(device, by_claims) })
        })
    });
    Judged {
        summary: report.summary.clone(),
        conditions: holds.collect(),
        devices: unhealthy.by_ref().take(Judged::MOST).collect(),
        more: unhealthy.count(),
    }
}

fn users(device: &DeviceStatus, claims: Option<&Vec<User>>) -> Vec<User> {
    let pod = |holder: &HolderStatus| User::Pod {
        namespace: holder.namespace.clone(),
        name: holder.pod.clone(),
        uid: holder.uid.clone(),
    };
    let mut users: Vec<User> = device.holders.iter().map(pod).chain(claims.into_iter().flatten().cloned()).collect();
    users.dedup();
    users.truncate(Judged::MOST_USERS);
    users
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitoring::tests::one;

    #[test]
    fn the_agent_hears_what_an_admin_does_and_who_has_what_is_unhealthy() {
        let mut report = one().judged();
        report.plugins[0].resources[0].devices.retain(|device| device.unhealthy.is_some());
        let [device] = &mut report.plugins[0].resources[0].devices[..] else { panic!() };
        let (id, why) = (device.id.clone(), device.unhealthy.clone().unwrap());
        let holder = |container: &str| HolderStatus {
            id: id.clone(),
            namespace: "team".into(),
            pod: "train".into(),
            container: container.into(),
            uid: Some("u1".into()),
        };
        device.holders = vec![holder("main"), holder("side")];
        let resource = report.plugins[0].resources[0].name.clone();
        let claim = User::Claim { namespace: "team".into(), name: "disks".into(), uid: "u2".into() };
        let told = of(&report, &[((resource.clone(), id.clone()), vec![claim.clone()])].into());
        let pod = User::Pod { namespace: "team".into(), name: "train".into(), uid: Some("u1".into()) };
        assert_eq!(told.devices, [Unhealthy { resource, id, why, users: vec![pod, claim] }]);
        assert_eq!((told.summary, told.more), (report.summary.clone(), 0));
        let words: Vec<_> = told.conditions.iter().map(|holds| holds.condition.as_str()).collect();
        assert!(words.contains(&Judged::DEVICES), "{words:?}");
        assert_eq!(words, report.conditions.iter().map(|found| found.condition.as_str()).collect::<Vec<_>>());
        let one = report.plugins[0].resources[0].devices[0].clone();
        report.plugins[0].resources[0].devices = vec![one; Judged::MOST + 3];
        let told = of(&report, &Claims::new());
        assert_eq!((told.devices.len(), told.more), (Judged::MOST, 3));
    }
}
