//! One of their devices: a name, and groups of paths or USB devices.

use super::super::draft::Draft;
use super::super::yaml::Line;
use super::by_id;
use super::kernel::{self, Kernel};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The most containers that may share a unit.
const MAX_REPLICAS: u32 = 4096;
/// What becomes of a group that is not understood.
const LEFT_OUT: &str = "the group is left out";

/// What `--device` has.
#[derive(Debug, Deserialize)]
pub(super) struct Device {
    name: String,
    #[serde(default)]
    groups: Vec<Group>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Group {
    #[serde(default)]
    paths: Vec<Path>,
    #[serde(default)]
    usb: Vec<Usb>,
    #[serde(default)]
    count: u32,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Path {
    path: String,
    #[serde(default)]
    mount_path: String,
    #[serde(default)]
    permissions: String,
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    limit: u32,
    #[serde(default)]
    optional: bool,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Numbers are hexadecimal there, with quotes and without.
#[derive(Debug, Deserialize)]
struct Usb {
    vendor: Value,
    product: Value,
    #[serde(default)]
    serial: String,
}

/// What is part of a unit: the selector that finds it, and the one that offers it.
#[derive(Debug, Clone)]
enum Member {
    Kernel { of: Kernel, nodes: String, optional: bool },
    Path { path: String, optional: bool },
}

/// An entry of the component's configuration.
#[derive(Debug, Clone)]
pub(in super::super) struct Entry {
    resource: String,
    /// The unit's, where it has several members.
    id: Option<String>,
    members: Vec<Member>,
}

impl Device {
    /// How often each is offered, and what is.
    pub(super) fn entries(self, domain: &str, at: &str, draft: &mut Draft) -> (u32, Vec<Entry>) {
        let resource = format!("{domain}/{}", self.name);
        let at = format!("{at} ({resource})");
        draft.lose_unknown(&at, self.rest.keys());
        let count = |group: &Group| group.count.clamp(1, MAX_REPLICAS);
        let replicas = self.groups.iter().map(count).max().unwrap_or(1);
        let mut entries = Vec::new();
        for (n, group) in self.groups.iter().enumerate() {
            let at = format!("{at}: groups[{n}]");
            if group.count.max(1) != replicas {
                let why = format!("one resource has one count, of at most {MAX_REPLICAS}: {replicas}");
                draft.lose(format!("{at}: count {}", group.count.max(1)), why);
            }
            draft.lose_unknown(&at, group.rest.keys());
            let Some((members, is_one)) = group.members(&at, draft) else { continue };
            let id = is_one.then(|| format!("{}-{n}", self.name));
            entries.push(Entry { resource: resource.clone(), id, members });
        }
        (replicas, entries)
    }
}

impl Group {
    /// Its members, and whether they are one unit; nothing where the group is left out.
    fn members(&self, at: &str, draft: &mut Draft) -> Option<(Vec<Member>, bool)> {
        let mut members = Vec::new();
        for usb in &self.usb {
            let Some(member) = usb.member() else {
                draft.lose(
                    format!("{at}: usb"),
                    format!("vendor and product must be four hexadecimal digits each; {LEFT_OUT}"),
                );
                return None;
            };
            members.push(member);
        }
        for path in &self.paths {
            let at = format!("{at}: {}", path.path);
            match path.members() {
                Ok(of) => members.extend(of),
                Err(why) => {
                    draft.lose(at, format!("{why}; {LEFT_OUT}"));
                    return None;
                }
            }
            if path.limit > 1 {
                draft.lose(format!("{at}: limit"), "`replicas` is for whole units");
            }
            draft.lose_unknown(&at, path.rest.keys().filter(|key| *key != "readOnly"));
        }
        let is_pattern = |path: &Path| path.path.contains(['*', '?', '[']);
        let several = self.paths.len() + self.usb.len() > 1;
        if several && self.paths.iter().any(is_pattern) {
            let why = "several paths with a pattern are paired by their order there; write a group for each pair";
            draft.lose(at, format!("{why}; {LEFT_OUT}"));
            return None;
        }
        let by_path = members.iter().any(|member| matches!(member, Member::Path { .. }));
        let is_one = members.len() > 1 || by_path || self.paths.iter().any(Path::is_directory);
        (!members.is_empty()).then_some((members, is_one))
    }
}

impl Path {
    fn is_directory(&self) -> bool {
        kernel::directory(&self.path).is_some()
    }

    /// What it is, or why that cannot be told.
    fn members(&self) -> Result<Vec<Member>, &'static str> {
        if self.r#type == "Mount" {
            return Err("type Mount: generic hands out nodes and no files");
        }
        if !self.mount_path.is_empty() && !self.mount_path.starts_with("/dev/") {
            return Err("mountPath: a node is under /dev in a container as well");
        }
        let access = access(&self.permissions);
        let member = |of: Kernel, in_container: &str, optional: bool| {
            // By a link to a serial line it is known which USB device has it.
            let line = if of.subsystem == "usb" { Line::default().text("subsystem", "tty") } else { Line::default() };
            let line = line.text("access", &access);
            let line = if in_container.is_empty() { line } else { line.text("container-path", in_container) };
            Member::Kernel { nodes: line.done(), of, optional }
        };
        let in_container = match self.mount_path.strip_suffix('/') {
            Some(folder) => format!("{folder}/{{name}}"),
            None if self.mount_path == self.path => String::new(),
            None => self.mount_path.clone(),
        };
        if let Some(all) = kernel::directory(&self.path) {
            // What a folder has differs from node to node.
            return Ok(all.into_iter().map(|of| member(of, "", true)).collect());
        }
        if let Some(of) = kernel::of(&self.path) {
            return Ok(vec![member(of, &in_container, self.optional)]);
        }
        if let Some(of) = by_id::usb(&self.path) {
            // The node itself has another path than its link.
            let link = if in_container.is_empty() { self.path.trim_end() } else { &in_container };
            return Ok(vec![member(of, link, self.optional)]);
        }
        if kernel::is_by_path(&self.path) && in_container.is_empty() {
            return Ok(vec![Member::Path { path: self.path.clone(), optional: self.optional }]);
        }
        Err(kernel::why_unknown(&self.path))
    }
}

/// As a policy writes it: reading and writing, where nothing is said.
pub(in super::super) fn access(permissions: &str) -> String {
    let said: String = ['r', 'w', 'm'].into_iter().filter(|c| permissions.contains(*c)).collect();
    if said.contains(['r', 'w']) { said } else { "rw".to_owned() }
}

impl Usb {
    fn member(&self) -> Option<Member> {
        let id = |value: &Value| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let digits = text.trim_start_matches("0x").to_ascii_lowercase();
            let is_hex = !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            is_hex.then(|| format!("{digits:0>4}"))
        };
        let (vendor, product) = (id(&self.vendor)?, id(&self.product)?);
        let serial = (!self.serial.is_empty()).then(|| self.serial.clone());
        let of = Kernel::usb(Some((vendor, product)), serial);
        Some(Member::Kernel { of, nodes: "{access: rw}".to_owned(), optional: false })
    }
}

