//! What the kubelet has given away by its own checkpoint (`pkg/kubelet/cm/devicemanager/checkpoint`), read and never written.
//!
//! The file is the kubelet's own business. It is only ever a reason to wait: where it cannot be understood, nothing is taken
//! for free that the list has not shown.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use devgate_core::{Offered, Records};
use devgate_types::{ResourceName, escape};
use prost::Message as _;
use serde::Deserialize;
use serde_json::Value;

use devgate_kubelet::file_id::FileId;
use devgate_kubelet::{CHECKPOINT, api};

/// The pods' uids, by what they have.
type Uids = BTreeMap<Offered, String>;

/// The largest checkpoint that is read: some 100,000 allocations.
const MAX_BYTES: u64 = 64 << 20;

/// The checkpoint, read again when it is another file.
pub(super) struct Record {
    path: PathBuf,
    of: Option<FileId>,
    ids: Option<Records>,
    uids: Uids,
    said: bool,
}

impl Record {
    pub(super) fn new(kubelet_dir: &Path) -> Self {
        Self { path: kubelet_dir.join(CHECKPOINT), of: None, ids: None, uids: Uids::new(), said: false }
    }

    /// What is in it.
    pub(super) fn ids(&self) -> Option<BTreeSet<Offered>> {
        Some(self.ids.as_ref()?.keys().cloned().collect())
    }

    /// The uid of the pod that has an id.
    pub(super) fn uids(&self) -> Uids {
        self.uids.clone()
    }

    /// What is in it before anything was asked, with the paths that went with each id: nothing where there is neither the file nor a
    /// socket of a kubelet, as on a node whose kubelet has not started yet. A kubelet without the file may have lost it: it is asked.
    pub(super) async fn first(&mut self, socket: &Path) -> Option<Records> {
        self.read().await;
        let is_absent = |path: &Path| {
            let look = std::fs::symlink_metadata(path);
            look.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let none = || is_absent(&self.path) && is_absent(socket);
        self.ids.clone().or_else(|| none().then(Records::new))
    }

    /// Looks again, on a thread that may wait.
    pub(super) async fn read(&mut self) {
        let Some(now) = FileId::of(&self.path) else {
            (self.of, self.ids) = (None, None);
            return;
        };
        if self.of == Some(now) {
            return;
        }
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || read(&path)).await;
        match read.unwrap_or_else(|panic| Err(io::Error::other(panic))) {
            Ok((ids, uids)) => (self.of, self.ids, self.uids, self.said) = (Some(now), Some(ids), uids, false),
            Err(error) => {
                (self.of, self.ids) = (None, None);
                if !std::mem::replace(&mut self.said, true) {
                    tracing::warn!(
                        family = "host",
                        "{}: {}; devices that no running container shows are kept until they are allocated again",
                        self.path.display(),
                        escape(&error.to_string(), 256)
                    );
                }
            }
        }
    }
}

