//! The instances that a GPU in MIG mode is cut into, as the driver's capabilities tell of them.
//!
//! `/proc/driver/nvidia/capabilities/gpu<minor>/mig/gi<g>/ci<c>/access` is there as long as the instance is, and names the
//! node `/dev/nvidia-caps/nvidia-cap<n>` that opens it; so does the `access` of its GPU instance. The number in `gpu<minor>` is
//! the GPU's minor number (`osRmCapRegisterGpu` in `os.c` of NVIDIA's open kernel modules). The directory `mig` by itself says
//! nothing: a GPU that only could be cut has it as well.

use devgate_sdk::{Context, Error, Presence, Unit, Verdict, files};

const CAPABILITIES: &str = "/proc/driver/nvidia/capabilities";

/// One compute instance, with the GPU instance that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instance {
    /// The GPU instance's number.
    pub(crate) gpu: u32,
    /// The compute instance's number in it.
    pub(crate) compute: u32,
    /// The capability that opens the GPU instance.
    pub(crate) gpu_capability: u32,
    /// The capability that opens the compute instance.
    pub(crate) compute_capability: u32,
}

impl Instance {
    /// The nodes of its two capabilities.
    pub(crate) fn nodes(self) -> [String; 2] {
        [self.gpu_capability, self.compute_capability].map(|number| format!("/dev/nvidia-caps/nvidia-cap{number}"))
    }
}

/// All instances of the GPU with this minor number, sorted; none where it is not in MIG mode, or not cut yet. One that cannot be
/// read costs none of the others.
///
/// # Errors
/// Where it cannot even be told whether there are any.
pub(crate) fn instances(minor: &str) -> Result<Vec<Result<Instance, Error>>, Error> {
    let gpu = format!("{CAPABILITIES}/gpu{minor}/mig");
    let mut instances = Vec::new();
    for gi in numbered(&gpu, "gi")? {
        let gpu = format!("{gpu}/gi{gi}");
        match numbered(&gpu, "ci") {
            Ok(all) => instances.extend(all.into_iter().filter_map(|ci| instance(&gpu, gi, ci).transpose())),
            Err(error) => instances.push(Err(error)),
        }
    }
    Ok(instances)
}

/// One instance; none if it goes while it is looked at.
fn instance(directory: &str, gpu: u32, compute: u32) -> Result<Option<Instance>, Error> {
    let opens = access(directory)?.zip(access(&format!("{directory}/ci{compute}"))?);
    Ok(opens.map(|(gpu_capability, compute_capability)| Instance { gpu, compute, gpu_capability, compute_capability }))
}

/// The numbers behind names that begin with `start`, sorted.
fn numbered(directory: &str, start: &str) -> Result<Vec<u32>, Error> {
    let names = files::entries(directory).if_present()?.unwrap_or_default();
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.strip_prefix(start)?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The number of the capability that a directory's `access` is about; none where it is not there.
fn access(directory: &str) -> Result<Option<u32>, Error> {
    let path = format!("{directory}/access");
    let Some(text) = files::text(&path).if_present()? else {
        return Ok(None);
    };
    capability(&text)
        .map(Some)
        .ok_or_else(|| Error::other("nvidia.capability", format!("file {path}: names no capability")))
}

/// `DeviceFileMinor: 12` among the lines of an `access`.
fn capability(text: &str) -> Option<u32> {
    let minor = |line: &str| line.strip_prefix("DeviceFileMinor:")?.trim().parse().ok();
    text.lines().find_map(minor)
}

/// Whether a unit's instance is there as it was listed. What its GPU is like is another question.
pub(crate) fn is_there(unit: &Unit) -> Result<(), Verdict> {
    let of = |name: &str| unit.property(name).unwrap_or_default();
    let gpu = format!("{CAPABILITIES}/gpu{}/mig/gi{}", of("minor"), of("gi"));
    let found = access(&gpu).and_then(|gpu_capability| {
        let compute = access(&format!("{gpu}/ci{}", of("ci")))?;
        Ok(gpu_capability.zip(compute))
    });
    match found.context(|| "its instance".to_owned()) {
        Err(error) => Err(Verdict::Unknown(error.message)),
        Ok(None) => Err(Verdict::Unhealthy("its instance is gone".to_owned())),
        Ok(Some((gpu, compute))) => {
            let nodes = [gpu, compute].map(|number| format!("/dev/nvidia-caps/nvidia-cap{number}"));
            let has = |path: &String| unit.nodes.iter().any(|node| node.path() == *path);
            if nodes.iter().all(has) {
                return Ok(());
            }
            Err(Verdict::Unhealthy(format!("other nodes open its instance now: {}", nodes.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_names_a_capability() {
        assert_eq!(capability("DeviceFileMinor: 12\nDeviceFileMode: 292\n"), Some(12));
        for odd in ["", "DeviceFileMode: 292", "DeviceFileMinor: x"] {
            assert_eq!(capability(odd), None, "{odd}");
        }
    }
}