impl Member {
    /// As a part of a group.
    fn line(&self) -> String {
        let line = Line::default();
        let line = match self {
            Self::Kernel { of, optional, .. } => of.config(line).flag("optional", *optional),
            Self::Path { path, optional } => line.text("node", path).flag("optional", *optional),
        };
        line.done()
    }
}

impl Entry {
    /// What a path or a pattern of such means, or why that cannot be told.
    pub(in super::super) fn of_path(resource: &str, path: &str) -> Result<Self, &'static str> {
        let path = Path { path: path.to_owned(), ..Path::default() };
        let members = path.members()?;
        let is_one = path.is_directory() || members.iter().any(|member| matches!(member, Member::Path { .. }));
        let id = is_one.then(|| resource.rsplit('/').next().unwrap_or_default().to_owned());
        Ok(Self { resource: resource.to_owned(), id, members })
    }

    /// Each of these devices, with nodes of it.
    pub(in super::super) fn of_kernel(resource: &str, of: Kernel, nodes: String) -> Self {
        let members = vec![Member::Kernel { of, nodes, optional: false }];
        Self { resource: resource.to_owned(), id: None, members }
    }

    pub(super) fn is_by_path(&self) -> bool {
        self.members.iter().any(|member| matches!(member, Member::Path { .. }))
    }

    /// What people know it by.
    pub(super) fn named(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.resource)
    }

    fn kernel(&self) -> impl Iterator<Item = (&Kernel, &str)> {
        self.members.iter().filter_map(|member| match member {
            Member::Kernel { of, nodes, .. } => Some((of, nodes.as_str())),
            Member::Path { .. } => None,
        })
    }

    /// A device that both may have, of two resources or in two groups.
    pub(super) fn meets(&self, other: &Self) -> Option<String> {
        let is_one = self.resource == other.resource && (self.id.is_none() || other.id.is_none());
        let both = |of: &Kernel| !is_one && other.kernel().any(|(other, _)| of.meets(other));
        self.kernel().find_map(|(of, _)| both(of).then(|| of.to_string()))
    }

    pub(super) fn resource(&self) -> Vec<String> {
        vec![self.resource.clone()]
    }

    /// The selectors of `hardware`.
    pub(super) fn hardware(&self) -> Vec<String> {
        let offered =
            |(of, nodes): (&Kernel, &str)| of.hardware().text("use", "offer").with("nodes", format!("[{nodes}]"));
        self.kernel().map(|one| offered(one).done()).collect()
    }

    /// The nodes that are given by path.
    pub(super) fn paths(&self) -> Vec<String> {
        let by_path = |member: &Member| match member {
            Member::Path { path, .. } => Some(path.clone()),
            Member::Kernel { .. } => None,
        };
        self.members.iter().filter_map(by_path).collect()
    }

    /// The words of `dangerous`.
    pub(super) fn dangers(&self) -> Vec<String> {
        self.kernel().filter_map(|(of, _)| of.danger()).map(str::to_owned).collect()
    }

    /// The entry of `devices`.
    pub(super) fn config(&self) -> Vec<String> {
        let line = Line::default().text("resource", &self.resource);
        let line = match (&self.id, self.members.as_slice()) {
            (None, [Member::Kernel { of, .. }]) => of.config(line),
            (id, members) => {
                let group: Vec<_> = members.iter().map(Member::line).collect();
                line.text("id", id.as_deref().unwrap_or("all")).with("group", format!("[{}]", group.join(", ")))
            }
        };
        vec![line.done()]
    }
}

/// For tests of one path alone.
#[cfg(test)]
pub(super) fn shown(path: &str) -> Option<String> {
    let path = Path::deserialize(serde_json::json!({"path": path})).ok()?;
    let members = path.members().ok()?;
    let entry = Entry { resource: "x/y".to_owned(), id: None, members };
    Some(format!("{} {}", entry.hardware().join(" "), entry.paths().join(" ")).trim().to_owned())
}
