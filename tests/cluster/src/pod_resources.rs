//! The kubelet's pod-resources: who has which device, as the kubelet tells monitoring.

use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::process;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};

const SOCKET: &str = "/var/lib/kubelet/pod-resources/kubelet.sock";

impl Cluster {
    /// The ids of [`DISK`] of each pod, by namespace and name.
    ///
    /// # Errors
    /// When the kubelet does not answer.
    pub(crate) fn pod_resources(&self) -> Result<BTreeMap<String, BTreeSet<String>>> {
        Ok(disks(&self.ask("List")?))
    }

    /// How many of [`DISK`] the kubelet would give.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) fn allocatable_disks(&self) -> Result<usize> {
        // `AllocatableResourcesResponse`: devices (1), as a container's.
        let message = self.ask("GetAllocatableResources")?;
        let ours = fields(&message, 1).filter(|device| fields(device, 1).next() == Some(DISK.as_bytes()));
        Ok(ours.flat_map(|device| fields(device, 2)).count())
    }

    /// What the kubelet answers to a call without an argument.
    fn ask(&self, call: &str) -> Result<Vec<u8>> {
        let answer = self.given.dir.join("work/pod-resources");
        let mut curl = self.on_node("curl");
        curl.args(["--silent", "--show-error", "--fail", "--http2-prior-knowledge", "--max-time", "10"]);
        curl.args(["--unix-socket", SOCKET, "--header", "content-type: application/grpc", "--header", "te: trailers"]);
        curl.args(["--data-binary", "@-", "--output"]).arg(&answer);
        // A call of gRPC with an empty message, which is five bytes before nothing.
        process::read_with(curl.arg(format!("http://localhost/v1.PodResourcesLister/{call}")), "\0\0\0\0\0")?;
        let answer = std::fs::read(answer)?;
        Ok(answer.get(5..).context("the kubelet's answer has no message")?.to_vec())
    }
}

/// `ListPodResourcesResponse`: pods (1) with name (1), namespace (2) and containers (3) with devices (2) with resource (1) and ids (2).
fn disks(message: &[u8]) -> BTreeMap<String, BTreeSet<String>> {
    let mut pods = BTreeMap::new();
    for pod in fields(message, 1) {
        let text = |field| {
            fields(pod, field).next().map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default()
        };
        let devices = fields(pod, 3).flat_map(|container| fields(container, 2));
        let ours = devices.filter(|device| fields(device, 1).next() == Some(DISK.as_bytes()));
        let ids = ours.flat_map(|device| fields(device, 2)).map(|id| String::from_utf8_lossy(id).into_owned());
        pods.insert(format!("{}/{}", text(2), text(1)), ids.collect());
    }
    pods
}

/// What a message of protobuf has as bytes under a field's number.
fn fields(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    let mut rest = message;
    std::iter::from_fn(move || {
        loop {
            let key = varint(&mut rest)?;
            let bytes = match key & 7 {
                0 => {
                    varint(&mut rest)?;
                    continue;
                }
                1 => take(&mut rest, 8)?,
                2 => {
                    let length = varint(&mut rest)?;
                    take(&mut rest, usize::try_from(length).ok()?)?
                }
                5 => take(&mut rest, 4)?,
                _ => return None,
            };
            if key == number << 3 | 2 {
                return Some(bytes);
            }
        }
    })
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for place in 0..10 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f).checked_shl(place * 7)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
    }

    #[test]
    fn disks_are_read_from_the_kubelets_answer() {
        let devices = |resource: &str, ids: &[&str]| {
            let ids: Vec<u8> = ids.iter().flat_map(|id| field(2, id.as_bytes())).collect();
            field(2, &[field(1, resource.as_bytes()), ids].concat())
        };
        let container = |devices: Vec<u8>| field(3, &[field(1, b"main"), devices].concat());
        let pod = |name: &str, containers: Vec<u8>| {
            // A field that is not known to it, as newer kubelets have.
            field(1, &[field(1, name.as_bytes()), field(2, b"default"), vec![4 << 3, 7], containers].concat())
        };
        let both = [devices(DISK, &["loop8", "loop9"]), devices("example.com/other", &["x"])].concat();
        let message = [pod("a", container(both)), pod("b", container(Vec::new()))].concat();
        let pods = disks(&message);
        assert_eq!(pods["default/a"], BTreeSet::from(["loop8".to_owned(), "loop9".to_owned()]));
        assert!(pods["default/b"].is_empty());
    }
}
