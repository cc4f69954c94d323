//! Whether a disk may be offered, from what is known of it. Decides, and asks nobody.

use crate::config::Config;

/// What is known of a disk, which is one namespace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Disk {
    /// In bytes; nothing where the kernel does not tell.
    pub(crate) size: Option<u64>,
    pub(crate) partitions: usize,
    /// What is stacked on it: device mapper, RAID, bcache.
    pub(crate) holders: Vec<String>,
    /// How many nodes of it the host gives: none where the node itself uses it.
    pub(crate) nodes: usize,
    /// Another disk that is the same namespace.
    pub(crate) twin: Option<String>,
    pub(crate) paths: Vec<Path>,
}

/// One way to a disk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Path {
    /// The controller's name.
    pub(crate) controller: String,
    /// `pcie`, `tcp`, `rdma`, `fc`, `loop`.
    pub(crate) transport: String,
    /// The controller's state, as `nvme_sysfs_show_state` in `drivers/nvme/host/sysfs.c` writes it: `new`, `live`, `resetting`,
    /// `connecting`, `deleting`, `deleting (no IO)`, `dead`.
    pub(crate) state: String,
    /// What the target says of this path (asymmetric namespace access), where it does: `optimized`, `non-optimized`,
    /// `inaccessible`, `persistent-loss`, `change`.
    pub(crate) access: Option<String>,
}

/// What becomes of a disk or a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    Offered,
    /// Not one of those that the configuration is about, and why.
    NotMeant(String),
    /// It is one, and cannot be given now, and why. One that was listed before stays listed, as unhealthy.
    NotNow(String),
    /// It could not be told.
    Unread(String),
}

impl Path {
    fn problem(&self) -> Option<String> {
        if self.state != "live" {
            return Some(format!("controller {} is {}", self.controller, self.state));
        }
        match self.access.as_deref() {
            Some(access @ ("inaccessible" | "persistent-loss" | "change")) => {
                Some(format!("path through {} is {access}", self.controller))
            }
            _ => None,
        }
    }
}

impl Disk {
    /// What becomes of it as a unit of its own.
    pub(crate) fn standing(&self, config: &Config) -> Standing {
        let standing = self.standing_of_a_part(config);
        match (standing, self.size) {
            // A disk whose controller is dead has no capacity left, and is what it was nevertheless: so this comes last.
            (Standing::Offered, Some(size)) if size < config.min_size => too_small(size, config),
            (standing, _) => standing,
        }
    }

    /// What becomes of it as a part of a drive, whose size is that of all its disks.
    pub(crate) fn standing_of_a_part(&self, config: &Config) -> Standing {
        if let Some(path) = self.paths.iter().find(|path| !config.transports.contains(&path.transport)) {
            return Standing::NotMeant(format!(
                "{} is connected over {} (config transport)",
                path.controller, path.transport
            ));
        }
        match self.problem(config) {
            Some(problem) => Standing::NotNow(problem),
            None => Standing::Offered,
        }
    }

    fn problem(&self, config: &Config) -> Option<String> {
        if self.paths.is_empty() {
            return Some(
                "no controller leads to it, or the policy grants neither `nvme` nor `nvme-subsystem`".to_owned(),
            );
        }
        let problems: Vec<_> = self.paths.iter().filter_map(Path::problem).collect();
        if problems.len() == self.paths.len() {
            return Some(problems.join(", "));
        }
        if self.size.is_none_or(|size| size == 0) {
            return Some("it has no capacity".to_owned());
        }
        if let Some(twin) = &self.twin {
            return Some(format!("it is the same namespace as {twin}: load nvme_core with multipath=Y"));
        }
        if let Some(holder) = self.holders.first() {
            return Some(format!("it is held by {holder}"));
        }
        if self.nodes == 0 {
            let withheld = "the host gives no node of it: this machine uses it, or the policy offers none";
            return Some(withheld.to_owned());
        }
        match self.partitions {
            0 => None,
            _ if config.partitioned => None,
            1 => Some("it has a partition (config partitioned)".to_owned()),
            count => Some(format!("it has {count} partitions (config partitioned)")),
        }
    }
}

/// What becomes of a whole drive: a controller with its disks, each with its name, and the other controllers of its subsystem.
pub(crate) fn drive(
    config: &Config,
    path: &Path,
    others: &[String],
    disks: &[(&str, Result<&Disk, &str>)],
) -> Standing {
    if !config.transports.contains(&path.transport) {
        return Standing::NotMeant(format!("it is connected over {} (config transport)", path.transport));
    }
    if let Some(other) = others.first() {
        return Standing::NotMeant(format!(
            "its namespaces are those of {other} as well: offer them one by one (config unit)"
        ));
    }
    if let Some(problem) = path.problem() {
        return Standing::NotNow(problem);
    }
    if disks.is_empty() {
        return Standing::NotNow("it has no namespace".to_owned());
    }
    let mut size = 0;
    for (name, disk) in disks {
        let disk = match disk {
            Ok(disk) => disk,
            Err(error) => return Standing::Unread((*error).to_owned()),
        };
        match disk.standing_of_a_part(config) {
            Standing::Offered => size += disk.size.unwrap_or(0),
            Standing::NotMeant(why) => return Standing::NotMeant(format!("{name}: {why}")),
            Standing::NotNow(why) => return Standing::NotNow(format!("{name}: {why}")),
            Standing::Unread(why) => return Standing::Unread(why),
        }
    }
    if size < config.min_size {
        return too_small(size, config);
    }
    Standing::Offered
}