fn read(path: &Path) -> io::Result<(Records, Uids)> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTES).read_to_end(&mut text)?;
    parse(&text).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Checkpoint {
    data: Data,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Data {
    /// `null` where there are none; never missing.
    #[serde(deserialize_with = "Option::deserialize")]
    pod_device_entries: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    #[serde(default, rename = "PodUID")]
    pod_uid: Value,
    resource_name: String,
    #[serde(rename = "DeviceIDs")]
    device_ids: DeviceIds,
    #[serde(default)]
    alloc_resp: Value,
}

/// By NUMA node; up to 1.19 one list.
#[derive(Deserialize)]
#[serde(untagged)]
enum DeviceIds {
    List(Option<Vec<String>>),
    Nodes(BTreeMap<String, Option<Vec<String>>>),
}

/// Every id of every entry, and whose it is. What is not understood may be an id that a pod has, and so refuses the whole file.
pub(super) fn parse(text: &[u8]) -> Result<(Records, Uids), serde_json::Error> {
    let file: Checkpoint = serde_json::from_slice(text)?;
    let (mut ids, mut uids) = (Records::new(), Uids::new());
    for entry in file.data.pod_device_entries.unwrap_or_default() {
        let Ok(resource) = ResourceName::try_new(&entry.resource_name) else {
            continue;
        };
        let paths = Arc::new(paths(&entry.alloc_resp));
        // What those have that an entry before it has as well, and that of both: several containers of a pod may have them.
        let mut both: Option<[Arc<BTreeSet<String>>; 2]> = None;
        let lists = match entry.device_ids {
            DeviceIds::List(list) => vec![list],
            DeviceIds::Nodes(nodes) => nodes.into_values().collect(),
        };
        for id in lists.into_iter().flatten().flatten() {
            let offered = (resource.clone(), id);
            if let Some(uid) = entry.pod_uid.as_str() {
                uids.insert(offered.clone(), uid.to_owned());
            }
            let all = ids.entry(offered).or_insert_with(|| Arc::clone(&paths));
            if Arc::ptr_eq(all, &paths) || both.as_ref().is_some_and(|[_, together]| Arc::ptr_eq(all, together)) {
                continue;
            }
            let known = both.take().filter(|[before, _]| Arc::ptr_eq(all, before));
            let [_, together] = both.insert(known.unwrap_or_else(|| [Arc::clone(all), Arc::new(&**all | &*paths)]));
            *all = Arc::clone(together);
        }
    }
    Ok((ids, uids))
}

/// The paths on the node that the kept answer of an entry names; none where it cannot be read.
fn paths(answer: &Value) -> BTreeSet<String> {
    let answer = STANDARD.decode(answer.as_str().unwrap_or_default()).unwrap_or_default();
    let answer = api::ContainerAllocateResponse::decode(answer.as_slice()).unwrap_or_default();
    answer.devices.into_iter().map(|device| device.host_path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_from_every_form_of_the_file() {
        let of =
            |entries: &str| parse(format!(r#"{{"Data":{{"PodDeviceEntries":{entries}}},"Checksum":1}}"#).as_bytes());
        let gpu = |id: &str| (ResourceName::try_new("vendor.com/gpu").unwrap(), id.to_owned());
        let new = r#"[{"PodUID":"p","ResourceName":"vendor.com/gpu","DeviceIDs":{"-1":["a"],"0":["b","a"]},"AllocResp":"CgYK"}]"#;
        let ids = |entries: &str| of(entries).unwrap().0.into_keys().collect::<BTreeSet<_>>();
        assert_eq!(ids(new), [gpu("a"), gpu("b")].into());
        let uids = |entries: &str| of(entries).unwrap().1;
        assert_eq!(uids(new), [(gpu("a"), "p".to_owned()), (gpu("b"), "p".to_owned())].into());
        assert_eq!(uids(&new.replace("\"p\"", "7")), Uids::new());
        let old = r#"[{"ResourceName":"vendor.com/gpu","DeviceIDs":["a"]},{"ResourceName":"odd","DeviceIDs":null}]"#;
        assert_eq!(ids(old), [gpu("a")].into());
        let nothing = r#"[{"ResourceName":"vendor.com/gpu","DeviceIDs":{"0":null}}]"#;
        assert_eq!(ids(nothing), BTreeSet::new());
        assert_eq!(ids("null"), BTreeSet::new());
    }

    #[test]
    fn the_paths_of_a_kept_answer_go_with_each_of_its_ids() {
        let answer = api::ContainerAllocateResponse {
            devices: vec![api::DeviceSpec {
                container_path: "/dev/inside".to_owned(),
                host_path: "/dev/outside".to_owned(),
                permissions: "rw".to_owned(),
            }],
            ..api::ContainerAllocateResponse::default()
        };
        let answer = STANDARD.encode(answer.encode_to_vec());
        let of = |answers: &[&str]| {
            let entry = |answer: &&str| {
                format!(r#"{{"ResourceName":"a.b/c","DeviceIDs":{{"0":["x","y"]}},"AllocResp":"{answer}"}}"#)
            };
            let entries: Vec<_> = answers.iter().map(entry).collect();
            let file = format!(r#"{{"Data":{{"PodDeviceEntries":[{}]}}}}"#, entries.join(","));
            let mut records = parse(file.as_bytes()).unwrap().0.into_values();
            let [x, y] = [records.next().unwrap(), records.next().unwrap()];
            assert_eq!(x, y);
            // Of a thousand ids of one container each has a thousand paths.
            assert!(Arc::ptr_eq(&x, &y));
            Arc::unwrap_or_clone(x).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of(&[&answer]), ["/dev/outside"]);
        assert_eq!((of(&["no base64"]), of(&["CgYK"])), (vec![], vec![]));
        assert_eq!(of(&["", &answer]), ["/dev/outside"], "several containers of a pod may have it");
    }

    #[test]
    fn what_containers_have_together_is_counted_for_those_ids_alone() {
        let answer = |path: &str| {
            let device = api::DeviceSpec { host_path: path.to_owned(), ..api::DeviceSpec::default() };
            let answer = api::ContainerAllocateResponse { devices: vec![device], ..Default::default() };
            STANDARD.encode(answer.encode_to_vec())
        };
        // A device of two NUMA nodes stands beneath both.
        let entries = [
            (r#"{"0":["x"]}"#, "/dev/a"),
            (r#"{"0":["y"]}"#, "/dev/b"),
            (r#"{"0":["x","y"],"1":["x","z"]}"#, "/dev/c"),
        ];
        let entries = entries.map(|(ids, path)| {
            format!(r#"{{"ResourceName":"a.b/c","DeviceIDs":{ids},"AllocResp":"{}"}}"#, answer(path))
        });
        let file = format!(r#"{{"Data":{{"PodDeviceEntries":[{}]}}}}"#, entries.join(","));
        let records = parse(file.as_bytes()).unwrap().0;
        let of: Vec<_> = records.values().map(|paths| paths.iter().map(String::as_str).collect::<Vec<_>>()).collect();
        assert_eq!(of, [vec!["/dev/a", "/dev/c"], vec!["/dev/b", "/dev/c"], vec!["/dev/c"]]);
    }

    #[test]
    fn what_is_no_checkpoint_says_nothing() {
        for bad in [
            "",
            "{}",
            r#"{"Data":{}}"#,
            r#"{"Data":{"PodDeviceEntries":[{"DeviceIDs":[]}]}}"#,
            r#"{"Data":{"PodDeviceEntries":[{"ResourceName":"a/b"}]}}"#,
            r#"{"Data":{"PodDeviceEntries":[{"ResourceName":"a.b/c","DeviceIDs":{"0":"x"}}]}}"#,
            r#"{"Data":{"PodDeviceEntries":[{"ResourceName":"a.b/c","DeviceIDs":["x",7]}]}}"#,
        ] {
            parse(bad.as_bytes()).unwrap_err();
        }
    }

    #[tokio::test]
    async fn a_file_that_changes_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = Record::new(dir.path());
        record.read().await;
        assert_eq!(record.ids(), None, "no file says nothing");
        let socket = dir.path().join("kubelet.sock");
        assert_eq!(record.first(&socket).await, Some(Records::new()), "but that nothing was given away");
        std::fs::write(&socket, "").unwrap();
        assert_eq!(record.first(&socket).await, None, "which a kubelet may know better");
        let write = |ids: &str| {
            let text =
                format!(r#"{{"Data":{{"PodDeviceEntries":[{{"ResourceName":"vendor.com/gpu","DeviceIDs":{ids}}}]}}}}"#);
            let new = dir.path().join("new");
            std::fs::write(&new, text).unwrap();
            std::fs::rename(new, dir.path().join(CHECKPOINT)).unwrap();
        };
        for (ids, count) in [("[]", Some(0)), (r#"["a","b"]"#, Some(2)), ("7", None), (r#"["a"]"#, Some(1))] {
            write(ids);
            record.read().await;
            assert_eq!(record.ids().map(|ids| ids.len()), count, "{ids}");
            assert_eq!(record.first(&socket).await.map(|ids| ids.len()), count, "{ids}");
        }
    }
}
