//! Mistakes that vendors make, one for each name. What is read of each is held by `tests/tests/e2e/mistakes`.

use crate::fault::has;
use devgate_sdk::{Device, Edits, Error, Pool, Unit, Verdict, files, host_paths};

/// Those of a look at the node.
pub(crate) fn looked(racks: &[Device]) -> Result<(), Error> {
    if has("panics") {
        panic!("a rack without a slot");
    }
    if has("asks-until-its-deadline") {
        while let Some(rack) = racks.first() {
            let _state = rack.attribute("state");
        }
    }
    if has("asks-for-another-node") {
        host_paths::node_at("/dev/rack-control")?;
    }
    if has("reads-beside-its-device") {
        let (Some(first), Some(second)) = (racks.first(), racks.get(1)) else { return Ok(()) };
        first.attribute(&format!("../{}/serial", second.name()))?;
    }
    if has("reads-a-large-file") {
        files::text("/proc/misfit/blob/information")?;
    }
    Ok(())
}

/// Those of what is listed.
pub(crate) fn listed(mut pool: Pool) -> Vec<Pool> {
    if has("ids-with-a-space") {
        pool.units.iter_mut().for_each(|unit| unit.id = format!("rack {}", unit.id));
    }
    if has("ids-twice") {
        pool.units.iter_mut().for_each(|unit| "rack".clone_into(&mut unit.id));
    }
    if has("lists-too-many") {
        let unit =
            |n: usize| Unit { id: n.to_string(), backing: Vec::new(), nodes: Vec::new(), properties: Vec::new() };
        pool.units = (0..16_385).map(unit).collect();
    }
    if has("a-pool-for-each-unit") {
        return pool.units.into_iter().map(|unit| Pool::new(pool.resource.clone(), vec![unit])).collect();
    }
    vec![pool]
}

/// Those of verdicts.
pub(crate) fn judged(verdicts: &mut Vec<Verdict>) {
    if has("judges-too-few") {
        verdicts.pop();
    }
    if has("reasons-too-long") {
        verdicts.fill(Verdict::Unhealthy("the rack is out of order. ".repeat(20)));
    }
}

/// Those of what a container gets.
pub(crate) fn given(mut edits: Edits) -> Result<Edits, Error> {
    if has("names-cdi-by-number") {
        edits.cdi.push("rack0".to_owned());
    }
    if has("mounts-what-is-not-named") {
        edits.mounts.push(host_paths::mount("models")?);
    }
    Ok(edits)
}