fn too_small(size: u64, config: &Config) -> Standing {
    Standing::NotMeant(format!("it has {size} bytes, fewer than {} (config min-size)", config.min_size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(controller: &str, state: &str) -> Path {
        Path { controller: controller.to_owned(), transport: "pcie".to_owned(), state: state.to_owned(), access: None }
    }

    fn idle() -> Disk {
        Disk { size: Some(1_000_000), nodes: 1, paths: vec![path("nvme1", "live")], ..Disk::default() }
    }

    fn not_now(disk: &Disk) -> String {
        match disk.standing(&Config::default()) {
            Standing::NotNow(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_idle_disk_is_offered() {
        assert_eq!(idle().standing(&Config::default()), Standing::Offered);
    }

    #[test]
    fn what_speaks_against_a_disk_is_said() {
        for (disk, why) in [
            (Disk { paths: vec![path("nvme1", "dead")], size: Some(0), ..idle() }, "controller nvme1 is dead"),
            (Disk { size: Some(0), ..idle() }, "it has no capacity"),
            (Disk { size: None, ..idle() }, "it has no capacity"),
            (Disk { holders: vec!["md0".to_owned(), "md1".to_owned()], ..idle() }, "it is held by md0"),
            (Disk { partitions: 1, ..idle() }, "it has a partition (config partitioned)"),
            (Disk { partitions: 3, ..idle() }, "it has 3 partitions (config partitioned)"),
            (
                Disk { nodes: 0, partitions: 3, ..idle() },
                "the host gives no node of it: this machine uses it, or the policy offers none",
            ),
            (
                Disk { twin: Some("nvme2n1".to_owned()), ..idle() },
                "it is the same namespace as nvme2n1: load nvme_core with multipath=Y",
            ),
            (
                Disk { paths: vec![], ..idle() },
                "no controller leads to it, or the policy grants neither `nvme` nor `nvme-subsystem`",
            ),
        ] {
            assert_eq!(not_now(&disk), why);
        }
        let partitioned = Config { partitioned: true, ..Config::default() };
        let disk = Disk { partitions: 3, ..idle() };
        assert_eq!(disk.standing(&partitioned), Standing::Offered);
    }

    #[test]
    fn one_good_path_is_enough() {
        let access = |access: &str| Path { access: Some(access.to_owned()), ..path("nvme2", "live") };
        let disk = |second: Path| Disk { paths: vec![path("nvme1", "connecting"), second], ..idle() };
        for good in ["optimized", "non-optimized"] {
            assert_eq!(disk(access(good)).standing(&Config::default()), Standing::Offered);
        }
        assert_eq!(
            not_now(&disk(access("inaccessible"))),
            "controller nvme1 is connecting, path through nvme2 is inaccessible"
        );
        assert_eq!(
            not_now(&disk(path("nvme2", "resetting"))),
            "controller nvme1 is connecting, controller nvme2 is resetting"
        );
    }

    #[test]
    fn what_the_configuration_is_not_about_is_left_alone() {
        let config = Config { min_size: 1_000_001, ..Config::default() };
        let why = "it has 1000000 bytes, fewer than 1000001 (config min-size)";
        assert_eq!(idle().standing(&config), Standing::NotMeant(why.to_owned()));
        let dead = Disk { paths: vec![path("nvme1", "dead")], size: Some(0), ..idle() };
        assert!(matches!(dead.standing(&config), Standing::NotNow(_)), "its size is not its own");
        let far = Disk { paths: vec![Path { transport: "tcp".to_owned(), ..path("nvme1", "live") }], ..idle() };
        let why = "nvme1 is connected over tcp (config transport)";
        assert_eq!(far.standing(&Config::default()), Standing::NotMeant(why.to_owned()));
    }

    #[test]
    fn a_drive_is_as_good_as_all_its_disks() {
        let (live, config) = (path("nvme1", "live"), Config::default());
        let (good, used) = (idle(), Disk { nodes: 0, ..idle() });
        let of = |disks: &[(&str, Result<&Disk, &str>)]| drive(&config, &live, &[], disks);
        assert_eq!(of(&[("nvme1n1", Ok(&good)), ("nvme1n2", Ok(&good))]), Standing::Offered);
        let both = of(&[("nvme1n1", Ok(&good)), ("nvme1n2", Ok(&used))]);
        assert!(matches!(both, Standing::NotNow(why) if why.starts_with("nvme1n2: the host gives no node")));
        assert_eq!(of(&[]), Standing::NotNow("it has no namespace".to_owned()));
        assert_eq!(of(&[("nvme1n1", Err("EIO"))]), Standing::Unread("EIO".to_owned()));
        let shared = drive(&config, &live, &["nvme2".to_owned()], &[("nvme1n1", Ok(&good))]);
        assert!(matches!(shared, Standing::NotMeant(why) if why.starts_with("its namespaces are those of nvme2")));
        let dead = drive(&config, &path("nvme1", "dead"), &[], &[]);
        assert_eq!(dead, Standing::NotNow("controller nvme1 is dead".to_owned()));
        let big = Config { min_size: 1_500_000, ..Config::default() };
        let two = [("nvme1n1", Ok(&good)), ("nvme1n2", Ok(&good))];
        assert_eq!(drive(&big, &live, &[], &two), Standing::Offered, "together they are large enough");
        assert!(matches!(drive(&big, &live, &[], &two[..1]), Standing::NotMeant(_)));
    }
}
